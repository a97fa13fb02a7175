// Package sepa is the adapter for payouts by SEPA credit transfer through files. The operator gives the server one directory,
// with a folder for each terminal, and runs a transport to the bank (an EBICS client or SFTP) beside the server:
//
//	ROOT/sepa-root                       proves that the shared storage is mounted; the operator creates it once
//	ROOT/{terminal}/out/{id}.xml         pain.001 files for the bank, one payout each; the transport may move and delete them
//	ROOT/{terminal}/in/                  camt.054 and camt.053 files from the bank, which the transport puts here
//	ROOT/{terminal}/submitted/{id}       an empty file for each payout that was, or is about to be, handed over
//
// {id} is the EndToEndId: the 32 hexadecimal digits of the charge's reference. The hand-over takes three durable steps: write
// out/.{id}.part, create submitted/{id}, and rename the first to out/{id}.xml. So a payout was handed over exactly if
// submitted/{id} exists and out/.{id}.part does not, whatever the transport does with the file in out.
//
// Invariants:
//  1. Nothing is handed over twice: a repeated call after the rename writes nothing. A call that a kill has interrupted before the
//     rename has handed nothing over, and only a repeated call would.
//  2. The verdict is charged only after a camt file shows the booked debit of the terminal's account with our EndToEndId. A credit
//     with our EndToEndId is a return: before the charge it has failed, after the charge it is reported as a reversal.
//  3. "Never arrived" is answered only while sepa-root is there. If the storage is not mounted, the outcome is unknown.
//  4. The index of bookings is in memory and is rebuilt from the files in in/. A file is read once for each size and time of
//     change, so a half-written file is read again when it is complete. Files, sizes and the index are bounded.
//  5. A file that is damaged, too large, or about another account is an error in the log with the file's name, once. The other
//     files are read all the same.
//  6. Files have the mode 0600. No log line has an IBAN or a name.
//
// Callers: cmd/mizan; actors/payment through the interface Provider.
//
// Rejected: github.com/moov-io/iso20022 has types for all messages. It was not chosen because its amounts are float64, it lacks
// pain.001.001.09, which SEPA requires, and it writes both branches of a choice, which banks refuse. One file for many payouts
// was not chosen because whether a payout is in a file that was handed over would then need a second durable record.
package sepa
