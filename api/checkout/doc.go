// Package checkout serves the routes of payers: the page of a transaction, its forms, the way
// back from a provider, the pages of payment links and products, and the simulator's challenge.
// Package page renders the pages.
//
// Invariants:
//  1. A page opens only with its token, which is checked before anything is read. Without a
//     valid token every page is the same 404.
//  2. Every response is a page or a redirect, including errors.
//  3. The service redirects a browser only to https addresses, to itself, and in the sandbox to
//     this machine. A merchant's address is changed only where it has a placeholder.
//  4. A card number and a verification value that a payer types are overwritten after use and never shown again. A form that is
//     accepted leaves nothing of what was typed in memory. What else was typed into a form that was declined, or whose
//     address had sent too many forms, is kept until it is shown once, for at most two minutes.
//  5. No response may be cached, framed, or disclosed in a Referer header.
//  6. A payer can use only a method that is offered at that moment, at no higher total than the payer saw.
//  7. A form has an effect only at the step, and in the attempt, for which it was shown. The transaction's actor checks the
//     attempt, because two copies of a form may arrive at once.
//
// Callers: package api.
//
// Rejected: scripts of others, such as analytics. A page with a field for a card number runs only the script of package
// page, which the page's policy names by its hash.
package checkout
