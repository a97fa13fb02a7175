package api

import (
	"cmp"
	"crypto/tls"
	"net"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"mizan/ledger"
	"mizan/posting"
)

// Bounds of aggregates: each may read every transaction of an organization, and
// what they take is taken from payments.
const (
	maxAggregates     = 2               // at once
	maxAggregateQueue = 32              // waiting until one of those ends
	aggregateWait     = 3 * time.Second // for a turn, unless Config says otherwise
	aggregateTime     = 20 * time.Second
	checkEvery        = 256 // rows or records between two looks at whether anybody still waits
)

// aggregates lets so many aggregates of a server run at once.
type aggregates struct {
	running, waiting chan struct{}
	wait             time.Duration
}

func newAggregates(wait time.Duration) *aggregates {
	return &aggregates{wait: cmp.Or(wait, aggregateWait), running: make(chan struct{}, maxAggregates), waiting: make(chan struct{}, maxAggregateQueue)}
}

// answer is GET /transactions/aggregate.
func (a *aggregates) answer(s *Server, c *call) error {
	now := s.cfg.Clock.Now()
	q := newAggregateQuery(c.RequestCtx, now)
	if err := q.problems.err(); err != nil {
		return err
	}
	if err := a.enter(c.RequestCtx); err != nil {
		return err
	}
	defer func() { <-a.running }()
	view := s.cfg.Journal.View()
	defer view.Close()
	sum := aggregate{
		walk:  walk{view: view, org: c.who.Org, of: q.listOf(c)},
		query: q, partner: c.who.Partner.Number, groups: make(map[group]*sums),
		patience: patience{ctx: c.RequestCtx, until: time.Now().Add(aggregateTime)},
	}
	if err := sum.run(); err != nil {
		return err
	}
	asOf, err := lastBooked(view, c.who.Org, now)
	if err != nil {
		return err
	}
	sum.write(c, asOf)
	return nil
}

// enter waits for its turn; whoever has got it takes one out of running at its end.
func (a *aggregates) enter(ctx *fasthttp.RequestCtx) error {
	select {
	case a.waiting <- struct{}{}:
	default:
		return unavailable("too many aggregates are under way")
	}
	defer func() { <-a.waiting }()
	timer := time.NewTimer(a.wait)
	defer timer.Stop()
	select {
	case a.running <- struct{}{}:
		return nil
	case <-ctx.Done():
		return unavailable("the service is stopping")
	case <-timer.C:
		return unavailable("too many aggregates are under way")
	}
}

func unavailable(why string) error {
	return ledger.Refuse("api.aggregate", ledger.Unavailable, "%s", why)
}

// lastBooked is the booked time of an organization's newest event; without one
// it is the time now.
func lastBooked(view *posting.View, org ledger.ID, now time.Time) (ledger.Micros, error) {
	seq, _, err := view.Head(org)
	if err != nil {
		return 0, err
	}
	e, _, found, err := view.Event(org, seq)
	if err != nil || !found {
		return ledger.MicrosOf(now), err
	}
	return e.Booked, nil
}

// run adds up what is asked for, by the cheaper way: the part of the partner's
// index that the times asked for leave, or all records of the organization.
func (a *aggregate) run() error {
	f := &a.query.transactionFilter
	a.span = f.started
	if f.started.from == 0 && f.updated.from > 0 {
		a.span, a.moved = f.updated, true
	}
	all, err := a.prefersAll()
	if err != nil {
		return err
	}
	if !all {
		return a.each(a.row)
	}
	return a.view.Records(a.org, ledger.Transaction, func(_ ledger.ID, stored posting.Record) (bool, error) {
		if err := a.patience.check(); err != nil {
			return false, err
		}
		return true, a.count(&stored)
	})
}

// A record that is searched by its id costs as much as so many that are read in
// the order of their keys (BenchmarkTransactions), and a payment has about so
// many events.
const (
	costOfSearch = 3
	usualEvents  = 5
)

// prefersAll tells whether to read all records rather than those of the index.
// It counts no more of these than it must.
func (a *aggregate) prefersAll() (bool, error) {
	events, _, err := a.view.Head(a.org)
	if err != nil {
		return false, err
	}
	enough := events / (usualEvents * costOfSearch)
	searches := uint64(0)
	err = a.each(func(row posting.Listed) (bool, error) {
		if a.moved || row.First {
			searches++
		}
		return searches <= enough, a.patience.check()
	})
	return searches > enough, err
}

// row counts in the transaction that a row of the index belongs to.
func (a *aggregate) row(row posting.Listed) (bool, error) {
	if err := a.patience.check(); err != nil {
		return false, err
	}
	if !a.moved && !row.First {
		return true, nil
	}
	stored, err := a.listed(row)
	if err != nil || a.moved && stored.Stamp.Updated != row.Booked {
		return true, err
	}
	return true, a.count(&stored)
}

// count adds a record if it is asked for.
func (a *aggregate) count(stored *posting.Record) error {
	f := &a.query.transactionFilter
	if !f.meets(&stored.Stamp) {
		return nil
	}
	record, err := transactionOf(stored)
	if err != nil || record.Partner != a.partner || record.Asset.Env != f.env || !f.wants(record) {
		return err
	}
	return a.take(record, &stored.Stamp)
}

// patience ends work that nobody waits for, and work that has no end.
type patience struct {
	ctx   *fasthttp.RequestCtx
	until time.Time
	n     int
}

// check looks, from time to time, whether to go on; the first time it does.
func (p *patience) check() error {
	if p.n++; p.n%checkEvery != 1 {
		return nil
	}
	select {
	case <-p.ctx.Done():
		return unavailable("the service is stopping")
	default:
	}
	if time.Now().After(p.until) {
		return unavailable("there is too much to add up: ask for a shorter time")
	}
	if hungUp(p.ctx.Conn()) {
		return unavailable("the caller has gone")
	}
	return nil
}

// hungUp tells whether the other end has closed the connection, also behind data
// that is not read yet (the farewell of TLS).
func hungUp(c net.Conn) (gone bool) {
	switch line := c.(type) {
	case *connection:
		c = line.Conn
	case *secureConnection:
		c = line.Conn
	}
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	socket, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	err = raw.Control(func(fd uintptr) {
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(polled, 0)
		gone = err == nil && n > 0
	})
	return gone || err != nil
}
