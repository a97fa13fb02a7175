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
	// ErrCrowded refuses a caller if its own member or group has too many callers, or (Places) if its owner has as many places as
	// it may have.
	ErrCrowded = errors.New("fair: too many of the same caller")
	// ErrFull refuses a caller because the queue is full and no group has more waiting callers
	// than the caller's group would have, or because all places are taken.
	ErrFull = errors.New("fair: too many wait")
)

// Bounds are the bounds of a gate, each above zero.
type Bounds struct {
	MaxInside  int // maximum number of callers that have a place
	MaxWaiting int // maximum number of callers that wait, not counting those in Share, of which there are at most MaxInside
	PerMember  int // maximum number of callers of one member that have a place or wait
}

// Gate shares places among callers. It is safe for concurrent use.
type Gate[K comparable] struct {
	bounds Bounds

	mu      sync.Mutex
	inside  int             // guarded by mu: callers with a place
	waiting int             // guarded by mu
	turns   uint64          // guarded by mu: number of turns and arrivals so far
	groups  map[K]*group[K] // guarded by mu: groups that have callers
}

// occupancy is how a group or a member uses the gate.
type occupancy struct {
	inside, waiting int    // numbers of callers with a place, and of callers that wait
	lastTurn        uint64 // number of its last turn or, before its first turn, of its arrival
}

// compare orders groups, or members of a group: the one whose turn is next comes first.
func (u *occupancy) compare(other *occupancy) int {
	return cmp.Or(cmp.Compare(u.inside, other.inside), cmp.Compare(u.lastTurn, other.lastTurn))
}

type group[K comparable] struct {
	occupancy
	key     K
	members map[K]*member[K]
}

type member[K comparable] struct {
	occupancy
	key   K
	group *group[K]
	queue []*waiter // longest waiting first
}

// waiter is a caller that waits. Its result is nil once it has a place, or the reason why
// it gets none.
type waiter struct {
	result    chan error // buffer of one
	isSharing bool       // it is in Share, so it is never refused
}

// New returns a gate.
func New[K comparable](b Bounds) *Gate[K] {
	return &Gate[K]{bounds: b, groups: make(map[K]*group[K])}
}

// Waiting returns how many callers wait.
func (g *Gate[K]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

// Place is the right to work. It belongs to one caller, and is not safe for concurrent use.
type Place[K comparable] struct {
	gate   *Gate[K]
	member *member[K]
	since  time.Time // start of the caller's turn
}

// Enter waits for a place, which the caller must release with Leave. The error is ErrCrowded,
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

// wait waits for a caller's result.
func (g *Gate[K]) wait(ctx context.Context, m *member[K], w *waiter) (*Place[K], error) {
	select {
	case err := <-w.result:
		if err != nil {
			return nil, err
		}
		return g.newPlace(m), nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	at := slices.Index(m.queue, w)
	if at >= 0 {
		g.dequeue(m, at)
		g.forget(m)
	}
	g.mu.Unlock()
	if at < 0 { // the result was sent meanwhile
		if err := <-w.result; err == nil {
			g.newPlace(m).Leave()
		}
	}
	return nil, ctx.Err()
}

func (g *Gate[K]) newPlace(m *member[K]) *Place[K] {
	return &Place[K]{gate: g, member: m, since: time.Now()}
}

// Leave releases the place.
func (p *Place[K]) Leave() {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.release(p.member)
	g.grant()
	g.forget(p.member)
}

// Share lets waiting callers use the place if the caller has had it for at least the time slice. It returns
// when the caller's turn comes again, with the time that it waited. The error is ctx's; the place
// is then lost, and the caller must not call Leave.
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
	g.turns++ // its turn ends now, so that callers that came meanwhile go first
	p.member.lastTurn, p.member.group.lastTurn = g.turns, g.turns
	g.grant()
	g.mu.Unlock()
	if _, err := g.wait(ctx, p.member, w); err != nil {
		return time.Since(now), err
	}
	p.since = time.Now()
	return p.since.Sub(now), nil
}

// admit checks whether a caller may wait, and makes room for it.
func (g *Gate[K]) admit(m *member[K]) error {
	if m.inside+m.waiting >= g.bounds.PerMember {
		return ErrCrowded
	}
	if g.waiting < g.bounds.MaxWaiting {
		return nil
	}
	largestGroup := m.group
	for _, candidate := range g.groups {
		if candidate.waiting > max(largestGroup.waiting, m.group.waiting+1) {
			largestGroup = candidate
		}
	}
	largestMember := m
	for _, candidate := range largestGroup.members {
		if candidate.waiting > largestMember.waiting || largestMember.group != largestGroup {
			largestMember = candidate
		}
	}
	if largestGroup != m.group || largestMember.waiting > m.waiting+1 {
		for at := len(largestMember.queue) - 1; at >= 0; at-- {
			if w := largestMember.queue[at]; !w.isSharing {
				g.dequeue(largestMember, at)
				w.result <- ErrCrowded
				g.forget(largestMember)
				return nil
			}
		}
	}
	if m.group.waiting > 0 {
		return ErrCrowded
	}
	return ErrFull
}

// grant gives free places to the callers whose turn is next.
func (g *Gate[K]) grant() {
	for g.inside < g.bounds.MaxInside {
		var nextGroup *group[K]
		for _, candidate := range g.groups {
			if candidate.waiting > 0 && (nextGroup == nil || candidate.compare(&nextGroup.occupancy) < 0) {
				nextGroup = candidate
			}
		}
		if nextGroup == nil {
			return
		}
		var m *member[K]
		for _, candidate := range nextGroup.members {
			if candidate.waiting > 0 && (m == nil || candidate.compare(&m.occupancy) < 0) {
				m = candidate
			}
		}
		w := m.queue[0]
		g.dequeue(m, 0)
		g.turns++
		g.inside++
		for _, s := range [...]*occupancy{&m.occupancy, &nextGroup.occupancy} {
			s.inside, s.lastTurn = s.inside+1, g.turns
		}
		w.result <- nil
	}
}

func (g *Gate[K]) release(m *member[K]) {
	g.inside--
	m.inside--
	m.group.inside--
}

func (g *Gate[K]) enqueue(m *member[K], isSharing bool) *waiter {
	w := &waiter{result: make(chan error, 1), isSharing: isSharing}
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

// member returns a member, and adds it if it is new.
func (g *Gate[K]) member(groupKey, memberKey K) *member[K] {
	callersGroup := g.groups[groupKey]
	if callersGroup == nil {
		callersGroup = &group[K]{key: groupKey, members: make(map[K]*member[K])}
		g.turns++ // after all present groups and members
		callersGroup.lastTurn = g.turns
		g.groups[groupKey] = callersGroup
	}
	m := callersGroup.members[memberKey]
	if m == nil {
		m = &member[K]{key: memberKey, group: callersGroup}
		g.turns++
		m.lastTurn = g.turns
		callersGroup.members[memberKey] = m
	}
	return m
}

// forget removes a member that has no callers, and its group if that has none.
func (g *Gate[K]) forget(m *member[K]) {
	if m.inside+m.waiting == 0 {
		delete(m.group.members, m.key)
	}
	if m.group.inside+m.group.waiting == 0 {
		delete(g.groups, m.group.key)
	}
}
