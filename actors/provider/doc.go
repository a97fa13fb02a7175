// Package provider is the parent of the adapters, one package each. An adapter speaks to one payment provider
// (the system that moves the money), behind the interface that package actors declares.
//
// Invariants:
//  1. An adapter returns a verdict (the result of a call) and never guesses. If it cannot know the result, it
//     returns payment.VerdictUnknown, and a later inquiry finds the result.
//  2. An adapter makes a call once. The caller stores its intent to make the call beforehand, and decides
//     whether the call is made again.
//  3. No adapter logs, keeps or returns a card.
//
// Callers: cmd/mizan, which passes the adapters to actors by name.
//
// Rejected: Another design would put all adapters into one package; it was not chosen because each adapter has
// its own wire format, secrets and dependencies, and a terminal (a partner's connection to a provider) names
// only one adapter. Adapters never import each other.
package provider
