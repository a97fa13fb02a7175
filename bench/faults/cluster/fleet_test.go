package cluster

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mizan/bench/faults/machines"
	"mizan/internal/secret"
	"mizan/internal/testkit"
)

// shards is the number of shards of the clusters under test. The platform's shard is not counted.
const shards = 2

// Bounds of waiting.
const (
	readyTimeout = 2 * time.Minute
	stopTimeout  = time.Minute
	adminTimeout = 20 * time.Second // for one request about the cluster
)

// fleet is a running cluster, with the simulated provider.
type fleet struct {
	t          testing.TB
	dir        string
	program    string
	token      string // of the administration
	simulator  string // address of the simulated provider
	provider   *process
	http       *http.Client
	network    *machines.Network
	forwarders []net.Listener

	mu    sync.Mutex
	nodes []*node // guarded by mu: nodes join and leave
}

// startFleet starts a cluster of the given number of nodes and waits until it is ready. Its processes end with the test. If the
// test fails, the directory stays.
func startFleet(t *testing.T, size int, program string) *fleet {
	t.Helper()
	dir, err := os.MkdirTemp("", "mizan-cluster-")
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, dir: dir, program: program, simulator: freeAddress(t), network: new(machines.Network)}
	f.http = &http.Client{Transport: f.transport(), Timeout: adminTimeout}
	t.Cleanup(func() {
		f.end()
		if t.Failed() {
			t.Logf("what is left is in %s; if a node's files are in a disk, mount %s", dir, f.path("NODE.ext4"))
			return
		}
		_ = os.RemoveAll(dir)
	})
	for name, reason := range map[string]error{"network": parts().network, "disk": parts().disk, "clock": parts().clock} {
		if reason != nil {
			t.Logf("NOT TRIED: faults of the %s, because: %v", name, reason)
		}
	}
	testkit.MustRun(t, "keyring", f.path("keyring"))
	f.token = secret.NewToken("mza_", rand.Reader)
	if err := os.WriteFile(f.path("token"), []byte(f.token), 0o600); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range size {
		n := f.makeNode(fmt.Sprintf("n%d", i+1))
		f.nodes, names = append(f.nodes, n), append(names, n.name)
	}
	testkit.MustRun(t, "cluster", "certificates", "--nodes", strings.Join(names, ","), "--out", f.path("certificates"))
	f.provider, err = launch(nil, f.path("simulator.log"), (*exec.Cmd).Start, testkit.Binary(t),
		"simulator", "--data", f.path("simulator"), "--listen", f.simulator, "--keyring", f.path("keyring"), "--base-url", f.nodes[0].baseURL())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range f.nodes {
		if err := f.launch(n); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range f.nodes {
		if err := f.awaitServing(n); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func (f *fleet) path(name string) string { return filepath.Join(f.dir, name) }

// all returns the nodes, whether they run or not.
func (f *fleet) all() []*node {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.nodes)
}

// node returns the node with a name.
func (f *fleet) node(name string) *node {
	for _, n := range f.all() {
		if n.name == name {
			return n
		}
	}
	f.t.Errorf("there is no node %q", name)
	return new(node)
}

// others returns the nodes except one.
func (f *fleet) others(name string) []*node {
	return slices.DeleteFunc(f.all(), func(n *node) bool { return n.name == name })
}

// awaitServing waits until a node's process serves requests.
func (f *fleet) awaitServing(n *node) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(readyTimeout); ; <-tick.C {
		answer, err := f.http.Get(n.baseURL() + "/readyz")
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		if !n.runs() || time.Now().After(end) {
			return fmt.Errorf("node %s does not serve; %s", n.name, n.lastLines())
		}
	}
}

// signal sends a signal to a node.
func (f *fleet) signal(name string, sig syscall.Signal) { f.node(name).signal(sig) }

// pause pauses a node and waits until none of its threads runs.
func (f *fleet) pause(name string) {
	n := f.node(name)
	n.signal(syscall.SIGSTOP)
	testkit.WaitUntil(f.t, "node "+name+" is paused", func() bool {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.current().Pid))
		return err != nil || bytes.Contains(content, []byte(") T "))
	})
}

// kill kills a node and waits until its process has ended.
func (f *fleet) kill(name string) { f.endNode(name, syscall.SIGKILL) }

// endNode sends a signal to a node and waits until its process has ended.
func (f *fleet) endNode(name string, sig syscall.Signal) {
	n := f.node(name)
	n.signal(sig)
	f.awaitEnd(n)
}

// awaitEnd waits until a node that was told to end has ended. It kills the node if that takes too long.
func (f *fleet) awaitEnd(n *node) {
	select {
	case <-n.current().ended:
	case <-time.After(stopTimeout):
		n.signal(syscall.SIGQUIT) // it writes what all its goroutines do
		<-n.current().ended
		f.t.Errorf("node %s has not ended within %v; %s", n.name, stopTimeout, n.lastLines())
	}
}

// start starts a node again. It returns when the node serves.
func (f *fleet) start(name string) {
	n := f.node(name)
	err := f.launch(n)
	if err == nil {
		err = f.awaitServing(n)
	}
	if err != nil {
		f.t.Errorf("starting node %s: %v", name, err)
	}
}

