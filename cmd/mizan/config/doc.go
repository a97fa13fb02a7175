// Package config reads the configuration of the command `mizan serve` from its flags, environment variables and
// file. It checks the configuration and converts it to values.
//
// Invariants:
//  1. A flag has precedence over the environment, the environment over the file, and the file over the default.
//  2. Every key is checked. All bad keys are reported at once, one per line.
//  3. No message quotes a token, a password, or an address that may contain one.
//  4. Only the keys in Reloadable can change while the server runs.
//
// Callers: cmd/mizan for its help text, serving, and maintenance and audit for the path of the keyring.
//
// Rejected: Reading the configuration file with the resolvers of kong (the library for flags) was considered. Resolvers were
// not chosen because they take precedence over the environment and stop at the first bad key.
package config
