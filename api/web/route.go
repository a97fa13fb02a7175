package web

import "mizan/ledger"

// Route is one method of one path, with everything that the server must know before its handler
// runs.
type Route struct {
	Method, Path string
	Access       Access

	// If Access refuses an authenticated caller, Forbid returns the error that is sent instead of the refusal; nil: the refusal is sent.
	Forbid func(org ledger.ID, refusal error) error

	EndsSession      bool // a deactivated partner may call it, to log out
	SoleOrganization bool // a request without x-organization-id concerns the only organization
	JSON             bool // the body must be application/json
	MaxBody          int  // bytes of a body; 0: the usual bound
	Command          bool // it writes: it waits while a manual clock moves, and is shed under overload
	Unshed           bool // a command that bounds its own queue, and is not shed

	// Refuse sends the response to a request that is refused before its handler runs; nil: the
	// error is sent as JSON.
	Refuse func(req *Request, err error) error

	Handle func(req *Request) error
}