// stop stops the nodes in order, and then the simulated provider.
func (f *fleet) stop() {
	f.stopNodes()
	f.stopProvider()
}

func (f *fleet) stopNodes() {
	running := slices.DeleteFunc(f.all(), func(n *node) bool { return !n.runs() })
	for _, n := range running {
		n.signal(syscall.SIGTERM)
	}
	for _, n := range running {
		f.awaitEnd(n)
		if exit := n.current().exit; exit != 0 {
			f.t.Errorf("node %s has stopped with the exit code %d; %s", n.name, exit, n.lastLines())
		}
	}
}

func (f *fleet) stopProvider() {
	if f.provider != nil && f.provider.runs() {
		_ = f.provider.Signal(syscall.SIGTERM) // it may have ended
		<-f.provider.ended
	}
}

// end ends everything that still runs.
func (f *fleet) end() {
	f.http.CloseIdleConnections()
	if err := f.network.Mend(); err != nil {
		f.t.Errorf("mending the network: %v", err)
	}
	for _, n := range f.all() {
		n.signal(syscall.SIGCONT)
		if n.disk != nil {
			_ = n.disk.Thaw() // Close reports it again
		}
	}
	f.stop()
	for _, l := range f.forwarders {
		_ = l.Close()
	}
	for _, n := range f.all() {
		if n.disk == nil {
			continue
		}
		if err := n.disk.Close(); err != nil {
			f.t.Errorf("the disk of %s: %v", n.name, err)
		}
	}
	if err := f.network.Close(); err != nil {
		f.t.Errorf("the network: %v", err)
	}
}

// status is the answer to GET /cluster.
type status struct {
	Nodes []struct {
		Name, State string
	}
	Shards []struct {
		Leader   *string
		Replicas []struct {
			Node         string
			Applied, Lag uint64
		}
	}
}

// ask sends an operator's request about the cluster to a node, and decodes the member data of the answer.
func (f *fleet) ask(n *node, method, path string, body, into any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, n.baseURL()+"/api/v1"+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("authorization", "Bearer "+f.token)
	request.Header.Set("content-type", "application/json")
	response, err := f.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Data    json.RawMessage
		Message string
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusAccepted {
		return fmt.Errorf("%s %s answered %d: %s", method, path, response.StatusCode, answer.Message)
	}
	return json.Unmarshal(answer.Data, into)
}

// status asks the nodes that run, one after the other, about the cluster.
func (f *fleet) status() (st status, err error) {
	err = errors.New("no node runs")
	for _, n := range f.all() {
		if !n.runs() {
			continue
		}
		if err = f.ask(n, http.MethodGet, "/cluster", nil, &st); err == nil {
			return st, nil
		}
	}
	return st, err
}

// isWhole tells whether all nodes are well and every shard has a leader.
func (st *status) isWhole(count int) bool {
	well := 0
	for _, n := range st.Nodes {
		if n.State == "ok" {
			well++
		}
	}
	for i := range st.Shards {
		if st.Shards[i].Leader == nil || len(st.Shards[i].Replicas) != count {
			return false
		}
	}
	return well == count && len(st.Nodes) == count && len(st.Shards) == shards+1
}

// lag returns the greatest number of groups that a replica lacks.
func (st *status) lag() (lag uint64) {
	for i := range st.Shards {
		for _, r := range st.Shards[i].Replicas {
			lag = max(lag, r.Lag)
		}
	}
	return lag
}

// await is like testkit.WaitUntil, but asks less often, because the nodes have to answer.
func (f *fleet) await(condition string, holds func() bool) {
	f.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(readyTimeout); !holds(); <-tick.C {
		if time.Now().After(end) {
			f.t.Fatalf("%s: not within %v", condition, readyTimeout)
		}
	}
}

// awaitWhole waits until all nodes are well, and no replica lacks more groups than maxLag. If a node has ended, the test fails.
func (f *fleet) awaitWhole(maxLag uint64) (last status) {
	f.t.Helper()
	var err error
	count := len(f.all())
	f.t.Cleanup(func() {
		if f.t.Failed() && (err != nil || !last.isWhole(count)) {
			f.t.Logf("the last status of the cluster: %+v, %v", last, err)
		}
	})
	f.await("all nodes are well and have the same groups", func() bool {
		for _, n := range f.all() {
			if !n.runs() {
				f.t.Fatalf("node %s has ended with the exit code %d; %s", n.name, n.current().exit, n.lastLines())
			}
		}
		last, err = f.status()
		return err == nil && last.isWhole(count) && last.lag() <= maxLag
	})
	return last
}

// roles returns the leader of a shard and its followers, and waits until there is a leader.
func (f *fleet) roles(shard int) (leader string, followers []string) {
	f.t.Helper()
	f.await(fmt.Sprintf("shard %d has a leader", shard), func() bool {
		st, err := f.status()
		if err != nil || len(st.Shards) <= shard || st.Shards[shard].Leader == nil {
			return false
		}
		leader, followers = *st.Shards[shard].Leader, nil
		for _, n := range st.Nodes {
			if n.Name != leader {
				followers = append(followers, n.Name)
			}
		}
		return true
	})
	return leader, followers
}
