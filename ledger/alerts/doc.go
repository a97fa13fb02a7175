// Package alerts decides which alerts the operators of a terminal receive, and writes the
// messages: large transactions, negative revenue, spikes of failures, daily summaries
// (specification, "Events").
//
// Invariants:
//  1. A message is plain English without data of a payer: no card, name or address, no
//     description and no key that a merchant has chosen.
//  2. An amount is shown with the decimals of its asset and in minor units. If the asset's scale is not known,
//     it is shown only in minor units.
//  3. Amounts of different assets are never added. If a sum overflows, the message says so.
//  4. A message is rendered when the alert is decided, and is stored in the form in which it is sent. So a
//     retry hours later sends the same text.
//  5. A message has at most MaxText and MaxSubject bytes. If lines did not fit, its last line says how many.
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
// Rejected: storing numbers and rendering them when a message is sent. A new release between two attempts to
// send would change the text, and the transaction may have changed. Also rejected: counting in slots of ten
// seconds. Most terminals have few outcomes, so each one matters, and such a window is inexact by up to a slot.
package alerts
