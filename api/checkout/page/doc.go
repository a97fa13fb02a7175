// Package page renders the pages on which payers pay, in the payer's language. Package checkout decides what a page shows, and
// sends it, so package page depends neither on transactions nor on an HTTP library.
//
// All pages share one design. style.css defines colors, sizes and distances for light and dark mode. layout.html contains the
// frame and other parts that pages share. Each page has one template. page.js is the only script, and every page works without
// it.
//
// Invariants:
//  1. Values that were sent to the service are always escaped, because html/template writes all output. IsWebAddress decides
//     which addresses a page may link to.
//  2. A page has one inline script and one inline style. Its Content-Security-Policy allows only these, by their hashes. The
//     page loads nothing except the merchant's pictures, which the service stores. The script sends only two kinds of requests:
//     it submits the page's forms and, on a waiting page, requests the page again.
//  3. A form is posted to the service. Only the form of a ProviderForm is posted to the provider.
//  4. A page never contains a card number or a verification value. If a form is refused, the page shows the typed values again,
//     except these two.
//  5. A payer sees why a transaction failed only if the catalog has a text for the reason. Only the merchant may see that a
//     limit or a fraud check has stopped a transaction.
//  6. The page of the simulator's bank is in English, because only developers see it.
//  7. Rendering has no side effect, and the same Page always renders to the same bytes.
//
// Callers: api/checkout.
//
// Rejected: a framework for the script, because the script is small; and a separate script file, because a policy with the hash
// of an inline script allows no other script, not even one from the service itself.
package page
