// Package reference serves the description of the API: as an OpenAPI document in JSON and YAML, and as HTML pages. It also serves
// the start page, which links to both.
//
// Invariants:
//  1. All responses are public and the same for all callers. They do not depend on stored records or on the time.
//  2. All files are made at once, when the first of them is requested. Later requests only send the files, except that each
//     search does more work. So this package does not slow down payments.
//  3. The pages load no other files and run no script. Their Content-Security-Policy allows one inline style, identified by its
//     hash, and allows forms only if they are sent to this server.
//  4. The text of a search is always escaped by html/template.
//
// Callers: package api.
//
// Rejected: another design would use a viewer of OpenAPI documents in JavaScript. It was not chosen because the usual viewers
// need a megabyte of scripts, which must come from another host or be part of the binary, and a policy that allows inline
// styles. In a browser without scripts they show nothing.
package reference
