// Package plants puts deliberate faults into the code, with which tests are tested: a test that does not catch a plant is too
// weak. A plant replaces a text in one file. The file itself stays as it is; the Go command reads the changed copy (-overlay).
//
// Invariants:
//  1. The replaced text must occur exactly once in its file. So if a change of the code makes a plant impossible, a test fails.
//
// Callers: bench/simulation, bench/faults/cluster. Only tests import this package.
//
// Rejected: build tags or flags that break rules were considered. They were not chosen because the product would contain them.
package plants
