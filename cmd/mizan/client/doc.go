// Package client is the common part of all commands that talk to a running server: the flags
// that name the server and the caller, the connection, faults, tables.
//
// Invariants:
//  1. It knows only the server's paths and responses, and imports of the module only amounts and a progress meter
//     (internal/tidy enforces it). So any program that uses HTTPS can do what a command can do.
//  2. No token, password, secret or card number comes from the command line, where every user of the
//     machine could read it in the list of processes; the only exception is the number of a sandbox's test card. Such
//     values come from files, from stdin or, for the token only, from the environment. No output and no error contains
//     such a value, except that the value of a new API key, and the secret of a stream of notifications, are shown once.
//  3. The token is sent only to the host that the flags name: redirects are not followed, and
//     plain HTTP is allowed for loopback only.
//  4. A write has an Idempotency-Key. If the connection breaks, the write is sent once more with the
//     same key. If its outcome stays unknown, the error names the key with which the caller can
//     repeat the write.
//  5. stdout has the server's data: with --json each object is a line as the server wrote it,
//     otherwise a table, with amounts in major units, that fits the terminal. Everything else goes to stderr.
//  6. Tables and errors show the server's text without control characters, so that a partner's
//     name can't move the operator's cursor.
//  7. Without a flag or variable that names a server or a credential, data/sandbox.json is used if it exists.
//  8. Exit codes: 0 done; 2 the request was wrong (flags, files, any 4xx response); 1 no usable
//     response arrived (connection, 5xx).
//
// Callers: the folders below this package; cmd/mizan's commands audit and backup.
//
// Rejected: kong's env tags for the token, because kong quotes values in its errors; a generated
// client, because responses are shown and not interpreted: a new field of the server appears in --json
// and in `show` without a release here.
package client
