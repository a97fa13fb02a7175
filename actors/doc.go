// Package actors runs actors on protoactor-go, which only this package imports, so that the library's pitfalls
// are handled in one place. It also declares the interfaces that its subpackages share.
//
// Invariants:
//  1. An actor handles one message at a time. While its Change (what it asks the journal to write) is being made
//     durable, later messages wait in a bounded FIFO. The actor's state changes only after the journal's receipt.
//  2. The registry, not the library's names, knows which actors exist. It sends and counts messages under its
//     lock and stops an actor only after the actor has handled all of them, so no message is lost. Instead of being
//     stopped, an actor may get another key, with a new behaviour; nothing of its last key is left in it.
//  3. Outcomes and due work are addressed by record, never by PID, start the record's actor if needed and are
//     never refused. An actor that expects an outcome is not stopped, and still expects the outcome after a
//     panic.
//  4. Slow work (calls, polls) never runs on the goroutine that runs the actor, or on the clock's: the pool runs it and
//     sends the outcome back. Work that waits for nothing but this machine may run on the goroutine of a caller that waits
//     for the actor, while others run the actor.
//  5. A panic is recovered inside the actor, whichever method of its behaviour panicked, is logged without values
//     and answered with an error; the behaviour is rebuilt from the store. The library never sees a panic,
//     because it would start another actor.
//  6. Every unit of work is counted before it begins, and until all work that it causes is counted too, so a
//     manual clock knows when nothing is in progress.
//  7. Due work that was handed out and did not change its record is handed out again, so no record waits forever
//     because a message was lost.
//  8. An actor has work from its first message until it has handled all messages and has nothing outstanding. An
//     actor without work that is kept in memory delays neither commands nor due work, and is not asked to stop
//     before the time that it has named (RetainedBehaviour). The actors of Unbounded registries, such as webhooks to
//     merchants who do not answer, delay neither commands nor due work, even while they have work.
//  9. A poll, a record or a retry that failed waits in real time, longer after each failure, so it cannot make
//     the clock's loop spin.
//
// Callers: api and cmd send commands; the subpackages implement Behaviour.
//
// Rejected: the library's futures (a data race and ten allocations), bounded mailboxes (they spin or drop),
// ReceiveTimeout (it races), supervision restarts (they lose the message, and the sender only times out) and
// lookup by name (a name is free before Stopped has run).
package actors
