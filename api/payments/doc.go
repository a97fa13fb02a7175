// Package payments answers the routes of transactions: create and read, list and
// aggregate, refund, cancel and capture; balances, subscriptions, and the updates that
// other platforms send.
//
// Invariants:
//  1. Handlers read through a posting.View and write through actors only.
//  2. A page of the list reads a bounded number of records, whatever it filters.
//     Aggregates, which may read all of an organization, are bounded in number and time,
//     and organizations take turns.
//  3. Addresses of payers' pages are shown only to the partner that reads its own
//     transaction with its own key.
//  4. An update of another platform is checked before it is read, with the same work and
//     one answer for every fault. It only causes an inquiry.
//
// Callers: package api.
//
// Rejected: aggregates that are kept up to date. Every payment would pay for them.
package payments
