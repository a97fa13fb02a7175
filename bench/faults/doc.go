// Package faults counts the outcomes of cases. In a case, one fault is injected into a server or a store. The
// packages in the subfolders are campaigns (series of cases); each campaign tries one kind of fault on a real server
// or on real files.
//
// Invariants:
//  1. Each case that was tried has exactly one outcome and is counted.
//  2. A silent case fails the campaign. In a silent case something was lost or falsified, and no check noticed it. The
//     description of the case tells how to repeat it.
//
// Callers: tests in the folders of bench/faults.
package faults
