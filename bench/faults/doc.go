// Package faults counts the outcomes of test cases. Each case injects one fault into a server or a store. The packages
// in the subfolders are campaigns (series of cases); each campaign tries one kind of fault on a real server or on real
// files.
//
// Invariants:
//  1. Each case that was run is counted and has exactly one outcome.
//  2. A silent case fails the campaign. In a silent case something was lost or falsified, and no check noticed it. The
//     description of a silent case tells how to repeat the case.
//
// Callers: tests in the folders of bench/faults.
package faults
