// Package contract decides each step in the life of a contract of participatory finance (finance without an
// interest rate fixed in advance). It has one kernel for all products (kinds of contracts, such as leases), and
// a file for each product.
//
// A product is a value: its columns with their bounds, its state machine as a table, its action handlers with
// their bodies and arithmetic, its timers, and its accounts. A reading (one of a product's two sets of terms,
// secular or religious) is a value too: it says whether a review comes before the first movement of money,
// which fields a review has, and which accounts penalties go to. A contract is a record with the columns of one
// product, in one reading.
//
// Invariants:
//  1. An action is checked against the state first, then its body, then its conditions. A refusal changes
//     nothing. A handler with ChecksState makes its own checks in its own order. Conditions that do not depend
//     on the body are only in the handler's Needs and Limits. So Available can tell before a request whether
//     Act would refuse the action.
//  2. Every step is in the product's machine for the contract's reading. If the reading requires a review, no
//     path of the machine reaches an action that moves money before the review.
//  3. The entries (bookings) of a decision balance. They become durable together with the new state, in one
//     Change (all that a decision stores). Lines that do not fit into one entry continue in further entries of
//     this Change. If an action is for more holders than fit into one Change, its decision only declares the
//     work, and further decisions of bounded size carry it out (holders.go).
//  4. Amounts in requests and growing totals are at most ledger.MaxAmount, so an amount stays in range when it
//     is multiplied by a term and a percentage. Lists of reports have at most maxRows rows and fit into
//     MaxStored. A contract whose list is full refuses reports and can still end. Timers are never refused: the
//     action that starts a timer reserves the largest amount that the timer may book on shared accounts
//     (Decision.Reserve).
//  5. The columns determine the balance of each of the contract's own accounts (Holdings). When a contract
//     ends, these balances are zero, except where the product says otherwise.
//  6. A timer's entry is dated on the day on which the timer was due, even if the timer runs late. Of several
//     due timers the earliest runs first, one per decision.
//  7. No product's code asks which reading the contract is in.
//  8. Rounding down is explicit, and the same entry books the remainder to a named account.
//  9. A long column that can be computed from other columns, such as a schedule, is not stored but computed
//     when it is read. The same applies to a column that depends on the day of reading (Record.AsOf).
//  10. The service's clock determines the day of a decision and of its entries. A decision's instant is never
//     before the record's last booked time, which may run ahead of a clock that stands still.
//  11. The register of an issue's holders is not part of the record. A decision receives the extract of
//     the register that it needs, and returns the rows that it adds (register.go).
//  12. An event has the name of its action. The event's from and to states tell which transition of the action
//     it was.
//  13. A product declares the facts that other packages need. These are the events that move money (Moves), the
//     columns that sum its postings on a shared account (Totals), the accounts that stay open (OpenAfterEnd,
//     EmptyIn), and the columns that change later (SetAgain, ShownByDay). The checker and the client have no
//     list of products of their own.
//
// Callers: actors/contract (Open, Act, OnDue, codec); api (shows columns); snapshots (machines, Holdings, declarations);
// cmd/mizan/client/contracts and bench (URLs and columns).
//
// Rejected: A Go struct for each product was considered; it was not chosen because validation, storage, two
// formats of amounts and the omission of empty fields would be written once for each of the seven products.
package contract
