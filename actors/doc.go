// Package actors runs actors (objects that handle one message at a time) on the library protoactor-go. Only this
// package imports the library, so its pitfalls are handled in one place. The package also declares the interfaces
// that its subpackages share.
//
// Invariants:
//  1. An actor handles one message at a time. While its Change (what it asks the journal to write) is being made
//     durable, later messages wait in a bounded FIFO. The actor's state changes only after the journal's receipt.
//  2. The registry (the table of running actors by key), not the library, knows which actors exist. The registry sends
//     and counts messages under its lock. It stops an actor only after the actor has handled every message that was
//     sent to it, so no message is lost. A finished actor may be reused for another key with a new behaviour; it keeps
//     no state of the previous key.
//  3. A message about due work (work that a record has scheduled for a time) or about the outcome of slow work is
//     addressed to the record's key, never to a PID (the library's address of one running actor). Such a message starts
//     the record's actor if needed and is never refused. An actor that expects an outcome is not stopped, and still
//     expects the outcome after a panic.
//  4. Slow work (calls, polls) never runs on the goroutine that runs the actor, nor on the clock's goroutine. A pool
//     runs the slow work and sends the outcome to the actor. Work that waits only for this machine's memory or disk may
//     run on the goroutine of a caller that is waiting for the actor's reply; meanwhile other goroutines run the actor.
//  5. A panic in any method of a Behaviour (the code of one kind of actor) is recovered inside the actor, logged
//     without values and answered with an error. After the panic, a new Behaviour replaces the old one and reads its
//     state from the store. The library never sees a panic; if it saw one, it would start another actor.
//  6. Every unit of work is counted before it begins, and stays counted until all work that it causes is counted too.
//     So a manual clock (one that moves only when it is advanced) is not moved while anything is in progress.
//  7. Due work that was handed out and did not change its record is handed out again, so no record waits forever
//     because a message was lost.
//  8. An actor has work from its first message until it has handled all messages and has nothing outstanding. If too
//     many actors have work, commands are refused and due work waits; actors without work that are kept in memory do
//     not count. An actor whose behaviour is a RetainedBehaviour is not asked to stop before the time that KeepUntil
//     returns. The actors of Unbounded registries, such as the senders of webhooks to merchants who do not answer,
//     never count, even while they have work.
//  9. After a failure, polls, retries and due work are repeated only after some real time, so that the clock's loop
//     cannot spin. For polls and retries, the time grows with each failure.
//
// Callers: api and cmd send commands; the subpackages implement Behaviour.
//
// Rejected: designs that use more of the library. The library's futures have a data race and cost ten allocations each.
// The library's bounded mailboxes spin or drop messages. The library's ReceiveTimeout has a race. If the library's
// supervision restarts an actor, the actor's message is lost, and its sender gets only a time-out. The library's lookup
// by name fails, because the name of a stopped actor becomes free before the actor has handled Stopped.
package actors
