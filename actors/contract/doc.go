// Package contract runs one actor for each contract that something happens to: it
// decides by ledger/contract and hands the Change to the writer. One kind of actor
// serves all products.
//
// Invariants:
//  1. What is decided on is what the writer has acknowledged. A Change that the writer
//     refuses for its version is decided again on what is stored.
//  2. Whoever asks is answered when the Change is durable. A request with a key keeps
//     what it was answered with in its own Change, and its repetition is given that; a
//     screening, which never changes, is its own answer.
//  3. A contract is found in its own reading and product only: elsewhere it is unknown.
//  4. What time does comes from the record's due instant, in order, once, whatever
//     the process does meanwhile.
//     What is overdue when somebody acts goes before the action, and what an action
//     leaves overdue comes due at once, also where the clock stands still.
//  5. An actor stays as long as somebody waits for it, and no longer: what a contract
//     is, is in the store.
//  6. A contract has its number from the writer: without gaps for each organization and
//     prefix.
//  7. What time does is never refused, and leaves no total out of range: what starts it
//     takes room for it in a counter of the asset, and is refused where there is none.
//  8. The rows of an issue's register of holders are written with the record, in one
//     Change, and a decision reads them as they are at the record's version.
//  9. An action that is carried out in batches goes on by itself, one Change a batch,
//     and is counted from its declaration to its last batch: no month is closed then.
//  10. A contract is told as of the clock's day; the answer of a key's request as of the
//     day on which it was booked.
//
// Callers: api (Service), cmd (New).
//
// Rejected: an actor for a creation. Nobody else can know of a contract that is not
// there yet; what could be asked for twice is for the key's claim to say.
package contract
