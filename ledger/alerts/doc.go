// Package alerts decides which alerts the operators of a terminal (a merchant's connection to a payment provider)
// receive, and writes the messages. There are alerts about large transactions, negative revenue and spikes of
// failures, and daily summaries (specification, "Events").
//
// Invariants:
//  1. A message is plain English without data of a payer. It has no card, name or address, and no description or key
//     that a merchant has chosen.
//  2. An amount is shown with the decimals of its asset and in minor units. If the asset's scale is not known,
//     it is shown only in minor units.
//  3. Amounts of different assets are never added. If a sum overflows, the message says so.
//  4. A message is rendered when the alert is decided, and is stored in the form in which it is sent. So a
//     retry hours later sends the same text.
//  5. A message has at most MaxText and MaxSubject bytes. If lines do not fit, the last line says how many are missing.
//  6. An outcome is the end of a transaction, a success or a failure. There is a spike while the last
//     SpikeWindow has at least SpikeMinOutcomes outcomes, and at least half of them are failures. A spike
//     causes an alert when it begins after at least SpikeCalm without a spike. While it lasts, it causes
//     another alert every SpikeRepeat.
//  7. The memory of a SpikeDetector is bounded. It takes 16 bytes for each of up to 256 outcomes. Further
//     outcomes of the same second share 16 bytes, and may stay in the window up to a second longer.
//
// Callers: actors/payment (single transactions), actors/alerts (spikes, summaries),
// actors/notifier/operators (sends messages).
//
// Rejected: another design would store numbers and render them when a message is sent. It was not chosen because the
// text could change between two attempts to send, by a new release or because the transaction has changed. A design
// that counts in slots of ten seconds was not chosen because most terminals have few outcomes, so that each one
// matters, and such a window is inexact by up to a slot.
package alerts
