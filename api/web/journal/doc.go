// Package journal answers requests for an organization's journal (the sequence of all its events). It responds
// with pages of the events, entries (balanced bookings) and accounts that the caller may see.
//
// Invariants:
//  1. A partner (a merchant) sees only the entries that post to its own accounts, and only its own postings in
//     them.
//  2. A page reads a bounded number of events. A page with fewer rows than requested has a cursor to the next
//     page.
//  3. A search reads the shortest source: one record's events, the list of the administration's changes, the
//     lines (postings) of the requested accounts, or the whole journal.
//  4. An author is shown with the name that it has at the time of the response. A partner learns the ids and
//     names of its own authors only.
//
// Callers: api; api/ledger; api/payments; api/contracts (entries of a contract).
//
// Rejected: Putting these functions into api/ledger was considered; it was not chosen because other route
// families (packages of HTTP routes) need them too, and route families do not import each other.
package journal
