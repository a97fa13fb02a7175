// Package page renders what payers see: plain HTML that works without script, in
// the payer's language. It knows no transaction and no HTTP library; checkout says
// what is to be shown and sends it.
//
// Invariants:
//  1. Nothing that was sent to the service is shown unescaped: everything goes
//     through html/template. Web tells which addresses may be linked or gone to.
//  2. A page runs no script, loads nothing, and has one inline style, whose hash
//     its policy names. A form of ours may only be posted to the service, or to
//     the rail whose form it is.
//  3. What a payer typed is never in a page, not even the name on a card: a form
//     that was refused comes back empty, and there is no field to hold it.
//  4. A reason is shown to a payer only if it stands in the catalogue here. What
//     a limit or anti-fraud refused is the merchant's to know.
//  5. Every text is there in every language; a test looks at each. The
//     simulator's page is in English: no payer sees it.
//  6. Rendering has no side effect, and the same page gives the same bytes.
//
// Callers: api/checkout.
//
// Rejected: the payer's language by Accept-Language. The merchant's page has one
// already and says which in lang; a page in another one looks like a fraud.
// Rejected: a page that submits itself. It takes a script, which takes a policy
// that allows one, on the page where card numbers are typed.
package page
