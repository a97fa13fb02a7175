// Package faults counts what happened when a server or a store met a fault, for the campaigns in its folders: each folder tries one
// kind of fault on a real server or on real files.
//
// Invariants:
//  1. Each case that was tried has one outcome, and none is left out.
//  2. A silent case, in which something was lost or falsified and nothing noticed, fails the campaign. Its description tells how
//     to repeat it.
//
// Callers: tests in the folders of bench/faults.
package faults
