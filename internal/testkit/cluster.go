package testkit

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Cluster is a cluster whose nodes `mizan cluster sandbox` runs.
type Cluster struct {
	Sandbox Sandbox // the URL is that of the first node
	Nodes   []ClusterNode
}

// ClusterNode is a node of a Cluster.
type ClusterNode struct {
	Name          string
	BaseURL       string `json:"base_url"`
	MetricsListen string `json:"metrics_listen"` // address of the metrics
	PID           int
}

// StartCluster starts a cluster with the given numbers of nodes and of shards of organizations, and waits until every shard has a
// leader. The cluster is stopped when the test ends.
func StartCluster(tb testing.TB, nodes, shards int) *Cluster {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "cluster")
	command := exec.Command(Binary(tb), "cluster", "sandbox", "--nodes", strconv.Itoa(nodes), "--shards", strconv.Itoa(shards), "--data", dir)
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil {
			tb.Errorf("the cluster ended with %v", err)
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		tb.Fatalf("the cluster printed %q, %v", line, err)
	}
	content, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
	if err != nil {
		tb.Fatal(err)
	}
	c := new(Cluster)
	for _, to := range []any{c, &c.Sandbox} {
		if err := json.Unmarshal(content, to); err != nil {
			tb.Fatal(err)
		}
	}
	return c
}
