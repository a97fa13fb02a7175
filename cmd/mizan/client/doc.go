// Package client contains the parts that are common to all commands for a running server: the flags that name the server and
// the credentials, the connection, the error messages, and the tables.
//
// Invariants:
//  1. The package knows only the server's URL paths and responses. From this module it imports only ledger/money and
//     internal/progress; internal/tidy enforces this. So whatever a command does, any other HTTPS client can do too.
//  2. No token, password, secret or card number is given on the command line, because every user of the machine can read
//     command lines in the list of processes. The only exception is the number of a sandbox's test card. Secret values are read
//     from files or from stdin; tokens can also come from the environment. No output and no error contains a secret value.
//     There are two exceptions, which are shown once: the value of a new API key, and the secret of a stream of notifications.
//  3. The token is sent only to the host that the flags name. Redirects are not followed, and plain HTTP is allowed only for
//     loopback addresses.
//  4. A write has an Idempotency-Key. If the connection breaks, the write is sent once more with the same key. If it is still
//     unknown whether the write was done, the error names the key with which the user can repeat the write.
//  5. Only the server's data is printed to stdout. With --json, each object is printed on one line, as the server wrote it.
//     Otherwise the data is printed as a table that fits the terminal and shows amounts in major units. Everything else is
//     printed to stderr.
//  6. Tables and errors show the server's text without control characters. Otherwise a partner's name could move the cursor of
//     the operator's terminal.
//  7. If no flag or environment variable names a server or a credential, data/sandbox.json is used if it exists.
//  8. The exit code is 0 if the command has succeeded, 2 if the request was wrong (flags, files, any 4xx response), and 1 if no
//     usable response arrived (connection, 5xx).
//
// Callers: the subpackages of this package; cmd/mizan's commands audit and backup.
//
// Rejected: another design would read the token through the env tags of kong (the library for flags). It was not chosen because
// kong quotes values in its errors. A generated client was not chosen because it would have to know each field. The commands
// print responses without interpreting them, so a new field in a response appears in --json and in `show` without a new release
// of this program.
package client
