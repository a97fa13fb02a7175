package cluster

import (
	"slices"
	"time"

	"mizan/bench/faults/machines"
)

func needsNetwork(e equipment) error { return e.network }

// Bad ways between nodes. With the delays, a leader hears from its followers late, but before it gives up its lead.
const (
	minDelay = 10 * time.Millisecond
	maxDelay = 60 * time.Millisecond
	minLoss  = 0.02
	maxLoss  = 0.15
)

var networkFaults = []kind{
	{"minority with the leader cut off", needsNetwork, (*campaign).cutLeaderSide},
	{"minority without the leader cut off", needsNetwork, func(c *campaign, s *scene) {
		cutOff := s.followers[:len(s.followers)/2]
		c.cut(s, cutOff, c.except(cutOff), true)
	}},
	{"leader hears no node (one-way cut)", needsNetwork, func(c *campaign, s *scene) {
		c.cut(s, s.followers, []string{s.leader}, false)
		c.leaveFormer(s)
	}},
	{"no node hears the leader (one-way cut)", needsNetwork, func(c *campaign, s *scene) {
		c.cut(s, []string{s.leader}, s.followers, false)
		c.leaveFormer(s)
	}},
	{"follower hears no node (one-way cut)", needsNetwork, func(c *campaign, s *scene) {
		c.cut(s, c.except([]string{s.follower}), []string{s.follower}, false)
	}},
	{"no node hears a follower (one-way cut)", needsNetwork, func(c *campaign, s *scene) {
		c.cut(s, []string{s.follower}, c.except([]string{s.follower}), false)
	}},
	{"leader and a follower cut off from each other", needsNetwork, func(c *campaign, s *scene) {
		c.cut(s, []string{s.leader}, []string{s.follower}, true)
	}},
	{"packets delayed by 10 to 60 ms", needsNetwork, func(c *campaign, s *scene) {
		c.spoil(s, func() machines.Conditions {
			delay := minDelay + time.Duration(s.random.Int64N(int64(maxDelay-minDelay)))
			return machines.Conditions{Delay: delay, Jitter: delay / 4}
		})
	}},
	{"packets lost, 2 to 15 of 100", needsNetwork, func(c *campaign, s *scene) {
		c.spoil(s, func() machines.Conditions {
			return machines.Conditions{Loss: minLoss + s.random.Float64()*(maxLoss-minLoss)}
		})
	}},
}

// except returns the names of all nodes but some.
func (c *campaign) except(some []string) []string {
	return slices.DeleteFunc(slices.Clone(c.names), func(name string) bool { return slices.Contains(some, name) })
}

// cut cuts the ways from some nodes to others, and the ways back too if both is true. The cut lasts for a time after the shard has
// accepted a payment.
func (c *campaign) cut(s *scene, from, to []string, both bool) {
	for _, a := range from {
		for _, b := range to {
			c.cutWay(a, b)
			if both {
				c.cutWay(b, a)
			}
		}
	}
	s.mend = func() {
		<-time.After(s.lasts)
		c.mendNetwork()
	}
}

func (c *campaign) cutWay(from, to string) {
	if err := machines.Cut(c.node(from).host, c.node(to).host); err != nil {
		c.t.Errorf("cutting the way from %s to %s: %v", from, to, err)
	}
}

func (c *campaign) mendNetwork() {
	if err := c.network.Mend(); err != nil {
		c.t.Errorf("mending the network: %v", err)
	}
}

// cutLeaderSide cuts the leader off with as many others as a minority can have.
func (c *campaign) cutLeaderSide(s *scene) {
	cutOff := append([]string{s.leader}, s.followers[:(len(c.names)-1)/2-1]...)
	c.cut(s, cutOff, c.except(cutOff), true)
	c.leaveFormer(s)
	s.isEnough = func(node string) bool { return !slices.Contains(cutOff, node) }
}

// leaveFormer says that another node must lead while the leader is cut off. When one does, the former leader is asked for what is
// new, before the cut ends and while it ends.
func (c *campaign) leaveFormer(s *scene) {
	s.isEnough = isNot(s.leader)
	s.mend = func() {
		c.askFormer(s, func() {
			<-time.After(s.lasts)
			c.mendNetwork()
		})
	}
}

// spoil makes the ways between all nodes bad, each in its own degree.
func (c *campaign) spoil(s *scene, draw func() machines.Conditions) {
	for _, a := range c.all() {
		for _, b := range c.all() {
			if a != b {
				machines.SetWay(a.host, b.host, draw())
			}
		}
	}
	s.mend = func() {
		<-time.After(s.lasts)
		c.mendNetwork()
	}
}
