package main

import (
	"encoding/json"
	"os/exec"
	"testing"

	"mizan/bench/cluster"
	"mizan/internal/testkit"
)

// `mizan bench cluster` measures all arrangements with real processes: every payment is counted, every role has costs, and the
// model follows from them.
func TestBenchClusterMeasuresEveryRole(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a server and two clusters of three nodes, one after the other")
	}
	t.Parallel()
	command := exec.Command(testkit.Binary(t), "bench", "cluster", "--duration", "500ms", "--connections", "16", "--organizations", "4", "--json")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var r cluster.Report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(r.Measurements) != 5 {
		t.Fatalf("%d measurements: %s", len(r.Measurements), out)
	}
	for i, want := range [][]string{{"server"}, {"leader", "follower"}, {"leader", "forwarder", "follower"}, {"node"}, {"node"}} {
		m := &r.Measurements[i]
		if m.Payments == 0 || m.PerSecond <= 0 || m.P50 <= 0 || m.Simulator <= 0 || m.Generator <= 0 || len(m.Roles) != len(want) {
			t.Errorf("measurement %d: %+v", i, m)
			continue
		}
		for k, role := range m.Roles {
			if role.Name != want[k] || role.CPU <= 0 || role.Syncs <= 0 {
				t.Errorf("measurement %d: %+v, want the role %s", i, role, want[k])
			}
		}
	}
	if m := r.Model; m.Leader <= m.Follower || m.Follower <= 0 {
		t.Errorf("the model is %+v", m)
	}
}
