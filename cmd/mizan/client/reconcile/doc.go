// Package reconcile implements the command `mizan reconcile`, with which finance imports settlement reports, decides on
// differences and closes days over the API.
//
// Invariants:
//  1. The package is only a client: it reaches the server only over HTTP, with the administration token.
//  2. With --json the server's objects are printed unchanged; else amounts are in major units.
//
// Callers: cmd/mizan, which adds these commands to its own.
//
// Rejected: reading reports in the client and sending their lines. The server has to read files from other clients too, and two
// readers would differ one day.
package reconcile
