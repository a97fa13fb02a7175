// Package checkout serves the web pages and routes that payers use: the page of a transaction, its forms, the way
// back from a provider, the pages of payment links and products, and the challenge (confirmation page) of the
// simulated provider. Package page renders the pages.
//
// Invariants:
//  1. A page opens only with its token, which is checked before anything is read. Without a
//     valid token every page is the same 404.
//  2. Every response is a page or a redirect, including errors.
//  3. The service redirects a browser only to https addresses, to itself, and in the sandbox to
//     this machine. In a merchant's address only placeholders are replaced.
//  4. A card number and a verification value that a payer types are overwritten after use and never shown again. The
//     other values of an accepted form are overwritten after use too. The other values of a declined form are kept until
//     they are shown once, for at most two minutes. So are those of a form from an IP address that has sent too many forms.
//  5. No response may be cached, framed, or disclosed in a Referer header.
//  6. A payer can use only a method that is offered at that moment. A payer never pays a higher total than the page showed.
//  7. A form has an effect only at the step, and in the attempt, for which its page was shown. The transaction's
//     actor checks the attempt, because two copies of a form may arrive at once.
//
// Callers: api.
//
// Rejected: Another design would allow third-party scripts, such as analytics. It was not chosen because a foreign
// script could read the card number that a payer types. So a page with a field for a card number runs only the script
// of package page, which the page's Content-Security-Policy allows by its hash.
package checkout
