package connlimit

import (
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"mizan/internal/source"
)

const (
	sample          = 32               // among how many connections the one to close is chosen
	stalled         = 5 * time.Second  // how long a caller must leave a response unread before its connection may be closed
	logEvery        = 10 * time.Second // shortest time between two log lines about a reached bound, or about a failed accept
	handleEvictions = 16               // how many connections are closed if the process has no file handle left
)

// Options of a Gate.
type Options struct {
	Total      int            // greatest number of open connections, above zero
	PerAddress int            // greatest number of open connections from one address; 0 if there is no such bound
	Trusted    []netip.Prefix // proxies, to which PerAddress does not apply
	Log        *slog.Logger
}

// Gate bounds the open connections. If a bound is reached, a new connection replaces a waiting one. If no connection waits, the
// new one is closed. The methods of a Gate may be used by any number of goroutines.
type Gate struct {
	trusted    []netip.Prefix
	log        *slog.Logger
	fullLog    rate.Sometimes
	failureLog rate.Sometimes

	evicted, refused atomic.Uint64

	mu                sync.Mutex
	total, perAddress int                      // guarded by mu
	open              []*Conn                  // guarded by mu
	bySource          map[netip.Prefix][]*Conn // guarded by mu; no empty lists
}

// NewGate makes a gate without connections.
func NewGate(o Options) *Gate {
	g := &Gate{
		trusted: o.Trusted, log: o.Log, bySource: make(map[netip.Prefix][]*Conn),
		fullLog: rate.Sometimes{Interval: logEvery}, failureLog: rate.Sometimes{Interval: logEvery},
	}
	g.Bound(o.Total, o.PerAddress)
	return g
}

// Bound changes the bounds, which have the same meaning as in Options. If too many connections are open, it closes waiting
// ones.
func (g *Gate) Bound(total, perAddress int) {
	if perAddress <= 0 {
		perAddress = total
	}
	g.mu.Lock()
	g.total, g.perAddress = max(total, 1), perAddress
	var victims []*Conn
	for excess := len(g.open) - g.total; excess > 0; excess-- {
		v := g.evict(g.open)
		if v == nil {
			break
		}
		victims = append(victims, v)
	}
	g.mu.Unlock()
	closeAll(victims)
}

// Open returns the number of open connections.
func (g *Gate) Open() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.open)
}

// Evicted returns how many connections were closed to make room for others.
func (g *Gate) Evicted() uint64 { return g.evicted.Load() }

// Refused returns how many connections were closed as soon as they were accepted, because a bound was reached and no other
// connection could be closed.
func (g *Gate) Refused() uint64 { return g.refused.Load() }

// admit adds a connection. If there is no room, it closes the connection and returns nil.
func (g *Gate) admit(raw net.Conn) *Conn {
	address := addressOf(raw)
	c := &Conn{Conn: raw, gate: g, address: address, source: source.Of(address), openIndex: -1}
	c.since.Store(time.Now().UnixNano())
	victims, ok := g.place(c)
	closeAll(victims)
	if len(victims) > 0 || !ok {
		g.fullLog.Do(func() {
			g.log.Warn("connections are at their bound: those that wait longest are closed",
				"open", g.Open(), "closed", g.evicted.Load(), "refused", g.refused.Load())
		})
	}
	if !ok {
		g.refused.Add(1)
		_ = raw.Close()
		return nil
	}
	return c
}

// place adds a connection to the open ones, and removes connections to make room. The caller closes the removed connections
// (victims). If there is no room, ok is false.
func (g *Gate) place(c *Conn) (victims []*Conn, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !g.trusts(c.address) && len(g.bySource[c.source]) >= g.perAddress {
		v := g.evict(g.bySource[c.source])
		if v == nil {
			return victims, false
		}
		victims = append(victims, v)
	}
	for len(g.open) >= g.total {
		v := g.evict(g.open)
		if v == nil {
			return victims, false
		}
		victims = append(victims, v)
	}
	sameSource := g.bySource[c.source]
	c.openIndex, c.sourceIndex = len(g.open), len(sameSource)
	g.open, g.bySource[c.source] = append(g.open, c), append(sameSource, c)
	return victims, true
}

// evict chooses the connection to close from a sample of the candidates, removes it from the lists and returns it. If no
// connection in the sample waits, evict returns nil. The caller holds the lock, and closes the returned connection.
func (g *Gate) evict(candidates []*Conn) *Conn {
	now := time.Now()
	var best *Conn
	consider := func(c *Conn) {
		if c.isEvictable(now) && (best == nil || g.evictsBefore(c, best)) {
			best = c
		}
	}
	if len(candidates) <= sample {
		for _, c := range candidates {
			consider(c)
		}
	} else {
		for range sample {
			consider(candidates[rand.IntN(len(candidates))])
		}
	}
	if best == nil || !best.markEvicted(now) {
		return nil
	}
	g.remove(best)
	g.evicted.Add(1)
	return best
}

// evictsBefore tells whether connection a should be closed before connection b.
func (g *Gate) evictsBefore(a, b *Conn) bool {
	if a.hasCredential.Load() != b.hasCredential.Load() {
		return b.hasCredential.Load()
	}
	if x, y := len(g.bySource[a.source]), len(g.bySource[b.source]); x != y {
		return x > y
	}
	return a.since.Load() < b.since.Load()
}

// remove removes a connection from the lists. The caller holds the lock.
func (g *Gate) remove(c *Conn) {
	if c.openIndex < 0 {
		return
	}
	last := g.open[len(g.open)-1]
	g.open[c.openIndex], last.openIndex = last, c.openIndex
	g.open[len(g.open)-1] = nil
	g.open = g.open[:len(g.open)-1]
	sameSource := g.bySource[c.source]
	last = sameSource[len(sameSource)-1]
	sameSource[c.sourceIndex], last.sourceIndex = last, c.sourceIndex
	sameSource[len(sameSource)-1] = nil
	if sameSource = sameSource[:len(sameSource)-1]; len(sameSource) == 0 {
		delete(g.bySource, c.source)
	} else {
		g.bySource[c.source] = sameSource
	}
	c.openIndex = -1
}

// evictForHandles is called when the process has run out of file handles, and closes some waiting connections.
func (g *Gate) evictForHandles() {
	var victims []*Conn
	g.mu.Lock()
	for range handleEvictions {
		if v := g.evict(g.open); v != nil {
			victims = append(victims, v)
		}
	}
	g.mu.Unlock()
	closeAll(victims)
}

// closeAll closes connections and returns when their file handles are free.
func closeAll(victims []*Conn) {
	for _, v := range victims {
		_ = v.Conn.Close()
	}
}

func (g *Gate) trusts(a netip.Addr) bool {
	for _, p := range g.trusted {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// addressOf returns the address at the other end of a connection. If it is not a TCP connection, addressOf returns the zero
// value.
func addressOf(c net.Conn) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}
