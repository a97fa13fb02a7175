// Package actors runs actors on protoactor-go, which only this package imports, so that the library's pitfalls
// are handled in one place. It also declares the interfaces that its subpackages share.
//
// Invariants:
//  1. An actor handles one message at a time. While its Change (what it asks the journal to write) is being made
//     durable, later messages wait in a bounded FIFO. The actor's state changes only after the journal's receipt.
//  2. The registry, not the library's names, knows which actors exist. It sends and counts messages under its
//     lock and stops an actor only after the actor has handled all of them, so no message is lost. Instead of being
//     stopped, an actor may get another key, with a new behaviour; nothing of its last key is left in it.
//  3. Outcomes of slow work, and due work (which a record has asked for at a time), are addressed to the
//     record, never to a PID. They start the record's actor if needed and are never refused. An actor that
//     expects an outcome is not stopped, and still expects the outcome after a panic.
//  4. Slow work (calls, polls) never runs on the goroutine that runs the actor, nor on the clock's goroutine. The pool
//     runs it and sends the outcome to the actor. Work that waits for nothing but this machine may run on the goroutine of
//     a caller that waits for the actor; meanwhile other goroutines run the actor.
//  5. A panic in any method of a behaviour is recovered inside the actor, logged without values and answered with
//     an error. Then the behaviour is rebuilt from the store. The library never sees a panic, because it would
//     start another actor.
//  6. Every unit of work is counted before it begins, and stays counted until all work that it causes is
//     counted too. So a manual clock, which moves only when it is advanced, knows when nothing is in
//     progress.
//  7. Due work that was handed out and did not change its record is handed out again, so no record waits forever
//     because a message was lost.
//  8. An actor has work from its first message until it has handled all messages and has nothing outstanding. An
//     actor without work that is kept in memory delays neither commands nor due work, and is not asked to stop
//     before the time that its KeepUntil returns (RetainedBehaviour). The actors of Unbounded registries, such as
//     the senders of webhooks to merchants who do not answer, delay neither commands nor due work, even while they
//     have work.
//  9. After a failure, a poll, a retry and a due record wait in real time, so they cannot make the clock's
//     loop spin. Polls and retries wait longer after each failure.
//
// Callers: api and cmd send commands; the subpackages implement Behaviour.
//
// Rejected: the library's futures (a data race and ten allocations), bounded mailboxes (they spin or drop),
// ReceiveTimeout (it races), supervision restarts (they lose the message, and the sender only times out) and
// lookup by name (a name is free before Stopped has run).
package actors
