// Package contract decides what happens to contracts of participatory finance: one kernel
// for all products, one file per product.
//
// A product is a value: its columns with their bounds, its state machine as a table, its
// action handlers with their bodies and arithmetic, its timers, and its accounts. A reading
// is a value too: whether a review comes first, what a review contains, where some money
// goes. A contract is a record of a product's columns in one reading.
//
// Invariants:
//  1. An action is checked against the state first, then its body, then its conditions. A
//     refusal changes nothing. A handler with ChecksState does its own checks in its own order.
//  2. Every step is in the product's machine of the reading. If the reading requires a
//     review, no path of the machine reaches an action that moves money before the review.
//  3. The entries of a decision balance and are in the same Change as its state. What does
//     not fit into one entry continues in further entries of that Change. An action for more
//     holders than fit into one Change is declared by it and carried out by further
//     decisions of bounded size (holders.go).
//  4. Amounts that are sent and totals that grow are at most ledger.MaxAmount, so products
//     of an amount, a term and a percentage stay in range. Lists of reports have at most
//     maxRows rows and fit into MaxStored. A full contract refuses reports and can still end.
//     Timers are never refused: the action that starts one reserves what it may book on
//     shared accounts (Decision.Reserve).
//  5. The columns determine the balance of each of the contract's own accounts (Holdings).
//     When a contract ends they are zero, except where the product says otherwise.
//  6. A timer's entry is dated on the day it was due, even if it runs late. Of several due
//     timers the earliest runs first, one per decision.
//  7. No product asks which reading it is in.
//  8. Floors are explicit, and the remainder has a named owner in the same entry.
//  9. A long column that follows from other columns, such as a schedule, is computed when it
//     is read and not stored. So is a column that depends on the day of reading (Record.AsOf).
//  10. Days are those of the clock, in entries too. Decided instants are never before booked
//     ones, which may run ahead of a clock that stands still.
//  11. The register of an issue's holders is not part of its record: a decision receives the
//     extract that it needs and returns the rows that it adds (register.go).
//  12. An event has the name of its action. Its from and to states tell which of the
//     action's transitions it was.
//
// Callers: actors/contract (Open, Act, OnDue, the codec of columns), api (columns, to show
// them), snapshots (machines and Holdings).
//
// Rejected: a Go struct per product. It reads well for one; for seven, validation, storage,
// two formats of amounts and the omission of empty fields would be written seven times, each
// a little differently.
package contract
