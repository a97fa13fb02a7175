package body

import (
	"net"
	"sync"
	"time"

	"mizan/api/web/conn"
)

// arrivals are the connections on which the rest of a body is awaited. A request whose body arrives slowly must not hold up the end
// of its server, because the next leader of the server's shard may have to wait for that end.
type arrivals struct {
	mu          sync.Mutex
	connections map[net.Conn]bool // guarded by mu
	ended       bool              // guarded by mu
}

// interruptInterval is the time between two attempts to interrupt the reads. A read that has just set its deadline is interrupted
// by the next attempt.
const interruptInterval = 20 * time.Millisecond

// add notes that the rest of a body is awaited. It returns false if no body may be awaited any more.
func (a *arrivals) add(c net.Conn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return false
	}
	if a.connections == nil {
		a.connections = make(map[net.Conn]bool)
	}
	a.connections[c] = true
	return true
}

func (a *arrivals) remove(c net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.connections, c)
}

func (a *arrivals) haveEnded() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

// End refuses the requests whose bodies have not arrived completely. It returns when their reads have ended.
func (bodies *Bodies) End() {
	a := &bodies.arrivals
	for {
		a.mu.Lock()
		a.ended = true
		count := len(a.connections)
		for c := range a.connections {
			conn.InterruptRead(c)
		}
		a.mu.Unlock()
		if count == 0 {
			return
		}
		time.Sleep(interruptInterval)
	}
}
