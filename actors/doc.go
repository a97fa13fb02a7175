// Package actors runs actors on protoactor-go, which only this package imports: the library's traps
// are answered here, once. It declares the interfaces that its folders share.
//
// Invariants:
//  1. An actor handles one message at a time. While a Change of its is being
//     made durable, later messages wait in a bounded FIFO; its state moves only
//     when the writer has acknowledged.
//  2. The registry, not the library's names, says who is alive. A message is
//     sent under the registry's lock and counted; an actor is let go only when
//     it has handled every message counted, so none is ever lost to a stop.
//  3. Outcomes and due work are addressed by record, never by PID, and activate the record's actor if
//     there is none. They are never refused. An actor that expects one is not let go and still expects
//     it after a panic.
//  4. Slow work (calls, polls) never runs on an actor's goroutine, nor on the
//     clock's: the pool does it and sends the outcome back.
//  5. A panic is recovered inside the actor, whatever of its behaviour was
//     called, logged without values, answered with an error, and the behaviour is
//     rebuilt from the store. The library never sees one: it would make an actor
//     of its own.
//  6. Every unit of work is counted from before it begins until what it caused
//     has begun, so that a manual clock knows when nothing is under way.
//  7. Due work that was handed out and did not move its record is handed out again: a lost message
//     leaves no record waiting.
//  8. An actor has work from the first message until it has handled all of them
//     and nothing is outstanding. One that only stays, because it was used or its Behaviour needs its
//     memory, holds up no command and no due work, and is not asked to go before the instant that it
//     has named. The work of registries that are aside, such as webhooks to merchants who do not
//     answer, holds up neither.
//  9. After a failure a poll, a record or a retry rests, by real time and longer each time: none can
//     make the clock's loop spin.
//
// Callers: api and cmd start commands; the folders below implement Behaviour.
//
// Rejected: the library's futures (a data race and ten allocations), bounded
// mailboxes (they spin or drop), ReceiveTimeout (it races), supervision restarts
// (the message is lost and the asker only times out) and name-based lookup (a
// name is free before Stopped has run).
package actors
