// Package storefront contains the rules for payment links and products, and for the images on their pages. With links and
// products, a merchant can sell without writing a program that calls the API (specification, "Payment link", "Product",
// "Uploaded image").
//
// Invariants:
//  1. The address of a link, a product or an image contains its id and never changes.
//  2. The products of a link belong to the link's partner (merchant). A link contains a product at most once, and a deleted
//     product disappears from all links.
//  3. An amount is above zero. Its upper bound is 10^15 minor units or 10^9 major units, whichever is more. A price may be
//     zero, but then nobody can pay for the product.
//  4. A link's currency, network and environment do not change after its first payment.
//
// Callers: actors/storefront (decides with these rules), api/storefront (reads and shows records), api/checkout
// (shows records to payers), snapshots/check (compares records with the journal).
//
// Rejected: products stored as rows inside a link, because a product may belong to several links and has an address of its own.
package storefront
