// Package client has what all commands share that talk to a running server: the flags that name the server and the
// caller, the connection, the messages about faults, and tables.
//
// Invariants:
//  1. The package knows only the server's paths and responses. Of this module it imports only ledger/money and
//     internal/progress; internal/tidy enforces this. So any other program that uses HTTPS can do what a command
//     does.
//  2. No token, password, secret or card number comes from the command line, because every user of the machine could
//     read it there in the list of processes. The only exception is the number of a sandbox's test card. Secret
//     values come from files, from stdin or, for the token only, from the environment. No output and no error
//     contains a secret value, with two exceptions that are shown once: the value of a new API key, and the secret of
//     a stream of notifications.
//  3. The token is sent only to the host that the flags name: redirects are not followed, and
//     plain HTTP is allowed for loopback only.
//  4. A write has an Idempotency-Key. If the connection breaks, the write is sent once more with the
//     same key. If its outcome stays unknown, the error names the key with which the caller can
//     repeat the write.
//  5. stdout has the server's data. With --json each object is a line as the server wrote it. Otherwise the data is a
//     table that fits the terminal and shows amounts in major units. Everything else goes to stderr.
//  6. Tables and errors show the server's text without control characters, so that a partner's
//     name can't move the operator's cursor.
//  7. Without a flag or variable that names a server or a credential, data/sandbox.json is used if it exists.
//  8. Exit codes: 0 done; 2 the request was wrong (flags, files, any 4xx response); 1 no usable
//     response arrived (connection, 5xx).
//
// Callers: the folders below this package; cmd/mizan's commands audit and backup.
//
// Rejected: another design would read the token through the env tags of kong (the library for flags). It was not
// chosen because kong quotes values in its errors. A generated client was not chosen because it would have to know
// each field. The commands show responses without interpreting them, so a new field of the server appears in --json
// and in `show` without a new release of this program.
package client
