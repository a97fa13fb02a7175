// Package developer implements the commands with which a merchant's developer tests an integration against a sandbox (the
// service with a simulated provider): `mizan pay`, `mizan trigger`, `mizan listen` and `mizan clock`.
//
// Invariants:
//  1. The package is only a client: it reaches the server only over HTTP.
//  2. The commands pay and trigger move money only in the environment test, and only if the server says that it is a sandbox.
//  3. The command listen keeps a bounded number of notifications in memory. If the address to which it forwards them is too
//     slow, listen stops reading, and the server ends the stream.
//  4. The exit codes are those of package client. In addition, code 4 means that the transaction does not have the outcome that
//     the command should bring about, for example because the payment was declined.
//
// Callers: cmd/mizan.
//
// Rejected: in another design, the command listen would poll the list of deliveries. It was not chosen because a merchant
// without a notification address has no deliveries, and the server cannot reach an address on a developer's machine.
package developer
