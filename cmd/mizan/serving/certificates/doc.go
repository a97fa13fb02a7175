// Package certificates gets the server's TLS certificate from one of three sources: files of the operator, a local certificate
// authority, or an authority on the internet that supports ACME (RFC 8555).
//
// Invariants:
//  1. If the next certificate cannot be read or obtained, the current certificate stays in use.
//  2. A private key is in a file that only the file's owner can read (mode 0600). Files that the operator provides keep their
//     mode.
//  3. If a client's handshake names a domain that is not configured, the server requests no certificate for that domain and
//     writes nothing to the log.
//
// Callers: cmd/mizan/serving.
//
// Rejected: Using certmagic for ACME was considered. It was not chosen because certmagic brings a certificate cache, an event
// system and DNS providers, which a server with a fixed list of names does not need. The package autocert is sufficient.
package certificates
