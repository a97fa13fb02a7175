// Package actors runs actors (objects that handle one message at a time) on the library protoactor-go. Only this
// package imports the library, so its pitfalls are handled in one place. The package also declares the interfaces
// that its subpackages share.
//
// Invariants:
//  1. An actor handles one message at a time. While its Change (what it asks the journal to write) is being made
//     durable, later messages wait in a bounded FIFO. The actor's state changes only after the journal's receipt.
//  2. The registry (the table of running actors by key), not the library, knows which actors exist. It sends and
//     counts messages under its lock and stops an actor only after the actor has handled all of them, so no message
//     is lost. A finished actor may be reused for another key with a new behaviour; it keeps no state of the previous
//     key.
//  3. Outcomes of slow work and due work (work that a record has scheduled for a time) are addressed to the record's
//     key, never to a PID (the library's address of one running actor). They start the record's actor if needed and
//     are never refused. An actor that expects an outcome is not stopped, and still expects the outcome after a
//     panic.
//  4. Slow work (calls, polls) never runs on the goroutine that runs the actor, nor on the clock's goroutine. The pool
//     runs it and sends the outcome to the actor. Work that waits only for this machine's memory or disk may run on the
//     goroutine of a caller that waits for the actor's reply; meanwhile other goroutines run the actor.
//  5. A panic in any method of a Behaviour (the code of one kind of actor) is recovered inside the actor, logged
//     without values and answered with an error. Then the behaviour is rebuilt from the store. The library never sees
//     a panic; if it saw one, it would start another actor.
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
// Rejected: other designs would use more of the library. They were not chosen, for these reasons. Its futures have a
// data race and cost ten allocations. Its bounded mailboxes spin or drop messages. Its ReceiveTimeout has a race. Its
// restarts by supervision lose the message, so that the sender gets only a time-out. Its lookup by name fails because
// a name is free again before the old actor has handled Stopped.
package actors
