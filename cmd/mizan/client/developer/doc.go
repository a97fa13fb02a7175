// Package developer has the commands with which a merchant's developer tries an integration against a sandbox: `mizan pay`,
// `mizan trigger`, `mizan listen` and `mizan clock`.
//
// Invariants:
//  1. It is only a client: it uses the server by HTTP only.
//  2. pay and trigger move money of the environment test only, and only on a server that says that it is a sandbox.
//  3. listen keeps a bounded number of notifications in memory. If the address to which it forwards them is too slow, it stops
//     reading, and the server cuts the stream off.
//  4. Exit codes are those of package client, and 4: the payment ended, and was not charged.
//
// Callers: cmd/mizan, which adds these commands to its own.
//
// Rejected: that listen polls the list of deliveries. There are none without an address, and a developer's machine has no address
// that the server reaches.
package developer
