// Package page renders the pages for payers: plain HTML that works without script, in the
// payer's language. It depends on no transaction and no HTTP library; checkout decides what to
// show and sends it.
//
// Invariants:
//  1. Values sent to the service are never shown unescaped: everything goes through
//     html/template. Web decides which addresses a page may link to.
//  2. A page runs no script, loads nothing, and has one inline style, whose hash its policy
//     names. A form may be posted only to the service, or to the provider if it is the provider's form.
//  3. A page never contains what a payer typed, not even the name on a card: a refused form
//     comes back with empty fields.
//  4. A payer sees a reason only if the catalogue here has it. Reasons of limits and anti-fraud
//     are only for the merchant.
//  5. Every text exists in every language; a test checks each. The simulator's page is in
//     English, because no payer sees it.
//  6. Rendering has no side effect, and the same page gives the same bytes.
//
// Callers: api/checkout.
//
// Rejected: the payer's language by Accept-Language. The merchant's page has a language already
// and names it in lang; a page in another language looks like a fraud. Rejected: a page that
// submits itself. It needs a script, and so a policy that allows one on the page with the card
// number.
package page
