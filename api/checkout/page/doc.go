// Package page renders the pages for payers, in the payer's language. It depends neither on transactions nor on an HTTP
// library: package checkout decides what to show and sends it.
//
// The pages are one system. style.css names colors, sizes and distances once, for light and dark; layout.html has the
// frame and the parts that pages share; each page is one template. page.js is the only script, and every page works
// without it.
//
// Invariants:
//  1. Values sent to the service are never shown unescaped: everything goes through
//     html/template. IsWebAddress decides which addresses a page may link to.
//  2. A page runs one script and has one style of its own, which its Content-Security-Policy allows by their hashes. It
//     loads nothing except the merchant's pictures, from the service. The script sends nothing: it submits the page's
//     forms, and on a waiting page it asks the service for the page again.
//  3. A form may be posted only to the service, or to the provider if it is the provider's form.
//  4. A page never contains a card number or a verification value. A refused form comes back with what else was typed.
//  5. A payer sees why a transaction failed only if the texts have one for the reason. Reasons
//     of limits and anti-fraud are only for the merchant.
//  6. The simulator's bank is in English, because no payer sees it.
//  7. Rendering has no side effect, and the same page gives the same bytes.
//
// Callers: api/checkout.
//
// Rejected: a framework or a file for the script. It is small, and a policy with its hash allows no other script, not
// even one that the service itself would serve.
package page
