// Package page renders the pages for payers: plain HTML that works without script, in the
// payer's language. It depends neither on transactions nor on an HTTP library: package checkout
// decides what to show and sends it.
//
// Invariants:
//  1. Values sent to the service are never shown unescaped: everything goes through
//     html/template. IsWebAddress decides which addresses a page may link to.
//  2. A page runs no script, loads nothing, and has one inline style, which its
//     Content-Security-Policy allows by a hash. A form may be posted only to the service, or to
//     the provider if it is the provider's form.
//  3. A page never contains what a payer typed, not even the name on a card: a refused form
//     comes back with empty fields.
//  4. A payer sees why a transaction failed only if texts.go has a text for the reason. Reasons
//     of limits and anti-fraud are only for the merchant.
//  5. Every text exists in every language, which a test checks. The simulator's page is in
//     English, because no payer sees it.
//  6. Rendering has no side effect, and the same page gives the same bytes.
//
// Callers: api/checkout.
//
// Rejected: the language of the header Accept-Language. The payer comes from the merchant's page, whose
// language the merchant gives in the field lang; a page in another language looks like a fraud.
// Rejected: a page that submits itself. It needs a script, so that the policy, which also protects the
// page with the card number, would have to allow scripts.
package page
