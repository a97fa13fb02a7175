// Package checkout serves the web pages and routes that payers use: the page of a transaction, its forms, the way
// back from a provider, the pages of payment links and products, and the challenge (confirmation page) of the
// simulated provider. Package page renders the pages.
//
// Invariants:
//  1. A page is shown only if the URL contains its token. The token is checked before anything is read. Without a valid token,
//     the response is the same 404 for every page.
//  2. Every response is a page or a redirect, including errors.
//  3. The service redirects a browser only to https addresses, to itself, and, in the sandbox, to this machine. In an address
//     that the merchant supplies, only placeholders are replaced.
//  4. A card number and a verification value that a payer types are overwritten after use and never shown again. If the form is
//     accepted, all other values are overwritten after use too. If the attempt is declined, or if the IP address has sent too
//     many forms, the values are kept until they were shown once, for at most two minutes.
//  5. No page may be cached, and its URL must not be disclosed in a Referer header. Only the simulator's challenge may be shown
//     in a frame.
//  6. A payer can use only a method that is offered at that moment. A payer never pays a higher total than the page showed.
//  7. A form has no effect if the transaction is no longer in the step and the attempt for which the form was shown. The
//     transaction's actor checks the attempt, because two copies of a form may arrive at the same time.
//
// Callers: api.
//
// Rejected: third-party scripts, such as analytics. They could read the card number that a payer types. So a page with a field
// for a card number runs only the script of package page. The page's Content-Security-Policy names the hash of this script and
// allows no other.
package checkout
