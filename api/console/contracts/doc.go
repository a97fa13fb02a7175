// Package contracts contains the console's pages about contracts of participatory finance (finance without an interest rate
// fixed in advance). The console is the website for the service's users. There are pages for lists of contracts, for a contract
// with its schedule, entries and history, for the form of each action, and for reviews, screenings and charity.
//
// Invariants:
//  1. Fields, actions and their forms come from the description of the API and from the products in ledger/contract. The code
//     of a page names no product, so a new product, column or action needs new texts but no new page.
//  2. The API decides which actions are possible now (GET …/{id}/actions). The pages only show what it has decided.
//  3. Each contract has a reading: secular or religious. In every language, products, parties, amounts and actions have the
//     names that belong to this reading.
//  4. The server draws charts as SVG, and each chart stands beside a table with the same numbers. The pages'
//     Content-Security-Policy forbids inline scripts and styles.
//
// Callers: api/console.
//
// Rejected: the generic pages of package resource. They change records by PATCH, but a contract is changed by actions, and its
// state decides which actions are possible.
package contracts
