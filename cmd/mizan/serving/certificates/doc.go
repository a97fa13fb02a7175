// Package certificates has the three sources of the server's TLS certificate: files of the operator, a local
// certificate authority, and an authority on the internet that speaks ACME (RFC 8555).
//
// Invariants:
//  1. A certificate that is in force stays in force when the next one can't be read or obtained.
//  2. Private keys are in files that only their owner can read (mode 0600), except those of the operator's own files.
//  3. The names that a client sends in its handshake never cause a request for a certificate of a name that is not
//     configured, nor a line in the log.
//
// Callers: cmd/mizan/serving.
//
// Rejected: certmagic for ACME. It brings a certificate cache, an event system and DNS providers; autocert has what a
// server with a fixed list of names needs.
package certificates
