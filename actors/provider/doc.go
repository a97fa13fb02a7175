// Package provider holds one folder an adapter: what speaks to one payment
// provider, behind the interface that package actors declares.
//
// Invariants:
//  1. An adapter answers with a verdict, never with a guess: what it can't know
//     is payment.VerdictUnknown, and an inquiry finds out.
//  2. An adapter makes a call once. Whether to call at all, or again, is decided
//     above it, where the call's intent is durable.
//  3. No adapter logs, keeps or returns a card.
//
// Callers: cmd/mizan, which hands the adapters to actors by name. Adapters never
// import each other.
//
// Rejected: one package for all adapters. Each has its own wire format, secrets
// and dependencies, and a terminal names one of them.
package provider
