// Package tidy checks, as a test, the rules about the layout of the codebase, such as imports, names, words, and the
// sizes of packages.
//
// Invariants:
//  1. Imports go only downward. Every package belongs to a layer of the table in rules.go, and the table says which
//     packages a layer may import.
//  2. Some modules may be imported by certain packages only, which allowedImporters lists. For example, Fiber is imported
//     only under api, protoactor only by package actors, Badger only by posting/store and the packages below it, and tink
//     only by internal/secret.
//  3. Package ledger and the packages below it are pure: they use no clock, file, network, log, randomness or goroutine.
//  4. Every package has a doc.go, and every imported module has a line in docs/dependencies.md. The repository's top folder
//     has only the files and folders in topLevel. No test sleeps. No file contains a path of somebody's machine.
//  5. Names, comments, texts and docs have none of the words that words.go lists. This project once used these words in a
//     private meaning.
//  6. A package has at most 25 files besides its tests.
//  7. Every target of the Makefile has a description, so that `make help` is complete.
//  8. Files of more than 500 lines and functions of more than 70 lines are reported but do not fail the test, because a table
//     may be long.
//
// Callers: its own test, which `make test` runs.
//
// Rejected: Another design would configure a linter with these rules. It was not chosen because the layers are specific to
// this project, and a rule that is code can be tested with a deliberate breach.
package tidy
