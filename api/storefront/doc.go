// Package storefront serves the API's routes for payment links, products and uploaded images. With these a merchant can
// sell without its own online shop (specification, "Payment links, products, images").
//
// Invariants:
//  1. The key of a partner (a merchant) may read and change only the partner's own records. A session with the role
//     partner may read the same records. The administration token may read and change the records of every partner. The
//     response to a request for another partner's record is the same as for an unknown id.
//  2. The format and size of an image are read from its bytes and checked before the image is decoded. Only the
//     re-encoded image is stored.
//
// Callers: api (the table of routes). The routes for payers are in api/checkout.
//
// Rejected: another design would use the names and content types of uploaded files. It was not chosen because the
// client chooses both, so neither proves what a file is. Only the file's bytes do.
package storefront
