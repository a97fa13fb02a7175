// Package storefront has the rules of what a partner sells without a program: payment links, products, and the images
// that they show (specification, "Payment link", "Product", "Uploaded image").
//
// Invariants:
//  1. The address of a link, a product or an image contains its id and never changes.
//  2. The products of a link belong to the link's partner. Each is bound once, and a product that was deleted leaves
//     its links.
//  3. An amount is above zero and at most 10^15 minor units, or 10^9 major units where that is more. A price may be
//     zero, but then the product cannot be paid for.
//  4. A link's currency, network and environment do not change after its first payment.
//
// Callers: actors/storefront decides with these rules, api/storefront reads and shows the records, api/checkout shows
// them to payers, snapshots/check compares them with the journal.
//
// Rejected: products as rows inside a link. A product belongs to several links, and has an address of its own.
package storefront
