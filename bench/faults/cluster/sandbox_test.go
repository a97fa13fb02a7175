package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mizan/internal/testkit"
)

// nodes and shards are the size of the clusters under test. The platform's shard is not counted.
const (
	nodes  = 3
	shards = 2
)

// Bounds of waiting.
const (
	readyTimeout = 2 * time.Minute
	stopTimeout  = time.Minute
	adminTimeout = 20 * time.Second // for one request about the cluster
)

// sandbox is a running cluster sandbox.
type sandbox struct {
	t       testing.TB
	dir     string
	program string
	output  string        // path of the file with the output of the sandbox's own process
	process *os.Process   // the sandbox's own process
	ended   chan struct{} // closed when that process has ended
	exit    int           // its exit code
	http    *http.Client
	added   []member // nodes that were added to those of cluster.json
}

// description is the content of cluster.json.
type description struct {
	AdminToken     string `json:"admin_token"`
	OrganizationID string `json:"organization_id"`
	PartnerID      int64  `json:"partner_id"`
	APIKey         string `json:"api_key"`
	Nodes          []member
}

type member struct {
	Name     string `json:"name"`
	BaseURL  string `json:"base_url"`
	PID      int    `json:"pid"`
	Data     string `json:"data"`
	Peer     string `json:"cluster_listen"`
	Keyring  string `json:"keyring"`
	TokenIn  string `json:"admin_token_file"`
	CertsDir string `json:"cluster_tls"`
}

// startSandbox starts a cluster and waits until it is ready. Its processes end with the test. If the test fails, the directory
// stays.
func startSandbox(t *testing.T) *sandbox {
	t.Helper()
	root, err := os.MkdirTemp("", "mizan-cluster-")
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{
		t: t, dir: filepath.Join(root, "cluster"), program: testkit.Binary(t), output: filepath.Join(root, "sandbox.log"),
		ended: make(chan struct{}), http: &http.Client{Transport: &http.Transport{}, Timeout: adminTimeout},
	}
	t.Cleanup(func() {
		s.end()
		if t.Failed() {
			t.Logf("what is left is in %s", root)
			return
		}
		_ = os.RemoveAll(root)
	})
	out, err := os.Create(s.output)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(s.program, "cluster", "sandbox", "--nodes", strconv.Itoa(nodes), "--shards", strconv.Itoa(shards), "--data", s.dir)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOGC=") })
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the kernel sends Pdeathsig when the thread that has started the child ends
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			s.exit = cmd.ProcessState.ExitCode()
		}
		close(s.ended)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	s.process = cmd.Process
	testkit.WaitUntil(t, "the cluster is ready", func() bool {
		select {
		case <-s.ended:
			t.Fatalf("the sandbox has ended: %s", s.said())
		default:
		}
		return strings.Contains(s.said(), "cluster ready")
	})
	return s
}

// said returns what the sandbox's own process has printed.
func (s *sandbox) said() string {
	content, _ := os.ReadFile(s.output)
	return string(content)
}

// describe reads cluster.json, which changes when a node is started again, and adds the nodes that were added since.
func (s *sandbox) describe() (d description) {
	content, err := os.ReadFile(filepath.Join(s.dir, "cluster.json"))
	if err == nil {
		err = json.Unmarshal(content, &d)
	}
	if err != nil {
		s.t.Errorf("cluster.json: %v", err)
	}
	d.Nodes = append(d.Nodes, s.added...)
	return d
}

// member returns what cluster.json says about a node.
func (s *sandbox) member(name string) member {
	for _, m := range s.describe().Nodes {
		if m.Name == name {
			return m
		}
	}
	s.t.Errorf("cluster.json has no node %q", name)
	return member{}
}

// runs tells whether a node's process runs.
func (m *member) runs() bool {
	arguments, err := os.ReadFile("/proc/" + strconv.Itoa(m.PID) + "/cmdline")
	return m.PID > 0 && err == nil && bytes.Contains(arguments, []byte("\x00"+m.Data+"\x00"))
}

// signal sends a signal to a node, if it runs.
func (m *member) signal(sig syscall.Signal) {
	if m.runs() {
		_ = syscall.Kill(m.PID, sig) // it may have ended meanwhile
	}
}

