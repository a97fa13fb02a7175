package web

import "mizan/ledger"

// Route is one method of one path, with everything that the server must know before its handler
// runs.
type Route struct {
	Method, Path string
	Access       Access

	// Console declares who may call the route through the console although Access does not admit the person's session. The zero
	// value admits nobody else.
	Console ConsoleAccess

	// ReplaceForbidden returns the error that replaces the refusal of an authenticated caller whom Access does
	// not admit; nil: the refusal itself is sent.
	ReplaceForbidden func(org ledger.ID, refusal error) error

	EndsSession      bool // the route logs the caller out, so a deactivated partner may call it too
	IsConsole        bool // the route is a page or a file of the console, which the API's description leaves out
	SoleOrganization bool // a request without x-organization-id concerns the only organization
	JSON             bool // the body must be application/json
	MaxBody          int  // bytes of a body; 0: the usual bound
	Repeatable       bool // repeating the command has no further effect, so it takes no Idempotency-Key
	Command          bool // the request writes: it waits while a manual clock moves, and may be shed (refused under overload)
	SkipsQueues      bool // commands are not shed, and reads do not wait for a place: the handler has its own bound, or is cheap

	// Refuse sends the response to a request that is refused before its handler runs; nil: the
	// error is sent as JSON.
	Refuse func(req *Request, err error) error

	Handle func(req *Request) error
}
