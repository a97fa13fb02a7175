// Command mizan is the whole product in one binary. This package has the table of subcommands, and bench, help,
// version, completion and man; the other subcommands are in the folders below:
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
//  2. Exit codes, except for those of package client, which has its own: 0 clean stop, 1 storage fault,
//     2 bad configuration or address in use, 3 directory locked or of another schema, 4 a response or
//     file given to an auditor's command is not proven.
//
// Callers: people, the Makefile, internal/testkit.
//
// Rejected: one binary for each subcommand, because all would have to be released together
// anyway.
package main
