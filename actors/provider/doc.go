// Package provider contains one folder per adapter. An adapter speaks to one payment provider, behind the
// interface that package actors declares.
//
// Invariants:
//  1. An adapter returns a verdict and never guesses: if it cannot know the result, it returns
//     payment.VerdictUnknown, and a later inquiry finds the result.
//  2. An adapter makes a call once. The caller, which has stored the call's intent before, decides whether the
//     call is made again.
//  3. No adapter logs, keeps or returns a card.
//
// Callers: cmd/mizan, which passes the adapters to actors by name. Adapters never import each other.
//
// Rejected: one package for all adapters. Each has its own wire format, secrets and dependencies, and a terminal
// names one adapter.
package provider
