// Package checkout answers the routes of payers: the page of a transaction, its forms, the
// way back from a rail, and the simulator's challenge. Package page renders what it shows.
//
// Invariants:
//  1. A page opens only with its token, which is checked before anything is read. Without
//     one all pages are the same 404.
//  2. Every answer is a page or a redirect, errors included.
//  3. A browser is led to https addresses, to the service itself, and in the sandbox to
//     this machine. A merchant's address is passed on unchanged.
//  4. What a payer has typed is overwritten after use and never shown again.
//  5. No answer may be cached, framed or sent on as a referrer.
//
// Callers: package api.
//
// Rejected: scripts. A page where card numbers are typed loads and runs nothing.
package checkout
