package simulation

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// network is the network between the nodes of a cluster. Each pair of nodes has two links, one for each direction.
type network struct {
	seed uint64

	mu      sync.Mutex
	links   [nodes][nodes]link // guarded by mu; from the first to the second node
	changed chan struct{}      // guarded by mu; closed when a link changes
	counts  [nodes][nodes]int  // guarded by mu; messages so far
}

// link is one direction of the connection between two nodes.
type link struct {
	isCut bool          // messages wait until the link is whole again, or until their time is over
	delay time.Duration // a message takes up to this time
	loss  float64       // probability that a message is lost, or arrives after its sender gave up
	twice float64       // probability that a message arrives twice
}

// usualDelay is the longest time that a message takes while the network has no fault.
const usualDelay = 2 * time.Millisecond

func newNetwork(seed uint64) *network {
	n := &network{seed: seed, changed: make(chan struct{})}
	n.heal()
	return n
}

// change changes links, and wakes the messages that wait.
func (n *network) change(fn func(links *[nodes][nodes]link)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fn(&n.links)
	close(n.changed)
	n.changed = make(chan struct{})
}

// heal removes all faults.
func (n *network) heal() {
	n.change(func(links *[nodes][nodes]link) {
		for from := range links {
			for to := range links {
				links[from][to] = link{delay: usualDelay}
			}
		}
	})
}

// fate is what happens to a message.
type fate struct {
	delay           time.Duration
	isLost, isTwice bool
	doubled         time.Duration // when the second copy arrives, after the first
}

// draw decides what happens to the next message of a link. A replay decides the same for the same number of the message.
func (n *network) draw(from, to int) fate {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.links[from][to]
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, from, to, n.counts[from][to]) // writing to a hash never fails
	n.counts[from][to]++
	random := rand.New(rand.NewPCG(n.seed, binary.BigEndian.Uint64(h.Sum(nil))))
	return fate{
		delay: time.Duration(random.Int64N(int64(l.delay) + 1)), isLost: random.Float64() < l.loss, isTwice: random.Float64() < l.twice,
		doubled: time.Duration(random.Int64N(int64(3 * time.Second))),
	}
}

var errLost = errors.New("the simulated network has lost a message")

// await waits until the link is whole, or until the deadline.
func (n *network) await(from, to int, deadline time.Time) error {
	for {
		n.mu.Lock()
		isCut, changed := n.links[from][to].isCut, n.changed
		n.mu.Unlock()
		if !isCut {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(time.Until(deadline)):
			return errLost
		}
	}
}

// carry returns when a message has arrived. It takes the message's time, and returns an error if the message is lost.
func (n *network) carry(from, to int, deadline time.Time) (fate, error) {
	f := n.draw(from, to)
	if f.isLost {
		return f, errLost
	}
	time.Sleep(f.delay)
	return f, n.await(from, to, deadline)
}

// streamPatience is how long a stream of bytes waits at a link that is cut.
const streamPatience = 15 * time.Second

// stream is one end of a connection for forwarded requests.
type stream struct {
	net.Conn
	network  *network
	from, to int
}

// Write implements net.Conn.
func (s *stream) Write(b []byte) (int, error) {
	if _, err := s.network.carry(s.from, s.to, time.Now().Add(streamPatience)); err != nil {
		_ = s.Close()
		return 0, err
	}
	return s.Conn.Write(b)
}
