// Package page renders the pages on which payers pay, in the payer's language. It depends neither on transactions nor
// on an HTTP library: package checkout decides what to show and sends it.
//
// All pages share one design. style.css defines colors, sizes and distances once, for light and dark mode. layout.html has the
// frame and the parts that pages share. Each page is one template. page.js is the only script, and every page works
// without it.
//
// Invariants:
//  1. Values that were sent to the service are always escaped: all output goes through
//     html/template. IsWebAddress decides which addresses a page may link to.
//  2. A page has one inline script and one inline style, which its Content-Security-Policy allows by their hashes. It
//     loads nothing except the merchant's pictures, from the service. The only requests of the script are to submit the page's
//     forms and, on a waiting page, to request the page again.
//  3. A form may be posted only to the service, or to the provider if it is the provider's form.
//  4. A page never contains a card number or a verification value. A refused form shows all other values that the payer typed again.
//  5. A payer sees why a transaction failed only if the catalog has a text for the reason. Reasons
//     of limits and anti-fraud are only for the merchant.
//  6. The page of the simulator's bank is in English, because only developers see it.
//  7. Rendering has no side effect, and the same page gives the same bytes.
//
// Callers: api/checkout.
//
// Rejected: another design would use a framework for the script, or a script in a file of its own. It was not chosen
// because the script is small, and because a policy with the hash of an inline script allows no other script, not
// even one from the service itself.
package page
