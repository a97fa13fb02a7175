// Package certificates gets the server's TLS certificate from one of three sources: files of the operator, a local
// certificate authority, or an authority on the internet that speaks ACME (RFC 8555).
//
// Invariants:
//  1. A certificate stays in use if the next one cannot be read or obtained.
//  2. Private keys are in files that only their owner can read (mode 0600). The operator's own files keep their mode.
//  3. The names that clients send in their handshakes never cause a request for a certificate of a name that is not
//     configured. Such names never cause a line in the log either.
//
// Callers: cmd/mizan/serving.
//
// Rejected: another design would use certmagic for ACME. It was not chosen because certmagic brings a certificate
// cache, an event system and DNS providers, which a server with a fixed list of names does not need. The package
// autocert is sufficient.
package certificates
