package raft

import (
	"fmt"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// Raft's VerifyLeader is not enough to show that no later leader exists: it counts every confirmation of a follower that arrives
// after the question, even if the follower answered a message from long before, for example because the network was slow or the
// process was paused; and it counts members without a vote. So the transport notes when each message that a follower has confirmed
// was sent, and Verify waits for confirmations of messages that were sent after the question.

// confirmation says that a follower has taken a message of a leader.
type confirmation struct {
	sent time.Time // when the message was sent, or a little earlier
	term uint64    // of the leader
	last uint64    // the follower has all entries up to this index; 0: the message was about none
}

// confirmations has the last confirmation of each follower.
type confirmations struct {
	mu      sync.Mutex
	last    map[hraft.ServerID]confirmation // guarded by mu
	changed chan struct{}                   // guarded by mu; closed when last changes; nil: nobody waits
}

func newConfirmations() *confirmations {
	return &confirmations{last: make(map[hraft.ServerID]confirmation)}
}

func (c *confirmations) note(id hraft.ServerID, n confirmation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.last[id]
	if old.term == n.term {
		n.last = max(n.last, old.last)
	}
	if !n.sent.After(old.sent) {
		if old.term == n.term {
			old.last = n.last
			c.last[id] = old
		}
		return
	}
	c.last[id] = n
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// furthest returns the server that has the most entries in a term, and whether it has all up to an index.
func (c *confirmations) furthest(servers []hraft.Server, term, index uint64) (furthest hraft.Server, hasAll bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := uint64(0)
	for _, s := range servers {
		if last := c.last[s.ID]; last.term == term && last.last > most {
			furthest, most = s, last.last
		}
	}
	return furthest, most > 0 && most >= index
}

// enough tells whether so many of the voters have confirmed a message of the term that was sent after an instant. If not, changed
// is closed when there may be more.
func (c *confirmations) enough(voters []hraft.ServerID, needed int, term uint64, after time.Time) (isEnough bool, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range voters {
		if last := c.last[id]; last.term == term && last.sent.After(after) {
			needed--
		}
	}
	if needed <= 0 {
		return true, nil
	}
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return false, c.changed
}

// verifyTime is how long Verify waits for a majority. Meanwhile it looks every lookInterval whether the replica still leads.
const (
	verifyTime   = 5 * time.Second
	lookInterval = 50 * time.Millisecond
)

// Verify returns an error unless a majority of the replicas confirms, after the call, that this replica leads the group. Until
// then another leader could have been elected without this replica's knowledge.
func (r *Replica) Verify() error {
	asked, term := time.Now(), r.raft.CurrentTerm()
	if err := r.raft.VerifyLeader().Error(); err != nil { // it also makes Raft send a message to each follower
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	timeout, looks := time.NewTimer(verifyTime), time.NewTicker(lookInterval)
	defer timeout.Stop()
	defer looks.Stop()
	for {
		others, needed, err := r.otherVoters()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNotLeader, err)
		}
		isEnough, changed := r.confirmations.enough(others, needed, term, asked)
		if isEnough {
			break
		}
		select {
		case <-changed:
		case <-looks.C:
		case <-r.closed:
			return ErrNotLeader
		case <-timeout.C:
			return fmt.Errorf("%w: no majority has confirmed it for %v", ErrNotLeader, verifyTime)
		}
		if r.raft.State() != hraft.Leader || r.raft.CurrentTerm() != term {
			return ErrNotLeader
		}
	}
	r.proven.Store(int64(asked.Sub(r.opened)))
	return nil
}

// otherVoters returns the members whose confirmations count, without this replica, and how many of them make a majority together
// with it.
func (r *Replica) otherVoters() (others []hraft.ServerID, needed int, err error) {
	future := r.raft.GetConfiguration()
	if err := future.Error(); err != nil {
		return nil, 0, err
	}
	voters, own := 0, 0
	for _, s := range future.Configuration().Servers {
		switch {
		case s.Suffrage != hraft.Voter:
			continue
		case s.ID == r.name:
			own = 1
		default:
			others = append(others, s.ID)
		}
		voters++
	}
	return others, voters/2 + 1 - own, nil
}
