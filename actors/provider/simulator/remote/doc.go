// Package remote lets several servers use one simulator (package simulator), which runs in a process of its own. The package
// has both sides: Server serves a simulator over HTTP, and Provider is the adapter that calls such a server.
//
// Each method of the simulator is one POST with a msgpack map as its body (messages.go). Status 200 means that the simulator
// has answered. A status from 400 to 499 means that the request was refused before the simulator saw it.
//
// Invariants:
//  1. If no byte of a call was sent, or the server refused the request, the verdict is "not sent". After the first byte the
//     outcome of a call without a usable answer is "unknown", and an inquiry finds it. No request is sent twice.
//  2. A connection is reused only if its last answer was read to its end, nothing has followed, and the server has not closed
//     it. So a restart of the server makes no call unknown that was not in progress.
//  3. A request ends when its context does, and after maxWait at the latest.
//  4. The client reads at most maxAnswer bytes of an answer, and the server at most maxRequest bytes of a request. Both check
//     that the bytes are complete msgpack before they decode them.
//  5. Neither side keeps a card. The buffer in which a request is encoded is overwritten as soon as the request is sent, and
//     also if it is not sent or the buffer has to grow. The server overwrites what it has received before it waits for the
//     next request, and wipes the card after the call. An answer may have a token, so it is overwritten after it was decoded.
//  6. The connections are not encrypted and the server has no credentials. So both sides accept only loopback addresses, and
//     the server refuses what a browser could send for a page of another site: requests without our content type, or for
//     another host.
//  7. A poll for reports covers the period up to the server's clock, not up to the caller's. The next poll begins there, so no
//     report is lost if the clocks differ.
//
// Callers: cmd/mizan/serving (Provider), cmd/mizan/simulator (Server).
//
// Rejected: net/http on both sides would need less code. It was not chosen because each of its connections needs two
// goroutines, so it costs more processor time than the simulator itself. fasthttp's client was not chosen because it sends a
// request again if a connection breaks, and keeps requests in its buffers. Asking the server for the time of the next report
// was not chosen because the runtime asks for this time on the goroutine of the clock, which must not wait for a network;
// the reports are polled every second instead.
package remote
