package cluster

import (
	"time"
)

func needsDisk(e equipment) error { return e.disk }

func needsClock(e equipment) error { return e.clock }

const (
	maxLeave   = 1 << 20                // bytes that a full disk has left at most
	minScarce  = 64 << 20               // bytes that a nearly full disk has left; a node refuses commands then
	maxScarce  = 128 << 20              // at most
	noticesIn  = 300 * time.Millisecond // how soon a node notices that its disk is nearly full
	maxSkew    = 5 * time.Minute
	minSkew    = time.Minute
	stopsFor   = 100 * time.Millisecond // how long a slow disk stops
	runsFor    = 20 * time.Millisecond  // how long it then works
	inEndTimes = 2 * time.Second        // how long a node gets to end after its disk is full
)

var diskFaults = []kind{
	{"leader's disk full", needsDisk, func(c *campaign, s *scene) { c.fillDisk(s, s.leader, 0, maxLeave) }},
	{"follower's disk full", needsDisk, func(c *campaign, s *scene) { c.fillDisk(s, s.follower, 0, maxLeave) }},
	{"leader's disk nearly full", needsDisk, func(c *campaign, s *scene) {
		c.fillDisk(s, s.leader, minScarce, maxScarce)
		<-time.After(noticesIn)
		s.isEnough = isNot(s.leader) // it hands its leads over
	}},
	{"leader's disk stops for 1 to 4 s", needsDisk, func(c *campaign, s *scene) { c.stopDisk(s, s.leader, s.lasts, 0) }},
	{"follower's disk stops for 1 to 4 s", needsDisk, func(c *campaign, s *scene) { c.stopDisk(s, s.follower, s.lasts, 0) }},
	{"leader's disk takes 100 ms for a write", needsDisk, func(c *campaign, s *scene) { c.stopDisk(s, s.leader, stopsFor, runsFor) }},
}

var clockFaults = []kind{
	{"leader's clock set by 1 to 5 minutes", needsClock, func(c *campaign, s *scene) { c.setClock(s) }},
	{"leader's clock set by 1 to 5 minutes, then leader killed", needsClock, func(c *campaign, s *scene) {
		c.setClock(s)
		<-time.After(s.restart) // it writes for a while by the wrong clock
		s.began = time.Now()
		c.killOne(s, s.leader)
		s.isEnough = isNot(s.leader)
	}},
}

// fillDisk fills a node's disk. The node may refuse commands, or end; then it is started again when the disk has space.
func (c *campaign) fillDisk(s *scene, name string, minLeave, maxLeave int64) {
	n := c.node(name)
	if err := n.disk.Fill(minLeave + s.random.Int64N(maxLeave-minLeave)); err != nil {
		c.t.Errorf("filling the disk of %s: %v", name, err)
	}
	s.mend = func() {
		<-time.After(s.lasts)
		if err := n.disk.Empty(); err != nil {
			c.t.Errorf("emptying the disk of %s: %v", name, err)
		}
		select {
		case <-n.current().ended:
			if exit := n.current().exit; exit != 1 {
				c.t.Errorf("node %s has ended with the exit code %d on a full disk; %s", name, exit, n.lastLines())
			}
			c.count("ended on a full disk")
			c.start(name)
		case <-time.After(inEndTimes):
			c.count("continued on a full disk")
		}
	}
}

// stopDisk lets a node's disk stop, again and again until the fault ends. If it never works in between, it stops once.
func (c *campaign) stopDisk(s *scene, name string, stops, works time.Duration) {
	disk, ended := c.node(name).disk, make(chan struct{})
	go func() {
		defer close(ended)
		for end := s.began.Add(s.lasts); time.Now().Before(end); <-time.After(works) {
			if err := disk.Freeze(); err != nil {
				c.t.Errorf("stopping the disk of %s: %v", name, err)
			}
			<-time.After(stops)
			if err := disk.Thaw(); err != nil {
				c.t.Errorf("the disk of %s: %v", name, err)
			}
		}
	}()
	s.mend = func() { <-ended }
}

// setClock sets the leader's clock forward or back. It stays so until it is set again.
func (c *campaign) setClock(s *scene) {
	skew := minSkew + time.Duration(s.random.Int64N(int64(maxSkew-minSkew)))
	if s.random.IntN(2) == 0 {
		skew = -skew
	}
	if err := c.node(s.leader).setClock(skew); err != nil {
		c.t.Errorf("setting the clock of %s: %v", s.leader, err)
	}
	s.mend = func() { <-time.After(s.lasts) }
}

// passTime sets the clocks of all nodes to a time that none of them has reached. A leader whose clock was ahead may have put work
// off to a time that is minutes ahead, and the next leader does it only then.
func (c *campaign) passTime() {
	if parts().clock != nil {
		return
	}
	for _, n := range c.all() {
		if err := n.setClock(maxSkew + time.Minute); err != nil {
			c.t.Errorf("setting the clock of %s: %v", n.name, err)
		}
	}
}
