package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"mizan/posting"
	"mizan/posting/log/raft"
)

// catchUpTime is how long a new leader may take to apply what is committed.
const catchUpTime = time.Minute

// Lead is the time during which the node leads a shard in one term of Raft.
type Lead struct {
	Engine Engine

	replica *replica
	journal *posting.Journal
	term    uint64
	begun   time.Time
	users   users // requests that use the engine
	dropped sync.Once
	failure atomic.Pointer[error] // why the journal has failed
}

// newLead opens the shard's journal and begins an engine. If the node has ceased to lead, isLost is true for the error.
func (r *replica) newLead() (*Lead, error) {
	l := &Lead{replica: r, term: r.shard.Replica.Term(), begun: time.Now()}
	o := r.node.options.Journal
	opened := make(chan struct{})
	o.Fatal = func(err error) {
		if !isLost(err) {
			r.node.fatal(err)
			return
		}
		l.failure.Store(&err)
		go func() {
			<-opened
			if l.journal != nil {
				l.drop() // so that whoever waits for the journal gets an answer
				r.noteFailure(l)
			}
		}()
	}
	var err error
	l.journal, err = r.shard.Lead(o, catchUpTime)
	close(opened)
	if err != nil {
		return nil, err
	}
	l.Engine, err = r.node.options.Start(l)
	if err == nil && r.shard.Replica.Term() == l.term && l.failure.Load() == nil {
		return l, nil
	}
	l.drop()
	if l.Engine != nil {
		l.Engine.Quit()
		l.Engine.Stop()
	}
	if cause := l.failure.Load(); cause != nil {
		return nil, *cause
	}
	if err == nil {
		err = raft.ErrNotLeader // Raft has another term than at the beginning
	}
	return nil, err
}

// Term returns the term of Raft to which the lead belongs.
func (l *Lead) Term() uint64 { return l.term }

// Shard returns the number of the shard.
func (l *Lead) Shard() int { return l.replica.number }

// DataDir returns the data directory of the shard's store.
func (l *Lead) DataDir() string { return l.replica.shard.DataDir() }

// Journal returns the shard's journal, for the time of the lead.
func (l *Lead) Journal() *posting.Journal { return l.journal }

// recentLead is for how long the proof that this node leads is enough for MayAct.
const recentLead = 2 * time.Second

// MayAct returns an error unless the node led the shard within the last two seconds. The engine asks before it does something
// that cannot be undone, such as a call to a provider. A process that was paused may go on as if no time had passed, although
// another node has taken over meanwhile. The new leader takes a call for one that never arrived only when the provider has denied
// twice to know it, the second time after EarlierCallsHaveEnded.
func (l *Lead) MayAct() error {
	if l.failure.Load() != nil || l.replica.shard.Replica.Term() != l.term {
		return raft.ErrNotLeader
	}
	if l.replica.shard.Replica.TimeSinceLeadProven() < recentLead {
		return nil
	}
	return l.Verify()
}

// EarlierCallsHaveEnded tells whether no call that an earlier leader has sent can still be under way, if a call ends after the given
// time. It goes by the time of this process, because the clocks of the leaders may differ.
func (l *Lead) EarlierCallsHaveEnded(timeout time.Duration) bool {
	return time.Since(l.begun) > recentLead+timeout
}

// Restart ends the engine, and begins another one if the node still leads the shard. It returns at once.
func (l *Lead) Restart() { go l.replica.noteFailure(l) }

// noteFailure tells the goroutine of watch that the journal of a lead has failed.
func (r *replica) noteFailure(l *Lead) {
	select {
	case r.failed <- l:
	case <-r.node.ended:
	}
}

// drop ends the journal, and answers whoever waits for it.
func (l *Lead) drop() { l.dropped.Do(l.journal.Drop) }

// Leave must be called when a request no longer uses the engine.
func (l *Lead) Leave() { l.users.remove() }

// users counts requests.
type users struct {
	mu    sync.Mutex
	count int
	none  chan struct{} // closed when count becomes 0; nil: nobody waits
}

func (u *users) add() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count++
}

func (u *users) remove() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count--; u.count == 0 && u.none != nil {
		close(u.none)
		u.none = nil
	}
}

// wait waits until the count is 0, or until ctx ends.
func (u *users) wait(ctx context.Context) {
	u.mu.Lock()
	none := u.none
	switch {
	case u.count == 0:
		u.mu.Unlock()
		return
	case none == nil:
		none = make(chan struct{})
		u.none = none
	}
	u.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
}

// Verify returns an error unless the node led the shard with this engine at some time after the call.
func (l *Lead) Verify() error {
	r := l.replica
	if err := r.verifier.verify(r.shard.Replica.Verify); err != nil {
		return err
	}
	if r.shard.Replica.Term() != l.term {
		return raft.ErrNotLeader
	}
	return nil
}

// verifier lets all requests that wait at the same time share one question to the other nodes.
type verifier struct {
	mu      sync.Mutex
	running bool
	next    *verification // what the next question answers; nil: nobody waits for it
}

type verification struct {
	done chan struct{}
	err  error
}

// verify calls ask once, on some goroutine, at some time after the call of verify began, and returns its result.
func (v *verifier) verify(ask func() error) error {
	v.mu.Lock()
	if v.next == nil {
		v.next = &verification{done: make(chan struct{})}
	}
	mine := v.next
	isFirst := !v.running
	v.running = true
	v.mu.Unlock()
	if isFirst {
		go v.run(ask)
	}
	<-mine.done
	return mine.err
}

func (v *verifier) run(ask func() error) {
	for {
		v.mu.Lock()
		current := v.next
		v.next = nil
		v.running = current != nil
		v.mu.Unlock()
		if current == nil {
			return
		}
		current.err = ask()
		close(current.done)
	}
}
