// Package reference serves the description of the API: as an OpenAPI document in JSON and YAML, and as HTML pages. It also serves
// the start page, which links to both.
//
// Invariants:
//  1. All responses are public and the same for all callers: they depend on no record and not on the time.
//  2. All files are made once, at the first request for one of them. Later requests only send these files; only a
//     search does more work for each request. So this package does not slow down payments.
//  3. The pages load no other files and run no script. Their Content-Security-Policy allows one inline style by its hash, and
//     forms to this server only.
//  4. The text of a search is always escaped by html/template.
//
// Callers: package api.
//
// Rejected: another design would use a viewer of OpenAPI documents in JavaScript. It was not chosen because the usual
// viewers need a megabyte of scripts, from another host or in the binary, and a policy that allows inline styles.
// Without scripts they show nothing.
package reference
