// Package storefront serves the routes of payment links, products and uploaded images (specification, "Payment links,
// products, images").
//
// Invariants:
//  1. A partner's key reads and changes the partner's own records only; a session of role partner reads them, and the
//     administration token reads and changes those of every partner. A record of another partner gets the same
//     response as an unknown one.
//  2. An image is judged by its bytes before anything is decoded, and only what was encoded again is stored.
//
// Callers: api (the table of routes). Public addresses are in api/checkout.
//
// Rejected: names and content types of uploaded files. Both are what the client says; only the bytes decide.
package storefront
