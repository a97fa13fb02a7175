// Package tidy checks, as a test, the rules about the layout of the codebase, such as imports, names, words, and the
// sizes of packages.
//
// Invariants:
//  1. Imports go only downward. Every package belongs to a layer, and a table in rules.go says which packages each layer may
//     import.
//  2. The table allowedImporters restricts some modules to certain packages. For example, Fiber is imported only under api,
//     protoactor only by package actors, Badger only by posting/store and the packages below it, and tink only by
//     internal/secret.
//  3. Package ledger and the packages below it are pure: they use no clock, file, network, log, randomness or goroutine.
//  4. Every package has a doc.go, and every imported module has a line in docs/dependencies.md. The repository's top folder has
//     only the files and folders that topLevel lists. No test sleeps. No file contains an absolute path that exists only on
//     somebody's machine.
//  5. The words that words.go lists don't occur in names, comments, texts and docs. These are words that this project once used
//     in a private meaning.
//  6. A package has at most 25 files besides its tests.
//  7. Every target of the Makefile has a description, so that `make help` is complete.
//  8. Files of more than 500 lines and functions of more than 70 lines are only reported. They don't fail the test, because a
//     table may be long.
//
// Callers: its own test, which `make test` runs.
//
// Rejected: A linter could be configured with these rules. But the layers are specific to this project, and if a rule is code,
// a test can break the rule deliberately and check that the breach is found.
package tidy
