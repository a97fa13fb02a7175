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
//  6. There is a spike of failures while of the outcomes of the last SpikeWindow, to the
//     microsecond, there are SpikeLeast or more and half of them, or more, are failures. It
//     is told once. Another one is told when there was none for SpikeCalm, and while one
//     goes on it is told again after SpikeAgain.
//  7. What a Spike remembers of a terminal is bounded: 16 bytes for each of 256 outcomes,
//     and beyond these for each second, by which the window may be longer then.
//
// Callers: actors/payment (of single transactions), actors/desk (spikes and summaries),
// actors/notifier/operators (which carries messages).
//
// Rejected: storing the numbers and forming the words when a message is sent. They are
// few, a release between two attempts would change them, and the record may have moved.
// Also rejected: counting by slots of ten seconds. Of few outcomes, which are what most
// terminals have, each one matters, and such a window is up to a slot too short.
package watch
