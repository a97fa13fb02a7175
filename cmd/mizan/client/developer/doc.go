// Package developer has the commands with which a merchant's developer tries an integration against a sandbox (the
// service with a simulated provider): `mizan pay`, `mizan trigger`, `mizan listen` and `mizan clock`.
//
// Invariants:
//  1. The package is only a client: it uses the server by HTTP only.
//  2. The commands pay and trigger move money of the environment test only, and only on a server that says that it is
//     a sandbox.
//  3. The command listen keeps a bounded number of notifications in memory. If the address to which it forwards them
//     is too slow, listen stops reading, and the server cuts the stream off.
//  4. Exit codes are those of package client and the code 4, which means that the payment ended and was not charged.
//
// Callers: cmd/mizan.
//
// Rejected: In another design, listen would poll the list of deliveries. It was not chosen because a merchant without
// a notification address has no deliveries, and the server cannot reach an address on a developer's machine.
package developer
