// Package tidy checks the rules of the codebase's layout, as a test.
//
// Invariants:
//  1. Imports go only downward: every package belongs to a layer of the table in rules.go, and
//     the table says which packages a layer may import.
//  2. Fiber is imported under api only, protoactor by package actors only, Badger by
//     posting/store only, tink by internal/secret only.
//  3. ledger/** is pure: no clock, file, network, log, randomness or goroutine.
//  4. Every package has a doc.go, every imported module has a line in docs/dependencies.md, the
//     top level has only the listed names, no test sleeps, and no file contains a path of
//     somebody's machine.
//  5. Names, comments, texts and docs have none of the words that words.go lists: words that this project
//     once used in a meaning of its own.
//  6. A package has at most 25 files besides its tests.
//  7. Every target of the Makefile has a description, so that `make help` is complete.
//  8. A file above 500 lines and a function above 70 are reported, not refused, because a table
//     may be long.
//
// Callers: its own test, and so `make test`.
//
// Rejected: a linter's configuration. The layers are specific to this project, and a rule that
// is code can be tested with a deliberate breach.
package tidy
