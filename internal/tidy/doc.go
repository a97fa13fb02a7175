// Package tidy holds the rules of the codebase's layout, as a test.
//
// Invariants:
//  1. Imports go only downward: every package belongs to a layer of the table in
//     rules.go, and the table says which packages a layer may import.
//  2. Fiber is imported under api only, protoactor by package actors only,
//     Badger by posting/store only, tink by internal/secret only.
//  3. ledger/** is pure: no clock, file, network, log, randomness or goroutine.
//  4. Every package has a doc.go, every imported module its line in
//     docs/dependencies.md, the top level has the names it should have, no test
//     sleeps, and no file names a place on somebody's machine.
//  5. Names, comments, texts and docs have none of the private words in words.go; the
//     folders that still hold some are listed there until they are clean.
//  6. A package holds at most 25 files beside its tests.
//  7. Every target of the Makefile says what it is for, so that `make help` is complete.
//  8. Sizes (a file of 500 lines, a function of 70) are reported, not refused:
//     a table may be long.
//
// Callers: its own test, and so `make test`.
//
// Rejected: a linter's configuration. The layers are this project's own, and a
// rule that is code can be tried against a planted breach.
package tidy
