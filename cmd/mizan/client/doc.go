// Package client is the part that all commands against a running server share: the
// flags that name the server and the caller, the connection, faults, tables.
//
// Invariants:
//  1. It knows the server by its paths and its answers only, and imports no other
//     package of the module (internal/tidy enforces it). So whatever a command can
//     do, a program over HTTPS can do too.
//  2. No token, password, secret or card number comes from the command line, where
//     every user of the machine could read it in the list of processes: they come
//     from files, from stdin or, the token only, from the environment. No output and
//     no error shows one, except the value of a new API key, which is shown once.
//  3. The token goes to the host that the flags name and to no other: redirects are
//     not followed, and plain HTTP is for loopback only.
//  4. A write has an Idempotency-Key. When the connection breaks, it is sent once
//     more with the same key; when its outcome stays unknown, the error names the
//     key with which it can be repeated.
//  5. stdout is the server's data: with --json each object is a line as the server
//     wrote it, otherwise a table. Everything else goes to stderr.
//  6. Tables and errors show the server's text without control characters: a
//     partner's name can't move the operator's cursor.
//  7. Exit codes: 0 done; 2 the request was wrong (flags, files, any 4xx answer);
//     1 no usable answer came (connection, 5xx).
//
// Callers: its folders admin and contracts; cmd/mizan's commands audit and backup.
//
// Rejected: kong's env tags for the token, because kong quotes values in its
// errors; a generated client, because answers are shown and not interpreted: a new
// field of the server appears in --json and in `show` without a release here.
package client
