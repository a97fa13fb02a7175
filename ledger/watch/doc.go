// Package watch decides what those who run a terminal, its operators, are told, and
// in which words: large transactions, negative revenue, a spike of failures, and the
// summary of a day (specification, "Events").
//
// Invariants:
//  1. A message is plain English and holds nothing of a payer: no card, no name, no
//     address, no description and no key that a merchant has chosen.
//  2. An amount is shown with the decimals of its asset and, beside that, in minor
//     units. Where the scale is not known only these are shown.
//  3. Amounts of different assets are never added up. A sum that leaves the range of
//     amounts is shown as that, and not as a number.
//  4. What a message says is fixed when it is decided: it is stored as it is sent, so
//     that an attempt hours later says the same.
//  5. A message is at most MaxText and MaxSubject bytes; what does not fit is counted
//     in its last line.
//  6. A spike of failures is told once. Another one is told when there was none for
//     SpikeCalm, and while one goes on it is told again after SpikeAgain.
//  7. What a Spike remembers of a terminal is of one size, whatever happens there.
//
// Callers: actors/payment (of single transactions), actors/desk (spikes and summaries),
// actors/notifier/operators (which carries messages).
//
// Rejected: storing the numbers and forming the words when a message is sent. They are
// few, a release between two attempts would change them, and the record may have moved.
// Also rejected: an exact window of ten minutes, which has to remember each outcome.
package watch
