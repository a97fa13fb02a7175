// Command mizan is the whole product in one binary: the server (serve), its backups (backup, restore), the
// administration's client (admin), that of an organization's contracts (contracts), the rotation of its tokens (admin-token), the checker and an auditor's tools (audit) and the load
// generators (bench).
//
// Invariants:
//  1. Nothing is opened before every key of the configuration has been checked,
//     and all bad keys are reported at once, a line each.
//  2. Start order: configuration, limit of open files, directory with its lock and store, keyring, checker if
//     asked, who takes part, listener (the checks are answered, nothing else), the providers with the simulator's log,
//     runtime, recovery, the sandbox's seed and sandbox.json, then requests. So "core_status ok" means
//     that all due work is scheduled.
//  3. Exit codes, but for admin and contracts, which have their own: 0 clean stop, 1 storage
//     fault, 2 bad configuration or address in use, 3 directory locked or of another schema. After a storage fault
//     nothing more is acknowledged. 4 is for an auditor's commands: what they were shown is not proven.
//  4. A plain token or key is written to sandbox.json only, or printed once.
//  5. A manual clock is durable before it moves, so after a kill it is never
//     behind what the store has booked.
//
// Callers: people, the Makefile, internal/testkit.
//
// Rejected: kong's resolvers for the configuration file. They overrule the
// environment and stop at the first bad key.
package main
