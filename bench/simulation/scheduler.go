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

// waitKind is a kind of operation before which a goroutine waits for the scheduler.
type waitKind uint8

const (
	waitDisk     waitKind = iota // before a sync of the log
	waitCall                     // before a call reaches the provider
	waitAnswer                   // before the provider's answer reaches the service
	waitDelivery                 // before a merchant's server answers a notification
	waitKinds
)

var waitNames = [waitKinds]string{"disk", "call", "answer", "delivery"}

// verdict is the scheduler's decision whether and how an operation fails.
type verdict uint8

const (
	verdictGo            verdict = iota
	verdictFail                  // the operation fails and has no effect
	verdictFailPersisted         // the operation has its effect, but an error is returned
	verdictTwice                 // the operation is carried out twice
	verdictDead                  // the machine has crashed
)

var verdictNames = [...]string{"go", "fail", "fail but persist", "twice", "dead"}

// waitingGoroutine is a goroutine that waits for the scheduler.
type waitingGoroutine struct {
	kind   waitKind
	key    string // name of the operation, without random parts such as ids, so that it is the same in a replay
	number int    // number of earlier operations with the same kind and key
	by     *scheduler
	resume chan verdict
}

func (p *waitingGoroutine) String() string {
	return fmt.Sprintf("%s %s #%d", waitNames[p.kind], p.key, p.number)
}

// scheduler holds the waiting goroutines. The world's goroutine resumes them one after the other.
type scheduler struct {
	seed uint64

	mu         sync.Mutex
	waiting    []*waitingGoroutine
	counts     map[string]int
	pass       [waitKinds]float64 // for each kind, the probability that an operation continues without waiting
	isDead     bool               // each operation gets verdictDead at once
	resumesAll bool               // each operation gets verdictGo at once
	failed     int                // syncs that have failed
}

func newScheduler(seed uint64) *scheduler {
	return &scheduler{seed: seed, counts: make(map[string]int)}
}

// await waits until the scheduler resumes the calling goroutine. Whether an operation waits at all depends only on the seed,
// the kind, the key and the number of earlier operations with the same kind and key. The order of operations with other keys
// does not matter, because it may differ in a replay.
func (s *scheduler) await(kind waitKind, key string) verdict {
	s.mu.Lock()
	if s.isDead || s.resumesAll {
		defer s.mu.Unlock()
		if s.isDead {
			return verdictDead
		}
		return verdictGo
	}
	p := &waitingGoroutine{by: s, kind: kind, key: key, resume: make(chan verdict, 1)}
	counted := waitNames[kind] + key
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

// draw returns a random generator for one decision about one operation. In a replay, the generator returns the same numbers.
func (s *scheduler) draw(p *waitingGoroutine, purpose string) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %d %s %d", purpose, p.kind, p.key, p.number) // writing to a hash never fails
	return rand.New(rand.NewPCG(s.seed, binary.BigEndian.Uint64(h.Sum(nil))))
}

// list returns the waiting goroutines, sorted by operation. So their order does not depend on when they began to wait.
func (s *scheduler) list() []*waitingGoroutine {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.waiting, func(a, b *waitingGoroutine) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.key, b.key), cmp.Compare(a.number, b.number))
	})
	return slices.Clone(s.waiting)
}

// resume lets a waiting goroutine continue with a verdict.
func (s *scheduler) resume(p *waitingGoroutine, v verdict) {
	s.mu.Lock()
	if p.kind == waitDisk && (v == verdictFail || v == verdictFailPersisted) {
		s.failed++
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(w *waitingGoroutine) bool { return w == p })
	s.mu.Unlock()
	p.resume <- v
}

// kill resumes all waiting goroutines with verdictDead. Later operations get verdictDead too, until revive is called.
func (s *scheduler) kill() { s.releaseAll(true, verdictDead) }

// resumeAll resumes all waiting goroutines with verdictGo. Later operations do not wait, until revive is called.
func (s *scheduler) resumeAll() { s.releaseAll(false, verdictGo) }

func (s *scheduler) releaseAll(isDead bool, v verdict) {
	s.mu.Lock()
	s.isDead, s.resumesAll = isDead, !isDead
	waiting := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	for _, p := range waiting {
		p.resume <- v
	}
}

// revive ends the effect of kill and calm, so that operations wait again.
func (s *scheduler) revive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isDead, s.resumesAll = false, false
}

func (s *scheduler) failedSyncs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// isKilled returns whether kill was called, so that the process is disconnected from the world.
func (s *scheduler) isKilled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isDead
}

func (s *scheduler) setPass(kind waitKind, probability float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass[kind] = probability
}
