package simulation

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
)

// parkKind says at what a goroutine waits for the scheduler.
type parkKind uint8

const (
	parkDisk     parkKind = iota // before a sync of the log
	parkCall                     // before a call reaches the provider
	parkAnswer                   // before the provider's answer reaches the service
	parkDelivery                 // before a merchant's server answers a notification
	parkKinds
)

var parkNames = [parkKinds]string{"disk", "call", "answer", "delivery"}

// verdict tells how an operation that waited ends.
type verdict uint8

const (
	verdictGo            verdict = iota
	verdictFail                  // it fails and has no effect
	verdictFailPersisted         // it fails and has its effect nevertheless
	verdictTwice                 // its effect comes twice
	verdictDead                  // the machine is dead
)

var verdictNames = [...]string{"go", "fail", "fail but persist", "twice", "dead"}

// parked is a goroutine that waits for the scheduler.
type parked struct {
	kind   parkKind
	key    string // what it does, without anything random, so that it is the same in a replay
	number int    // how often this key was parked before
	resume chan verdict
}

func (p *parked) String() string { return fmt.Sprintf("%s %s #%d", parkNames[p.kind], p.key, p.number) }

// scheduler holds the goroutines that wait. The goroutine of the world resumes them one after the other.
type scheduler struct {
	seed uint64

	mu      sync.Mutex
	waiting []*parked
	counts  map[string]int
	pass    [parkKinds]float64 // probability that an operation goes on without waiting
	isDead  bool               // everything fails at once
	isCalm  bool               // everything goes on at once, and nothing fails
}

func newScheduler(seed uint64) *scheduler {
	return &scheduler{seed: seed, counts: make(map[string]int)}
}

// await waits until the scheduler resumes the calling goroutine. Whether it has to wait at all depends on the seed and its key alone, not
// on the order in which goroutines come.
func (s *scheduler) await(kind parkKind, key string) verdict {
	s.mu.Lock()
	if s.isDead || s.isCalm {
		defer s.mu.Unlock()
		if s.isDead {
			return verdictDead
		}
		return verdictGo
	}
	p := &parked{kind: kind, key: key, resume: make(chan verdict, 1)}
	counted := parkNames[kind] + key
	p.number = s.counts[counted]
	s.counts[counted]++
	if s.draw(p, "pass").Float64() < s.pass[kind] {
		s.mu.Unlock()
		return verdictGo
	}
	s.waiting = append(s.waiting, p)
	s.mu.Unlock()
	return <-p.resume
}

// draw returns the random numbers of one operation for one purpose.
func (s *scheduler) draw(p *parked, purpose string) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %d %s %d", purpose, p.kind, p.key, p.number) // it never fails
	return rand.New(rand.NewPCG(s.seed, binary.BigEndian.Uint64(h.Sum(nil))))
}

// list returns the waiting goroutines in an order that does not depend on when they came.
func (s *scheduler) list() []*parked {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.waiting, func(a, b *parked) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.key, b.key), cmp.Compare(a.number, b.number))
	})
	return slices.Clone(s.waiting)
}

// resume lets a waiting goroutine go on.
func (s *scheduler) resume(p *parked, v verdict) {
	s.mu.Lock()
	s.waiting = slices.DeleteFunc(s.waiting, func(w *parked) bool { return w == p })
	s.mu.Unlock()
	p.resume <- v
}

// kill resumes all with verdictDead, and so answers all that come later.
func (s *scheduler) kill() { s.releaseAll(true, verdictDead) }

// calm resumes all, and lets all that come later go on at once.
func (s *scheduler) calm() { s.releaseAll(false, verdictGo) }

func (s *scheduler) releaseAll(isDead bool, v verdict) {
	s.mu.Lock()
	s.isDead, s.isCalm = isDead, !isDead
	waiting := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	for _, p := range waiting {
		p.resume <- v
	}
}

// revive ends kill and calm.
func (s *scheduler) revive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isDead, s.isCalm = false, false
}

func (s *scheduler) setPass(kind parkKind, probability float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass[kind] = probability
}
