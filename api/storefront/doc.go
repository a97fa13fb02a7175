// Package storefront serves the API's routes of payment links, products and uploaded images, with which a merchant
// sells without a shop of its own (specification, "Payment links, products, images").
//
// Invariants:
//  1. The key of a partner (a merchant) may read and change only the partner's own records. A session of a person
//     with the role partner may read these records. The administration token may read and change the records of every
//     partner. Another partner's record gets the same response as an unknown id.
//  2. The format and size of an image are checked in its bytes before it is decoded. Only the re-encoded image is stored.
//
// Callers: api (the table of routes). The routes for payers are in api/checkout.
//
// Rejected: another design would use the names and content types of uploaded files. It was not chosen because the
// client chooses both, so neither shows what a file is; only its bytes are checked.
package storefront
