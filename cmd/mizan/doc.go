// Command mizan is the whole product in one binary: a service for payments and contracts, and the tools for this service. This
// package contains the table of subcommands, and the subcommands bench, help, version, completion and man. The other
// subcommands are in the following folders:
//
//	serving      serve
//	simulator    simulator
//	client       pay, listen, trigger, clock, admin, ledger, contracts: they talk to a running server by HTTP only
//	maintenance  backup, restore, keyring, keys, admin-token
//	audit        the checker and an auditor's tools
//	config, cli  the configuration; streams, exit codes, signals
//
// Invariants:
//  1. Before anything else, main makes the memory of the process unreadable for other processes, because the memory contains
//     keys and card numbers.
//  2. The exit codes are 0 for a clean stop, 1 for a storage fault, and 2 for a bad configuration or an address in use. Code 3
//     means that the data directory is locked or has another schema. Code 4 means that an auditor's command got a response or a
//     file that is not proven. Package client defines its own exit codes.
//
// Callers: people, the Makefile, internal/testkit.
//
// Rejected: Another design would have one binary for each subcommand. It was not chosen because all binaries would
// have to be released together anyway.
package main
