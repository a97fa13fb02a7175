// Package config is the configuration of `mizan serve`: its flags, environment variables and
// file, checked and converted to values.
//
// Invariants:
//  1. A flag has precedence over the environment, the environment over the file, and the file
//     over the default.
//  2. Every key is checked, and all bad keys are reported at once, each in a line of its own.
//  3. No message quotes a token, a password, or an address that may contain one.
//  4. Only the keys of Reloadable change while the server runs.
//
// Callers: cmd/mizan (help), serving, maintenance and audit (the path of the keyring).
//
// Rejected: kong's resolvers for the configuration file. They have precedence over the
// environment and stop at the first bad key.
package config
