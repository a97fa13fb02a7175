// Package provider contains the adapters, each in a package of its own. An adapter connects to one payment
// provider (the system that moves the money) and implements the interface actors.Provider.
//
// Invariants:
//  1. An adapter returns a verdict (the result of a call) and never guesses. If it cannot know the result, it
//     returns payment.VerdictUnknown, and a later inquiry finds the result.
//  2. An adapter sends each call to the provider only once. The caller stores its intent before the call,
//     and decides whether to make the call again.
//  3. No adapter logs, keeps or returns a card.
//
// Callers: cmd/mizan, which passes the adapters to actors by name.
//
// Rejected: Another design would put all adapters into one package. It was not chosen because each adapter has
// its own wire format, secrets and dependencies, and each terminal (a partner's connection to a provider) uses
// only one adapter. Adapters never import each other.
package provider
