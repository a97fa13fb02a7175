package serving

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/testkit"
)

// sandboxedCluster is a cluster of three nodes with the two shards 1 and 2.
type sandboxedCluster struct{ *testkit.Cluster }

func startCluster(t *testing.T) *sandboxedCluster {
	t.Helper()
	return &sandboxedCluster{testkit.StartCluster(t, 3, 2)}
}

// pay sends a payment to a node, and returns the status of the answer; 0: there was none.
func (c *sandboxedCluster) pay(t *testing.T, node int) int {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, c.Nodes[node].BaseURL+"/api/v1/transactions", strings.NewReader(testkit.CardPayment(uuid.NewString())))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"content-type": "application/json", "x-api-key": c.Sandbox.APIKey, "x-organization-id": c.Sandbox.OrganizationID} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// figures returns the metrics of a node, by name and labels without the labels that Prometheus adds.
func (c *sandboxedCluster) figures(t *testing.T, node int) map[string]float64 {
	t.Helper()
	figures := make(map[string]float64)
	for line := range strings.Lines(metricsAt(t, c.Nodes[node].MetricsListen)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if number, err := strconv.ParseFloat(value, 64); err == nil && !strings.HasPrefix(line, "#") {
			figures[name] = number
		}
	}
	return figures
}

// leaderOf returns the index of the node that serves a shard.
func (c *sandboxedCluster) leaderOf(t *testing.T, shard int, running ...int) (leader int) {
	t.Helper()
	testkit.WaitUntil(t, fmt.Sprintf("exactly one node serves shard %d", shard), func() bool {
		serving := 0
		for _, i := range running {
			if c.figures(t, i)[fmt.Sprintf(`mizan_replica_serves{shard="%d"}`, shard)] == 1 {
				leader, serving = i, serving+1
			}
		}
		return serving == 1
	})
	return leader
}

// kill ends a node without a warning.
func (c *sandboxedCluster) kill(t *testing.T, node int) {
	t.Helper()
	if err := syscall.Kill(c.Nodes[node].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// The metrics of the nodes tell who leads, how far each replica is, what is forwarded, which nodes answer, and that a shard has no
// leader.
func TestMetricsOfACluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	all := []int{0, 1, 2}
	for shard := range 3 {
		c.leaderOf(t, shard, all...)
	}
	for i := range c.Nodes {
		testkit.WaitUntil(t, "a payment sent to "+c.Nodes[i].Name+" is charged", func() bool { return c.pay(t, i) == http.StatusCreated })
	}
	testkit.WaitUntil(t, "every replica knows the members", func() bool { // a node that started late gets them with a copy of the store
		for i := range c.Nodes {
			f := c.figures(t, i)
			for shard := range 3 {
				if f[fmt.Sprintf(`mizan_replica_members{shard="%d"}`, shard)] != 3 {
					return false
				}
			}
		}
		return true
	})
	forwards, commits := 0.0, make([]float64, 3)
	for i := range c.Nodes {
		f := c.figures(t, i)
		forwards += f[`mizan_forwarded_request_seconds_count{result="answered"}`]
		for shard := range 3 {
			label := fmt.Sprintf(`{shard="%d"}`, shard)
			if f["mizan_replica_members"+label] != 3 || f["mizan_replica_voters"+label] != 3 || f["mizan_replica_term"+label] < 1 || f["mizan_replica_leaders_total"+label] < 1 {
				t.Errorf("%s, shard %d: %v members, %v voters, term %v, %v leaders", c.Nodes[i].Name, shard,
					f["mizan_replica_members"+label], f["mizan_replica_voters"+label], f["mizan_replica_term"+label], f["mizan_replica_leaders_total"+label])
			}
			if silence, ok := f["mizan_replica_leader_silence_seconds"+label]; !ok || silence > 10 {
				t.Errorf("%s, shard %d: the leader spoke %v s ago, %v", c.Nodes[i].Name, shard, silence, ok)
			}
			commits[shard] += f["mizan_proposal_commit_seconds_count"+label]
		}
	}
	if forwards < 2 { // two of the three payments were not sent to the leader
		t.Errorf("%v requests were forwarded", forwards)
	}
	if commits[1]+commits[2] < 3 {
		t.Errorf("%v groups were committed", commits)
	}
	testkit.WaitUntil(t, "all replicas have applied the same entries", func() bool {
		first, second, third := c.figures(t, 0), c.figures(t, 1), c.figures(t, 2)
		for _, name := range []string{`mizan_replica_applied_index{shard="1"}`, `mizan_replica_last_group{shard="1"}`, `mizan_replica_committed_index{shard="1"}`} {
			if first[name] == 0 || first[name] != second[name] || first[name] != third[name] {
				return false
			}
		}
		return true
	})

	leads := c.leaderOf(t, 1, all...)
	rest := []int{(leads + 1) % 3, (leads + 2) % 3}
	before := c.figures(t, rest[0])
	c.kill(t, leads)
	c.leaderOf(t, 1, rest...)
	testkit.WaitUntil(t, "the other nodes report that "+c.Nodes[leads].Name+" does not answer", func() bool {
		return c.figures(t, rest[0])[`mizan_cluster_node_reachable{node="`+c.Nodes[leads].Name+`"}`] == 0 &&
			c.figures(t, rest[1])[`mizan_cluster_node_reachable{node="`+c.Nodes[rest[0]].Name+`"}`] == 1
	})
	const changes = `mizan_replica_leaders_total{shard="1"}`
	if after := c.figures(t, rest[0]); after[changes] <= before[changes] {
		t.Errorf("%v leaders before and %v after the leader was killed", before[changes], after[changes])
	}

	c.kill(t, rest[1])
	testkit.WaitUntil(t, "the last node serves no shard, and answers 503", func() bool {
		status, f := c.pay(t, rest[0]), c.figures(t, rest[0])
		served, refused := 0.0, 0.0
		for shard := range 3 {
			served += f[fmt.Sprintf(`mizan_replica_serves{shard="%d"}`, shard)]
			refused += f[fmt.Sprintf(`mizan_no_leader_responses_total{shard="%d"}`, shard)]
		}
		return status == http.StatusServiceUnavailable && served == 0 && refused > 0
	})
}