// signal sends a signal to a node.
func (s *sandbox) signal(name string, sig syscall.Signal) {
	m := s.member(name)
	m.signal(sig)
}

// pause pauses a node and waits until none of its threads runs.
func (s *sandbox) pause(name string) {
	m := s.member(name)
	m.signal(syscall.SIGSTOP)
	testkit.WaitUntil(s.t, "node "+name+" is paused", func() bool {
		content, err := os.ReadFile("/proc/" + strconv.Itoa(m.PID) + "/stat")
		return err != nil || bytes.Contains(content, []byte(") T "))
	})
}

// kill kills a node and waits until its process has ended.
func (s *sandbox) kill(name string) { s.endNode(name, syscall.SIGKILL) }

// endNode sends a signal to a node and waits until its process has ended.
func (s *sandbox) endNode(name string, sig syscall.Signal) {
	m := s.member(name)
	m.signal(sig)
	testkit.WaitUntil(s.t, "node "+name+" has ended", func() bool { return !m.runs() })
}

// start starts a node again. It returns when the node serves.
func (s *sandbox) start(name string) {
	if r := testkit.Run(s.t, nil, "cluster", "start", "--data", s.dir, "--node", name); r.Exit != 0 {
		s.t.Errorf("cluster start --node %s: exit %d: %s", name, r.Exit, r.Stderr)
	}
}

// stop stops the cluster in order, and returns the exit code of the sandbox's own process.
func (s *sandbox) stop() int {
	for i := range s.added {
		s.endNode(s.added[i].Name, syscall.SIGTERM)
	}
	_ = s.process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-s.ended:
	case <-time.After(stopTimeout):
		s.t.Errorf("the sandbox has not stopped within %v", stopTimeout)
		_ = s.process.Kill()
		<-s.ended
	}
	for _, m := range s.describe().Nodes {
		if m.runs() {
			s.t.Errorf("node %s still runs after the sandbox has ended", m.Name)
			m.signal(syscall.SIGKILL)
		}
	}
	return s.exit
}

// end ends everything that still runs.
func (s *sandbox) end() {
	s.http.CloseIdleConnections()
	if s.process == nil {
		return
	}
	for _, m := range s.describe().Nodes {
		m.signal(syscall.SIGCONT)
	}
	s.stop()
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
func (s *sandbox) ask(m *member, method, path string, body, into any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, m.BaseURL+"/api/v1"+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("authorization", "Bearer "+s.describe().AdminToken)
	request.Header.Set("content-type", "application/json")
	response, err := s.http.Do(request)
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
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s answered %d: %s", method, path, response.StatusCode, answer.Message)
	}
	return json.Unmarshal(answer.Data, into)
}

// status asks the nodes that run, one after the other, about the cluster.
func (s *sandbox) status() (st status, err error) {
	err = errors.New("no node runs")
	for _, m := range s.describe().Nodes {
		if !m.runs() {
			continue
		}
		if err = s.ask(&m, http.MethodGet, "/cluster", nil, &st); err == nil {
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
func (s *sandbox) await(condition string, holds func() bool) {
	s.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(readyTimeout); !holds(); <-tick.C {
		if time.Now().After(end) {
			s.t.Fatalf("%s: not within %v", condition, readyTimeout)
		}
	}
}

// awaitWhole waits until the cluster has this many nodes, all are well, and no replica lacks more groups than maxLag.
func (s *sandbox) awaitWhole(count int, maxLag uint64) (last status) {
	s.t.Helper()
	var err error
	s.t.Cleanup(func() {
		if s.t.Failed() && (err != nil || !last.isWhole(count)) {
			s.t.Logf("the last status of the cluster: %+v, %v", last, err)
		}
	})
	s.await("all nodes are well and have the same groups", func() bool {
		last, err = s.status()
		return err == nil && last.isWhole(count) && last.lag() <= maxLag
	})
	return last
}

// roles returns the leader of a shard and its followers, and waits until there is a leader.
func (s *sandbox) roles(shard int) (leader string, followers []string) {
	s.t.Helper()
	s.await(fmt.Sprintf("shard %d has a leader", shard), func() bool {
		st, err := s.status()
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
