// Package reference serves the description of the API: as OpenAPI in JSON and YAML, as pages of a reference for the browser,
// and a start page that leads to them.
//
// Invariants:
//  1. Everything is public and the same for everybody: nothing depends on a caller, a record or the time.
//  2. Nothing is made before somebody asks for it, and everything but the results of a search is made once. So a payment
//     never pays for it.
//  3. The pages load nothing and run no script. Their Content-Security-Policy allows one inline style by its hash, and forms
//     to this server only.
//  4. Text of a request (a search) is only shown escaped, by html/template.
//
// Callers: package api.
//
// Rejected: a viewer of OpenAPI documents in JavaScript. The usual ones need scripts of a megabyte, from another host or in
// the binary, and a policy that allows inline styles; without scripts they show nothing.
package reference
