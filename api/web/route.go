package web

import "mizan/ledger"

// Route is one method of one path, with everything that the server must know before its handler
// runs.
type Route struct {
	Method, Path string
	Access       Access

	// ReplaceForbidden returns the error that replaces the refusal of an authenticated caller whom Access does
	// not admit; nil: the refusal itself is sent.
	ReplaceForbidden func(org ledger.ID, refusal error) error

	EndsSession      bool // it logs the caller out, so a deactivated partner may call it too
	SoleOrganization bool // a request without x-organization-id concerns the only organization
	JSON             bool // the body must be application/json
	MaxBody          int  // bytes of a body; 0: the usual bound
	Command          bool // the request writes: it waits while a manual clock moves, and may be shed (refused under overload)
	SkipsQueues      bool // commands are not shed, and reads do not wait for their turn: the handler has a bound of its own, or is cheap

	// Refuse sends the response to a request that is refused before its handler runs; nil: the
	// error is sent as JSON.
	Refuse func(req *Request, err error) error

	Handle func(req *Request) error
}
