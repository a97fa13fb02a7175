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
)

const (
	sample     = 32               // connections of which the one to close is chosen
	stalled    = 5 * time.Second  // for which a caller has to leave an answer unread before it may be closed
	logEvery   = 10 * time.Second // how often the log says that a bound is reached, or that accept fails
	relief     = 16               // connections that are closed when the process has no file handle left
	ipv6Prefix = 64               // bits of an IPv6 address that one caller is taken to have
)

// Options of a Gate.
type Options struct {
	Total      int            // connections at once, above zero
	PerAddress int            // connections at once from one address; 0: as many as in all
	Trusted    []netip.Prefix // proxies, which PerAddress does not bound
	Log        *slog.Logger
}

// Gate admits connections. Its methods may be used by any number of goroutines.
type Gate struct {
	trusted []netip.Prefix
	log     *slog.Logger
	crowded rate.Sometimes
	failing rate.Sometimes

	evicted, refused atomic.Uint64

	mu                sync.Mutex
	total, perAddress int                    // guarded by mu
	open              []*Conn                // guarded by mu
	from              map[netip.Addr][]*Conn // guarded by mu; no empty lists
}

// NewGate makes a gate without connections.
func NewGate(o Options) *Gate {
	g := &Gate{
		trusted: o.Trusted, log: o.Log, from: make(map[netip.Addr][]*Conn),
		crowded: rate.Sometimes{Interval: logEvery}, failing: rate.Sometimes{Interval: logEvery},
	}
	g.Bound(o.Total, o.PerAddress)
	return g
}

// Bound changes the bounds, as in Options. Connections above them are closed as far as
// they wait.
func (g *Gate) Bound(total, perAddress int) {
	if perAddress <= 0 {
		perAddress = total
	}
	g.mu.Lock()
	g.total, g.perAddress = max(total, 1), perAddress
	var victims []*Conn
	for over := len(g.open) - g.total; over > 0; over-- {
		v := g.evict(g.open)
		if v == nil {
			break
		}
		victims = append(victims, v)
	}
	g.mu.Unlock()
	finish(victims)
}

// Open is how many connections there are.
func (g *Gate) Open() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.open)
}

// Evicted is how many connections were closed to make room, Refused how many were
// closed at once.
func (g *Gate) Evicted() uint64 { return g.evicted.Load() }

// Refused is how many connections were closed as soon as they came.
func (g *Gate) Refused() uint64 { return g.refused.Load() }

// admit takes a connection in; nil: there is no room, and it was closed.
func (g *Gate) admit(raw net.Conn) *Conn {
	c := &Conn{Conn: raw, gate: g, address: addressOf(raw), at: -1}
	c.since.Store(time.Now().UnixNano())
	victims, ok := g.place(c)
	finish(victims)
	if len(victims) > 0 || !ok {
		g.crowded.Do(func() {
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

// place puts a connection among the open ones, and returns those that had to leave.
// The caller closes them.
func (g *Gate) place(c *Conn) (victims []*Conn, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !g.trusts(c.address) && len(g.from[c.address]) >= g.perAddress {
		v := g.evict(g.from[c.address])
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
	mine := g.from[c.address]
	c.at, c.atFrom = len(g.open), len(mine)
	g.open, g.from[c.address] = append(g.open, c), append(mine, c)
	return victims, true
}

// evict takes one of the connections out; nil: none that was looked at waits. The
// caller holds the lock, and closes it.
func (g *Gate) evict(of []*Conn) *Conn {
	now := time.Now()
	var best *Conn
	look := func(c *Conn) {
		if c.waits(now) && (best == nil || g.before(c, best)) {
			best = c
		}
	}
	if len(of) <= sample {
		for _, c := range of {
			look(c)
		}
	} else {
		for range sample {
			look(of[rand.IntN(len(of))])
		}
	}
	if best == nil || !best.claim(now) {
		return nil
	}
	g.remove(best)
	g.evicted.Add(1)
	return best
}

// before tells whether a should go before b.
func (g *Gate) before(a, b *Conn) bool {
	if a.known.Load() != b.known.Load() {
		return b.known.Load()
	}
	if x, y := len(g.from[a.address]), len(g.from[b.address]); x != y {
		return x > y
	}
	return a.since.Load() < b.since.Load()
}

// remove takes a connection out of the lists. The caller holds the lock.
func (g *Gate) remove(c *Conn) {
	if c.at < 0 {
		return
	}
	last := g.open[len(g.open)-1]
	g.open[c.at], last.at = last, c.at
	g.open[len(g.open)-1] = nil
	g.open = g.open[:len(g.open)-1]
	mine := g.from[c.address]
	last = mine[len(mine)-1]
	mine[c.atFrom], last.atFrom = last, c.atFrom
	mine[len(mine)-1] = nil
	if mine = mine[:len(mine)-1]; len(mine) == 0 {
		delete(g.from, c.address)
	} else {
		g.from[c.address] = mine
	}
	c.at = -1
}

// relieve closes some connections: the process has run out of handles.
func (g *Gate) relieve() {
	var victims []*Conn
	g.mu.Lock()
	for range relief {
		if v := g.evict(g.open); v != nil {
			victims = append(victims, v)
		}
	}
	g.mu.Unlock()
	finish(victims)
}

// finish closes connections; it returns when their handles are free.
func finish(victims []*Conn) {
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

// addressOf is whose connection it is counted as.
func addressOf(c net.Conn) netip.Addr {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	a := tcp.AddrPort().Addr().Unmap().WithZone("")
	if a.Is6() {
		if network, err := a.Prefix(ipv6Prefix); err == nil {
			return network.Addr()
		}
	}
	return a
}
