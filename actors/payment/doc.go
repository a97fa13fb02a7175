// Package payment runs one actor (an object that handles one message at a time) for each transaction that has not
// ended. The actor decides with ledger/payment and ledger/payment/admission and submits a Change (all that one
// decision makes durable) to the writer. Only after that does it call the provider (the system that moves the money)
// or reply to the caller.
//
// Invariants:
//  1. The intent to call a provider is durable before the call, and so are the ids under which the provider knows the call:
//     the operation's own id and the charge's reference. The reference is the transaction's id or, for a later attempt of a
//     hosted payment's payer, an id that the transaction has claimed. A call is submitted once; afterwards the provider is
//     only asked for its outcome. The call is submitted again, under the same ids, only in two cases. In the first, the
//     provider says that it waits for the call. In the second, the provider says twice that the call never arrived, and the
//     call is an operation or a charge with a stored credential.
//  2. A card stays in the actor's memory until no provider needs it, and is then wiped. If a later step at the
//     provider needs the card, the card is stored, encrypted and without its verification value, in a row beside the
//     record. The row is removed with the last step.
//  3. An unknown outcome leads to an inquiry, never to "failed". A call takes at most the provider time-out in
//     real time; then its outcome is unknown.
//  4. A transaction has at most one provider call at a time. Operations, reports and updates that
//     arrive during the call wait for the provider's answer, because the answer may decide them. After
//     the answer "unknown reference" the provider is not asked again before the record's next due
//     instant, even if the process restarts several times.
//  5. A caller gets the first outcome or, after Options.CreateWait, the current state. If at that time a call is in
//     progress that the provider's adapter makes inside this process (actors.LocalProvider), the caller also waits
//     for the end of the call. If two requests race for a txid (the merchant's own id of a transaction) or an
//     idempotency key, the loser gets the winner's result. The reply to a request with a key is durable before it is
//     sent, and a repeated request gets the same reply.
//  6. An actor with a call in progress or a waiting caller is never stopped. A transaction that has not
//     ended has an instant at which it is woken, or its actor expects an answer. So a lost message can't
//     leave the transaction waiting for ever.
//  7. Admission (the choice of a terminal, and the checks before a call) begins when the payer's credentials have
//     arrived. Another terminal (a connection to a provider) is tried only if the previous one certainly moved no
//     money: its provider refused, or the call was never sent.
//  8. The record stores the amount that a volume limit has counted, with the limit's window and
//     subject, so that the outcome releases or settles exactly that amount.
//  9. The size of a provider's texts is bounded before they are stored. A provider's update decides
//     nothing; it only causes an inquiry.
//  10. Circuit breakers are only in memory, because losing them does no harm. They use real time.
//  11. The record counts the transitions that the merchant was notified of and, separately, those that the
//     merchant could not be notified of. From these counts the checker detects a missing notice.
//  12. A renewal (a later charge of a subscription) is a create that claims the renewal's key in place
//     of a txid. A provider's token is encrypted in the record of its payment and decrypted only for a
//     renewal's call.
//  13. A provider's answer, report or update names the charge that it is about. If the charge belongs to an
//     ended attempt of a hosted payment, the message never decides the present attempt. If the ended attempt
//     has moved money, a separate transaction returns the money; its id is derived from the charge
//     (refused_charges.go).
//  14. The notice that makes the notifier send the payer a receipt is in the Change that settles the payment. The notice
//     exists only if e-mail is configured and the customer has an address that mail can be sent to.
//
// Callers: api (Service's methods), actors/account (Attempts), actors/subscription (Renew, ChargeProgress, Payment,
// OnRenewal), cmd (New). Siblings of this package never import each other, so the providers, the directory, the
// admission of accounts and the encryption of cards are interfaces.
//
// Rejected: another design would run one actor for all transactions of a partner (a merchant). It was not chosen
// because one slow provider would then delay all other transactions of the partner.
package payment
