// Package config is the configuration of `mizan serve`: its flags, environment
// variables and file, checked and turned into values.
//
// Invariants:
//  1. A flag wins over the environment, that over the file, that over the default.
//  2. Every key is checked, and all bad keys are reported at once, a line each.
//  3. No message quotes a token, a password or an address that may hold one.
//  4. Only the keys of Reloadable change while the server runs.
//
// Callers: cmd/mizan (help), serving, maintenance and audit (where the keyring is).
//
// Rejected: kong's resolvers for the configuration file. They overrule the
// environment and stop at the first bad key.
package config
