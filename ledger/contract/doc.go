// Package contract decides each step of a contract of participatory finance (finance without an interest rate fixed in
// advance), from the request to the end. The core is the same for all products (kinds of contracts, such as leases), and
// each product has a file of its own.
//
// A product is declared as one Go value: columns with bounds, a state machine (as a table), action handlers, timers and
// accounts. A handler declares the action's request body and does its arithmetic. A reading (one of a product's two sets of
// terms, secular or religious) is declared as one value too. It says whether a review must come before the first movement
// of money, which fields a review has, and to which accounts penalties go. A contract is a record of one product in one
// reading; its fields are the product's columns.
//
// Invariants:
//  1. Act first checks that the contract's state allows the action, then the request's body, then the handler's conditions.
//     A refusal changes nothing. A handler with ChecksState checks the state itself, in an order of its own. All conditions
//     that do not depend on the body are in the handler's Needs and Bounds, so Available can tell in advance whether Act
//     would refuse the action.
//  2. The state changes only by steps of the product's state machine for the contract's reading. If the reading requires a
//     review, every path in the machine passes the review before an action that moves money.
//  3. Each ledger entry of a decision balances. The entries and the new state are stored in one Change, as a whole or not
//     at all. Lines that do not fit into one entry continue in further entries of the same Change. If an action concerns
//     more certificate holders than fit into one Change, its decision only declares the action, and later decisions of
//     bounded size book the holders (holders.go).
//  4. Amounts in requests and growing totals are at most ledger.MaxAmount, so the product of an amount, a term and a
//     percentage stays in range. A list of reports, such as distributions, has at most maxRows rows and fits into
//     MaxStored. When the list is full, the contract refuses further reports but can still end. Timers are never refused:
//     the action that starts a timer reserves the largest amount that the timer may book on shared accounts
//     (Decision.Reserve).
//  5. The balance of each of the contract's own accounts can be computed from the columns (Balances). When a contract ends,
//     these balances are zero, except where the product declares otherwise.
//  6. A timer's entry is dated on the day on which the timer was due, even if the timer runs late. If several timers are
//     due, the earliest runs first, and each runs in a decision of its own.
//  7. The code of a product does not ask in which reading a contract is. It uses the values of Reading instead.
//  8. Where an amount is rounded down, the same entry books the remainder to an account that the code names.
//  9. A long column that can be computed from other columns, such as a schedule, is not stored: it is computed when the
//     contract is read. So is a column whose value depends on the day on which the contract is read (Record.AsOf).
//  10. The service's clock determines the day of a decision and of its entries. A decision's timestamp is never earlier
//     than the time of the record's last booking, even if that time is ahead of the clock.
//  11. The register of a certificate issue's holders is stored apart from the record. A decision receives the part
//     of the register that it needs, and returns the rows to add (register.go).
//  12. An event has the name of its action. If the action has several transitions, the event's states from and to show
//     which of them was made.
//  13. A product declares what other packages need to know about it: which events move money (Moves), which columns sum its
//     postings on a shared account (ControlTotals), which accounts stay open or are empty (OpenAfterEnd, EmptyIn), and
//     which columns may change later (MutableColumns, ShownByDay). So the checker and the client need no lists of products
//     of their own.
//
// Names of columns and functions begin with the product: ci (certificate issue), dp (deposit), sl (instalment sale), ls
// (lease), mi (managed investment), pn (partnership) and sk (safekeeping). A column of an action's request body has In
// after that, such as lsInSerial.
//
// Callers: actors/contract (Open, Act, OnDue, codec); api (shows columns); snapshots (machines, Balances, declarations);
// cmd/mizan/client/contracts and bench (URLs and columns).
//
// Rejected: a Go struct for each product. Validation, storage, two formats of amounts and the omission of empty fields
// would then have to be written seven times, once for each product.
package contract
