// Package directory makes the directory's decisions durable and answers who is
// who, without a store read, for every request.
//
// One actor an organization, and one for the platform, decides and commits. What
// is durable is then published to a view in memory; after that comes the reply.
// A record sits in a cell: the view's maps only ever grow (but for sessions, which
// are dropped when they are over), a change swaps one pointer, and readers take no
// lock.
//
// Invariants:
//  1. The view shows nothing that is not durable, and whoever got an answer
//     sees it in the view: a revoked key is refused from then on.
//  2. Only an organization's actor writes its part of the view. If it panics,
//     its part is read from the store again before the next decision.
//  3. Authentication takes the same steps whether the organization, the key or
//     its partner exist, and whether they are in force: keys and partners of all
//     organizations are in one table each.
//  4. A partner number is durable before it is used and is given out once. One
//     may be lost in a crash.
//  5. A password is hashed on its request's own goroutine, a bounded number at
//     a time, and never by an actor. Logins and the administration have each a bound
//     of their own. Networks and source addresses share the places of logins fairly
//     (internal/fair): a flood keeps neither the administration nor other addresses out.
//  6. Values of keys and tokens leave in the answer that made them and are
//     nowhere else, but for a key's value or an administration token in the
//     sealed answer of a write that came with an Idempotency-Key.
//  7. A write with an Idempotency-Key claims it in its own Change, first of all
//     claims and in the platform's name space, and keeps its answer there too:
//     sealed, in a record of its own directly behind the event that it tells of.
//     That event's booked time and its place in the journal are the only things in
//     an answer that are not known before the writer has ordered it. A write of
//     another actor that makes no event (KeepAnswer) has its answer kept as well.
//  8. Settlements are not in the view: they are read from the store, by their
//     reference's claim, by id, or by the list of their partner. Only their
//     organization's actor takes references for them, so that one that it finds
//     free stays free until it has booked.
//  9. Limits and Blocked cost a create no read of the store and no lock. The
//     slice that Limits hands out is replaced and never changed. Of the blocklist
//     the view has the values and their order only, which may be a million; its
//     records are read from the store where they are shown or changed.
//  10. Whoever fails to log in learns nothing from the answer or its time: each
//     attempt hashes a password, and none is made beyond the failures that a login
//     may have, however many come at once. From an address that is not its partner's a
//     right password is answered, and counted, as a wrong one.
//  11. No request waits for a note of its use, and no command for the notes of
//     others: they are bounded, and only one Change an organization is under way.
//     What notes don't tell yet is written at a clean stop, and lost in a kill: an
//     hour of a key's last use, five minutes of a session's.
//  12. What connects a terminal to another platform, and what signs notifications of
//     a terminal or a partner, is sealed in its record, bound to it. A record of which
//     that doesn't open is there without it. What was stored in the clear, before
//     secrets were sealed, is read as it is and sealed with the record's next change.
//  13. A rehearsed write (Rehearse) is refused as the write would be, and changes
//     nothing: no number, hash or key is spent on it.
//  14. Whether notifications may go to addresses that are not on the internet is the
//     process's setting, not the store's: what was taken under another one stays.
//
// Callers: api (requests, people who log in), actors/payment through an interface
// (partners, terminals and rates), actors/alerts likewise (whose operators are told),
// cmd/mizan (tokens at start, the sandbox), bench (many merchants at once).
//
// Rejected: publishing a new snapshot of the organization with each change. With
// 100,000 keys one revocation would copy them all. Also rejected: reading a key
// from the store at each request, which costs more than the rest of the request.
// Also rejected: sync.Map for what there is very much of. It takes four objects an
// entry, and under load the collector's work on them was a tenth of the server's.
// Also rejected: answering a repeated write from the records as they stand. They
// may have changed since, and a key's value is in none.
package directory
