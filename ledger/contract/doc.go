// Package contract decides what happens to the contracts of participatory finance:
// one kernel for all products, and one file a product.
//
// A product is a value: its columns with their bounds, its machine as a table, its
// deeds with their bodies and arithmetic, what time does to it, and which accounts
// it holds. A reading is a value too: whether a review comes first, what a review
// says, where some money goes. A contract is a product's columns in a reading.
//
// Invariants:
//  1. A deed is refused for its state first, then for what was sent, then for its
//     conditions, and a refusal leaves nothing. One that says that it is Free makes
//     its own checks in its own order.
//  2. Every step is one of the machine that the product has in the reading. In a
//     reading in which a review comes first, no deed that moves money is reached
//     without one: the machine has no such path.
//  3. What a deed books balances, and is in the same Change as the state. What one
//     entry has no room for goes on in further entries of that Change. What is for more
//     holders of an issue than fit into one Change is declared by it, and carried out by
//     further decisions of bounded size (holders.go).
//  4. Amounts that are sent, and totals that grow, are at most ledger.MaxAmount, so
//     that no product of an amount, a term and a percentage leaves the range. Lists of
//     reports have at most maxRows rows, and where these are long no more than fit into
//     MaxStored: a full contract says so, and can still be ended. What time does cannot be refused: room for what it may book on accounts that contracts
//     share is reserved by what starts it (Decision.Reserve).
//  5. The columns say what each of a contract's own accounts holds (Holdings). When a
//     contract ends they hold nothing, but for what the product says.
//  6. What time does is dated on the day that it was due, also if it is late. Of
//     several things that are due, the earliest comes first, one a decision.
//  7. No product asks which reading it is in.
//  8. Floors are written out; what they leave has an owner in the same entry.
//  9. A column that follows from others wholly and is long, such as a schedule, is
//     worked out when it is read, and not stored; so is one that follows from the day on
//     which somebody looks (Record.Told).
//  10. Days are the clock's, also an entry's. Instants that are decided on are not before
//     those that were booked, which may be ahead of a clock that stands still.
//  11. The register of an issue's holders is no part of its record: a decision is given
//     the part that it reads, and says which rows it adds (register.go).
//  12. An event has its action's name; its states say which of the action's transitions
//     it was.
//
// Callers: actors/contract (Open, Act, Woken and the codec of columns), api (columns,
// to show them), snapshots (machines and Holdings).
//
// Rejected: a Go struct for each product. It reads well for one; for seven, validation,
// storage, two ways to show amounts and the omission of empty fields would be written
// seven times, each a little differently.
package contract
