package cluster

import (
	"math"
	"strings"
	"testing"
	"time"
)

// The expected rates are computed by hand from a leader that spends 150 µs and followers that spend 30 µs for a payment.
func TestModelIsBoundedByTheBusiestNode(t *testing.T) {
	m := Model{Leader: 150e-6, Follower: 30e-6}
	for name, c := range map[string]struct{ got, want float64 }{
		"one node leads all, 1 core":             {m.Rate(1, []float64{1, 0, 0}), 6666.67},
		"three nodes lead a third each, 1 core":  {m.EvenRate(1, 3), 14285.71},
		"three nodes, 4 cores":                   {m.EvenRate(4, 3), 57142.86},
		"nine nodes, 1 core":                     {m.EvenRate(1, 9), 23076.92},
		"one node leads a half, two a quarter":   {m.Rate(1, []float64{0.5, 0.25, 0.25}), 11111.11},
		"nodes without costs have no prediction": {(&Model{}).EvenRate(1, 3), 0},
	} {
		if math.Abs(c.got-c.want) > 0.01 {
			t.Errorf("%s: %.2f payments/s, want %.2f", name, c.got, c.want)
		}
	}
}

func TestFlagsOutOfBoundsAreRefused(t *testing.T) {
	valid := Config{Duration: time.Second, Timeout: time.Second, Connections: 8, Organizations: 4}
	if err := valid.Validate(); err != nil {
		t.Error(err)
	}
	for flag, change := range map[string]func(*Config){
		"--duration":      func(c *Config) { c.Duration = 0 },
		"--timeout":       func(c *Config) { c.Timeout = -1 },
		"--organizations": func(c *Config) { c.Organizations = 3 },
		"--connections":   func(c *Config) { c.Connections = 3 },
		"--cpus":          func(c *Config) { c.CPUs = 0.01 },
	} {
		c := valid
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// If one node leads all organizations, each node has one role; otherwise all are alike. The figures are for each payment.
func TestRolesOfNodes(t *testing.T) {
	used := []usage{{cpu: 4 * time.Second, written: 4096, syncs: 20}, {cpu: time.Second, syncs: 20}, {cpu: 3 * time.Second, syncs: 20}}
	oneLeader, several := []organization{{leader: 0}, {leader: 0}}, []organization{{leader: 0}, {leader: 2}}
	for name, c := range map[string]struct {
		got  []Role
		want []Role
	}{
		"one server":  {roles(used[:1], oneLeader, false, 10), []Role{{"server", 1, 0.4, 409.6, 2}}},
		"one leader":  {roles(used, oneLeader, false, 10), []Role{{"leader", 1, 0.4, 409.6, 2}, {"follower", 2, 0.2, 0, 2}}},
		"a forwarder": {roles(used, oneLeader, true, 10), []Role{{"leader", 1, 0.4, 409.6, 2}, {"forwarder", 1, 0.1, 0, 2}, {"follower", 1, 0.3, 0, 2}}},
		"all alike":   {roles(used, several, false, 8), []Role{{"node", 3, 1.0 / 3, 512.0 / 3, 2.5}}},
	} {
		if len(c.got) != len(c.want) {
			t.Errorf("%s: %v", name, c.got)
			continue
		}
		for i, want := range c.want {
			got := c.got[i]
			if got.Name != want.Name || got.Processes != want.Processes || math.Abs(got.CPU-want.CPU) > 1e-9 || math.Abs(got.Written-want.Written) > 1e-9 || got.Syncs != want.Syncs {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
	}
}

// The model takes the leader's and the followers' costs from the arrangement with one shard, and what forwarding adds to them.
func TestModelIsTakenFromOneShard(t *testing.T) {
	r := Report{Measurements: []Measurement{
		{Roles: []Role{{Name: "server", Processes: 1, CPU: 1}}},
		{Nodes: 3, Shards: 1, Roles: []Role{{Name: "leader", Processes: 1, CPU: 5}, {Name: "follower", Processes: 2, CPU: 2}}},
		{Nodes: 3, Shards: 1, Forwarded: true, Roles: []Role{{Name: "leader", Processes: 1, CPU: 5}, {Name: "forwarder", Processes: 1, CPU: 6}, {Name: "follower", Processes: 1, CPU: 2}}},
		{Nodes: 3, Shards: 4, Roles: []Role{{Name: "node", Processes: 3, CPU: 9}}},
	}}
	if m := r.model(); m != (Model{Leader: 5, Follower: 2, Forward: 4}) {
		t.Errorf("the model is %+v", m)
	}
}
