// Package contracts has the pages of participatory-finance contracts (finance without an interest rate fixed in
// advance) in the console, the website for the service's users. The pages are lists, a contract with its schedule,
// entries and history, a form for each action, and reviews, screenings and charity.
//
// Invariants:
//  1. Fields, actions and their forms come from the description of the API and from the products in ledger/contract.
//     No page names a product. So a new product, column or action needs texts, but no page.
//  2. The API decides which actions are possible now (GET …/{id}/actions). The pages only show its answer.
//  3. Products, parties, amounts and actions have the names of the contract's reading (secular or religious), in every language.
//  4. Charts are SVG that the server writes, beside a table with the same numbers. The policy of the pages forbids inline
//     scripts and styles.
//
// Callers: api/console.
//
// Rejected: Another design would use the generic pages of package resource, which change a record by PATCH. It was
// not chosen because contracts have no PATCH: they change by actions that depend on their state.
package contracts
