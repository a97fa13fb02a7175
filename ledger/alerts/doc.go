// Package alerts decides which alerts the operators of a terminal (a merchant's connection to a payment provider) receive, and
// writes the messages. There are alerts about large transactions, about negative revenue and about spikes of failures, and
// there are daily summaries (specification, "Events").
//
// Invariants:
//  1. A message is plain English and contains no data of a payer: no card, name or address. It also contains no description or
//     key that a merchant has chosen.
//  2. An amount is shown twice: with the decimals of its asset, and in minor units. If the asset's scale is not known, the
//     amount is shown only in minor units.
//  3. Amounts of different assets are never added. If a sum overflows, the message says that it is too large to be shown.
//  4. The text of a message is written when the alert is decided, and is stored. So if sending is tried again hours later, the
//     text is still the same.
//  5. The text of a message has at most MaxText bytes, and the subject has at most MaxSubject bytes. If lines do not fit into
//     the text, the last line says how many lines are missing.
//  6. An outcome is the success or failure of a transaction. There is a spike if there were at least SpikeMinOutcomes outcomes
//     during the last SpikeWindow, and at least half of these outcomes are failures. When a spike begins, and there was no
//     spike for at least SpikeQuietTime, operators receive an alert. While the spike lasts, they receive another alert every
//     SpikeRepeatInterval.
//  7. The memory of a SpikeDetector is bounded. Each of the first 256 outcomes takes 16 bytes. If there are more, outcomes of
//     the same second share 16 bytes, and may stay in the window for up to a second too long.
//
// Callers: actors/payment (single transactions), actors/alerts (spikes, summaries),
// actors/notifier/operators (sends messages).
//
// Rejected: A message could be stored as numbers, and its text could be written when it is sent. But then a new release or a
// change of the transaction could change the text between two attempts to send it. Outcomes could be counted in slots of ten
// seconds. But then an outcome could be counted for up to ten seconds too long. Most terminals have so few outcomes that a
// single outcome can decide whether there is a spike, so this could cause false alerts.
package alerts
