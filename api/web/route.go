package web

import "mizan/ledger"

// Route is one method of one path, with everything that the server must know before its handler
// runs.
type Route struct {
	Method, Path string
	Access       Access

	// Console declares who may call the route through the console, in addition to the callers that Access admits. The zero
	// value admits no additional callers.
	Console ConsoleAccess

	// If Access does not admit an authenticated caller, ReplaceForbidden returns the error that is sent instead of the refusal.
	// If ReplaceForbidden is nil, the refusal is sent.
	ReplaceForbidden func(org ledger.ID, refusal error) error

	EndsSession      bool // the route logs the caller out, so a deactivated partner may call it too
	IsConsole        bool // the route is a page or a file of the console, which the API's description leaves out
	SoleOrganization bool // a request without x-organization-id concerns the only organization
	JSON             bool // the body must be application/json
	MaxBody          int  // largest size of a body in bytes; 0 for the usual bound
	Repeatable       bool // repeating the command has no further effect, so the route has no Idempotency-Key
	Command          bool // the request writes, so it waits while a manual clock moves, and may be shed (refused in overload)
	SkipsQueues      bool // commands are never shed and reads never queue, because the handler is cheap or has its own bound

	// Refuse sends the response to a request that is refused before its handler runs. If Refuse is nil, the error is sent as
	// JSON.
	Refuse func(req *Request, err error) error

	Handle func(req *Request) error
}
