package fair

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Errors of Gate.Enter and Semaphore.Enter.
var (
	// ErrCrowded means that the caller's own member or group has too many callers. Places.Enter returns ErrCrowded if the owner
	// already has its maximum number of places.
	ErrCrowded = errors.New("fair: too many of the same caller")
	// ErrFull means that the queue is full, and that no other group has more waiting callers than the caller's group would
	// have. Places.Enter returns ErrFull if all places are taken.
	ErrFull = errors.New("fair: too many wait")
)

// Bounds are the limits of a gate. Each limit must be above zero.
type Bounds struct {
	MaxInside  int // maximum number of callers that have a place
	MaxWaiting int // maximum number of callers that wait for a place, in Enter or in Yield
	PerMember  int // maximum number of callers of one member that have a place or wait
}

// Gate gives places (permissions to work) to callers in a fair order. It is safe for concurrent use.
type Gate[K comparable] struct {
	bounds Bounds

	mu      sync.Mutex
	inside  int             // guarded by mu: number of callers with a place
	waiting int             // guarded by mu: number of callers that wait for a place
	turns   uint64          // guarded by mu: counts places given, arrivals and calls of Yield, so that lastTurn orders them
	groups  map[K]*group[K] // guarded by mu: groups that have callers
}

// occupancy counts the callers of a group or of a member.
type occupancy struct {
	inside, waiting int    // number of callers with a place, and number of callers that wait
	lastTurn        uint64 // value of Gate.turns when the group or member last got or yielded a place; before its first place, when it arrived
}

// compare compares two groups, or two members of one group. The result is negative if u gets the next place before other.
func (o *occupancy) compare(other *occupancy) int {
	return cmp.Or(cmp.Compare(o.inside, other.inside), cmp.Compare(o.lastTurn, other.lastTurn))
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
	queue []*waiter // waiting callers, in the order in which they began to wait
}

// waiter is a caller that waits for a place. The channel result receives nil when the caller gets a place, or an error when the
// caller is refused.
type waiter struct {
	result     chan error // buffer of one
	isYielding bool       // the caller waits in Yield and so is never refused
}

// New returns a gate with the given bounds.
func New[K comparable](b Bounds) *Gate[K] {
	return &Gate[K]{bounds: b, groups: make(map[K]*group[K])}
}

// Waiting returns the number of callers that wait for a place.
func (g *Gate[K]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

// Place is the right to work. It belongs to one caller, and is not safe for concurrent use.
type Place[K comparable] struct {
	gate   *Gate[K]
	member *member[K]
	since  time.Time // when the caller got the place
}

// Enter waits for a place, which the caller must release with Leave. It returns ErrCrowded, ErrFull, or the error of ctx.
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

// wait waits until the waiter gets a place, is refused, or ctx ends.
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
	if at < 0 { // the caller got a place or was refused in the meantime
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

// Yield gives the place to a waiting caller, if there is one and the holder has had the place for at least the time slice. It
// then waits until the holder gets a place again, and returns how long it waited. If ctx ends first, Yield returns the error
// of ctx; the holder then has no place, and must not call Leave.
func (p *Place[K]) Yield(ctx context.Context, slice time.Duration) (waited time.Duration, err error) {
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
	g.turns++ // the holder's turn ends now, so callers that arrived during the turn go first
	p.member.lastTurn, p.member.group.lastTurn = g.turns, g.turns
	g.grant()
	g.mu.Unlock()
	if _, err := g.wait(ctx, p.member, w); err != nil {
		return time.Since(now), err
	}
	p.since = time.Now()
	return p.since.Sub(now), nil
}

// admit checks whether one more caller of the member may wait. If the queue is full, it may refuse a waiting caller to make
// room.
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
			if w := largestMember.queue[at]; !w.isYielding {
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

// grant gives the free places to waiting callers.
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

func (g *Gate[K]) enqueue(m *member[K], isYielding bool) *waiter {
	w := &waiter{result: make(chan error, 1), isYielding: isYielding}
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

// member returns the group's member with the key. It creates the group and the member if they are not known.
func (g *Gate[K]) member(groupKey, memberKey K) *member[K] {
	callersGroup := g.groups[groupKey]
	if callersGroup == nil {
		callersGroup = &group[K]{key: groupKey, members: make(map[K]*member[K])}
		g.turns++ // the new group's turn comes after the turns of all present groups and members
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

// forget removes the member if it has no callers, and its group if the group has no callers.
func (g *Gate[K]) forget(m *member[K]) {
	if m.inside+m.waiting == 0 {
		delete(m.group.members, m.key)
	}
	if m.group.inside+m.group.waiting == 0 {
		delete(g.groups, m.group.key)
	}
}
