// Command mizan is the whole product, a service for payments and contracts and its tools, in one binary. This package
// has the table of subcommands, and the subcommands bench, help, version, completion and man. The other subcommands
// are in the folders below:
//
//	serving      serve
//	client       pay, listen, trigger, clock, admin, ledger, contracts: they talk to a running server by HTTP only
//	maintenance  backup, restore, keyring, keys, admin-token
//	audit        the checker and an auditor's tools
//	config, cli  the configuration; streams, exit codes, signals
//
// Invariants:
//  1. Before anything else, main makes the process's memory unreadable for other processes, because it contains keys
//     and card numbers.
//  2. The exit codes are 0 for a clean stop, 1 for a storage fault, and 2 for a bad configuration or an address in
//     use. Code 3 means that the directory is locked or of another schema. Code 4 means that a response or file given
//     to an auditor's command is not proven. Package client has exit codes of its own.
//
// Callers: people, the Makefile, internal/testkit.
//
// Rejected: Another design would have one binary for each subcommand. It was not chosen because all binaries would
// have to be released together anyway.
package main
