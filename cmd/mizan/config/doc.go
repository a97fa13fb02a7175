// Package config reads the configuration of the command `mizan serve` from its flags, environment variables and
// file. It checks the configuration and converts it to values.
//
// Invariants:
//  1. A flag has precedence over the environment, the environment over the file, and the file over the default.
//  2. Every key is checked. All bad keys are reported at once, each in a line of its own.
//  3. No message quotes a token, a password, or an address that may contain one.
//  4. Only the keys of Reloadable change while the server runs.
//
// Callers: cmd/mizan (help), serving, maintenance and audit (the path of the keyring).
//
// Rejected: Reading the configuration file with resolvers of kong (the library for flags) was considered; they
// were not chosen because they have precedence over the environment and stop at the first bad key.
package config
