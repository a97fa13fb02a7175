package fair

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Errors of Enter.
var (
	// ErrCrowded refuses a caller whose own member or group has too many waiting.
	ErrCrowded = errors.New("fair: too many of the same caller")
	// ErrFull refuses a caller because too many others wait, none of whom has more
	// waiting than the caller's group would have.
	ErrFull = errors.New("fair: too many wait")
)

// Bounds are those of a gate, each above zero.
type Bounds struct {
	Inside  int // callers that have a place
	Waiting int // callers that wait; those that share their place may be more, by Inside
	Each    int // callers of one member, with a place or waiting
}

// Gate shares places among callers. It is safe for concurrent use.
type Gate[K comparable] struct {
	bounds Bounds

	mu      sync.Mutex
	inside  int             // guarded by mu
	waiting int             // guarded by mu
	served  uint64          // guarded by mu: orders turns and arrivals
	groups  map[K]*group[K] // guarded by mu: those with callers
}

// share is what a group or a member has of the gate.
type share struct {
	inside, waiting int
	served          uint64 // its last turn or, before the first, its arrival
}

// fewer orders shares by who is next.
func (s *share) fewer(o *share) int {
	return cmp.Or(cmp.Compare(s.inside, o.inside), cmp.Compare(s.served, o.served))
}

type group[K comparable] struct {
	share
	key     K
	members map[K]*member[K]
}

type member[K comparable] struct {
	share
	key   K
	group *group[K]
	queue []*waiter // the one that has waited longest first
}

// waiter is a caller that waits. Its result is nil once it has a place, or the reason why
// it gets none.
type waiter struct {
	result chan error // buffered: one
	again  bool       // it had a place before, so it is never refused
}

// New makes a gate.
func New[K comparable](b Bounds) *Gate[K] {
	return &Gate[K]{bounds: b, groups: make(map[K]*group[K])}
}

// Waiting is how many callers wait.
func (g *Gate[K]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

// Place is the right to work. It is one caller's, and not safe for concurrent use.
type Place[K comparable] struct {
	gate   *Gate[K]
	member *member[K]
	since  time.Time
}

// Enter waits for a place, which the caller has to Leave. The error is ErrCrowded,
// ErrFull, or ctx's.
func (g *Gate[K]) Enter(ctx context.Context, groupKey, memberKey K) (*Place[K], error) {
	g.mu.Lock()
	m := g.member(groupKey, memberKey)
	if err := g.admit(m); err != nil {
		g.forget(m)
		g.mu.Unlock()
		return nil, err
	}
	w := g.enqueue(m, false)
	g.grant()
	g.mu.Unlock()
	return g.wait(ctx, m, w)
}

// wait waits until a caller is told.
func (g *Gate[K]) wait(ctx context.Context, m *member[K], w *waiter) (*Place[K], error) {
	select {
	case err := <-w.result:
		if err != nil {
			return nil, err
		}
		return g.place(m), nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	at := slices.Index(m.queue, w)
	if at >= 0 {
		g.dequeue(m, at)
		g.forget(m)
	}
	g.mu.Unlock()
	if at < 0 { // told meanwhile
		if err := <-w.result; err == nil {
			g.place(m).Leave()
		}
	}
	return nil, ctx.Err()
}

func (g *Gate[K]) place(m *member[K]) *Place[K] {
	return &Place[K]{gate: g, member: m, since: time.Now()}
}

// Leave gives the place back.
func (p *Place[K]) Leave() {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.release(p.member)
	g.grant()
	g.forget(p.member)
}

// Share lets others work who have waited while the caller has had its place for so
// long: those whose turn it is before the caller's. It returns once it is the caller's
// turn again, with the time that this took. The error is ctx's; the place is lost then,
// and there is nothing to leave.
func (p *Place[K]) Share(ctx context.Context, slice time.Duration) (waited time.Duration, err error) {
	now := time.Now()
	if now.Sub(p.since) < slice {
		return 0, nil
	}
	p.since = now
	g := p.gate
	g.mu.Lock()
	if g.waiting == 0 {
		g.mu.Unlock()
		return 0, nil
	}
	w := g.enqueue(p.member, true)
	g.release(p.member)
	g.served++ // its turn has ended now: who came while it lasted is before it
	p.member.served, p.member.group.served = g.served, g.served
	g.grant()
	g.mu.Unlock()
	if _, err := g.wait(ctx, p.member, w); err != nil {
		return time.Since(now), err
	}
	p.since = time.Now()
	return p.since.Sub(now), nil
}

// admit tells whether a caller may wait, and makes room for it.
func (g *Gate[K]) admit(m *member[K]) error {
	if m.inside+m.waiting >= g.bounds.Each {
		return ErrCrowded
	}
	if g.waiting < g.bounds.Waiting {
		return nil
	}
	of := m.group
	for _, other := range g.groups {
		if other.waiting > max(of.waiting, m.group.waiting+1) {
			of = other
		}
	}
	most := m
	for _, other := range of.members {
		if other.waiting > most.waiting || most.group != of {
			most = other
		}
	}
	if of != m.group || most.waiting > m.waiting+1 {
		for at := len(most.queue) - 1; at >= 0; at-- {
			if w := most.queue[at]; !w.again {
				g.dequeue(most, at)
				w.result <- ErrCrowded
				g.forget(most)
				return nil
			}
		}
	}
	if m.group.waiting > 0 {
		return ErrCrowded
	}
	return ErrFull
}

// grant gives free places to those whose turn it is.
func (g *Gate[K]) grant() {
	for g.inside < g.bounds.Inside {
		var of *group[K]
		for _, other := range g.groups {
			if other.waiting > 0 && (of == nil || other.fewer(&of.share) < 0) {
				of = other
			}
		}
		if of == nil {
			return
		}
		var m *member[K]
		for _, other := range of.members {
			if other.waiting > 0 && (m == nil || other.fewer(&m.share) < 0) {
				m = other
			}
		}
		w := m.queue[0]
		g.dequeue(m, 0)
		g.served++
		g.inside++
		for _, s := range [...]*share{&m.share, &of.share} {
			s.inside, s.served = s.inside+1, g.served
		}
		w.result <- nil
	}
}

func (g *Gate[K]) release(m *member[K]) {
	g.inside--
	m.inside--
	m.group.inside--
}

func (g *Gate[K]) enqueue(m *member[K], again bool) *waiter {
	w := &waiter{result: make(chan error, 1), again: again}
	m.queue = append(m.queue, w)
	m.waiting++
	m.group.waiting++
	g.waiting++
	return w
}

func (g *Gate[K]) dequeue(m *member[K], at int) {
	g.waiting--
	m.queue = slices.Delete(m.queue, at, at+1)
	m.waiting--
	m.group.waiting--
}

// member finds a member, or begins it.
func (g *Gate[K]) member(groupKey, memberKey K) *member[K] {
	of := g.groups[groupKey]
	if of == nil {
		of = &group[K]{key: groupKey, members: make(map[K]*member[K])}
		g.served++ // behind all who are there
		of.served = g.served
		g.groups[groupKey] = of
	}
	m := of.members[memberKey]
	if m == nil {
		m = &member[K]{key: memberKey, group: of}
		g.served++
		m.served = g.served
		of.members[memberKey] = m
	}
	return m
}

// forget drops a member, and its group, that has no callers.
func (g *Gate[K]) forget(m *member[K]) {
	if m.inside+m.waiting == 0 {
		delete(m.group.members, m.key)
	}
	if m.group.inside+m.group.waiting == 0 {
		delete(g.groups, m.group.key)
	}
}
