// Package faults counts the outcomes of cases in which a server or a store met a fault. The campaigns in its folders use it; each
// tries one kind of fault on a real server or on real files.
//
// Invariants:
//  1. Each case that was tried has one outcome, and none is left out.
//  2. A silent case, in which something was lost or falsified and nothing noticed it, fails the campaign. Its
//     description tells how to repeat it.
//
// Callers: tests in the folders of bench/faults.
package faults
