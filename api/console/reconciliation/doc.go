// Package reconciliation has the console's pages of settlement reports and of their differences from the ledger: a list of
// differences to work through, with a form for the decision on each, and a list of reports.
//
// Invariants:
//  1. The pages are generated from the API's description by package resource. What a person may do is decided by the API's routes:
//     an auditor sees no form, and an administrator decides in the role of the organization's operator.
//  2. Reports are uploaded over the API or with `mizan reconcile import`; the console has no form for files.
//
// Callers: api/console.
//
// Rejected: pages in api/console/auditor. Its pages only read, and its templates are made for entries and balances.
package reconciliation
