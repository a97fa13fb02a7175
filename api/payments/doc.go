// Package payments serves the routes of transactions: create and read, list and aggregate,
// refund, cancel and capture; balances, subscriptions, and the updates that providers send.
//
// Invariants:
//  1. Handlers read through a posting.View and write only through actors.
//  2. A page of the list reads a bounded number of records, regardless of its filter. Aggregates,
//     which may read all records of an organization, are bounded in number and time, and
//     organizations take turns.
//  3. The address of a payer's page is shown only to the partner that reads its own transaction
//     with its own key.
//  4. A provider update is authenticated before it is parsed, with the same work and one response
//     for every fault. An accepted update only causes an inquiry at the provider.
//
// Callers: package api.
//
// Rejected: aggregates that every payment updates. Every payment would bear their cost.
package payments
