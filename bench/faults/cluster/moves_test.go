package cluster

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// moveFaults are the kinds in which an organization is moved to another shard.
var moveFaults = []kind{
	{"organization moved", nil, func(c *campaign, s *scene) { s.mend = c.move(s) }},
	{"organization moved, its leader killed", nil, func(c *campaign, s *scene) { c.killDuringMove(s, s.leader) }},
	{"organization moved, the other leader killed", nil, func(c *campaign, s *scene) {
		other, _ := c.roles(otherShard(s.tn))
		c.killDuringMove(s, other)
	}},
}

// maxKillDelay is how long after the beginning of a move a leader is killed at most. A move takes about as long.
const maxKillDelay = 400 * time.Millisecond

func otherShard(tn *tenant) int { return tn.shard()%shards + 1 }

// move begins to move an organization. The returned function waits until it has moved or stayed, and finds out where it is.
func (c *campaign) move(s *scene) (wait func()) {
	to, ended := otherShard(s.tn), make(chan error, 1)
	go func() { ended <- c.moveTenant(s.tn, c.node(s.follower), to) }()
	return func() {
		if err := <-ended; err != nil {
			c.t.Logf("organization %s was not moved to shard %d: %v", s.tn.org, to, err)
			c.count("move refused")
		} else {
			c.count("move")
		}
		c.locate(s.tn)
	}
}

// killDuringMove kills a node while an organization is being moved.
func (c *campaign) killDuringMove(s *scene, name string) {
	wait := c.move(s)
	<-time.After(time.Duration(s.random.Int64N(int64(maxKillDelay))))
	c.kill(name)
	s.began = time.Now()
	s.mend = func() {
		<-time.After(s.restart)
		c.start(name)
		wait()
	}
}

// moveTenant orders a move from a node, and waits until it has ended.
func (c *campaign) moveTenant(tn *tenant, n *node, to int) error {
	if err := c.ask(n, http.MethodPost, "/cluster/move", map[string]any{"organization": tn.org, "shard": to}, new(any)); err != nil {
		return err
	}
	for end := time.Now().Add(maxOutage); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		var st struct {
			Moves []struct {
				Organization string
				To           int
				State, Error string
			}
		}
		if err := c.ask(n, http.MethodGet, "/cluster", struct{}{}, &st); err != nil {
			continue // the node may be the one that was killed
		}
		state, reason := "", ""
		for _, m := range st.Moves {
			if m.Organization == tn.org && m.To == to {
				state, reason = m.State, m.Error
			}
		}
		switch state {
		case "moved":
			return nil
		case "failed":
			return fmt.Errorf("it has stayed: %s", reason)
		case "":
			return fmt.Errorf("the shard has another leader")
		}
	}
	return fmt.Errorf("the move has not ended after %v", maxOutage)
}

// locate finds out which shard has an organization.
func (c *campaign) locate(tn *tenant) {
	c.await("organization "+tn.org+" is served", func() bool {
		a := c.send(c.t.Context(), 0, http.MethodGet, "/api/v1/organizations/"+tn.org, "", "authorization", "Bearer "+c.token)
		shard, err := strconv.Atoi(a.header.Get("x-mizan-shard"))
		if a.status != http.StatusOK || err != nil {
			return false
		}
		tn.place.Store(int32(shard))
		return true
	})
}
