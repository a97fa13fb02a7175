package cluster

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

// TestSoakNodesJoinAndLeave adds a fourth node and removes the first one under load. Afterwards the cluster survives the loss of
// another of the first nodes, so the new node's confirmations count.
func TestSoakNodesJoinAndLeave(t *testing.T) {
	testseed.SoakTime(t)
	r := newReport()
	c := newCampaign(t, testseed.Seed(t), r)
	stop := c.load(c.seed)
	<-time.After(time.Second)
	c.join("n4")
	c.awaitWhole(nodes+1, 1000)
	removed := c.member("n1")
	testkit.MustRun(t, append([]string{"cluster", "remove-node", "n1"}, c.admin("n2")...)...)
	stop() // the clients of the first load also ask the removed node
	c.endNode(removed.Name, syscall.SIGTERM)
	added := c.member("n4")
	c.urls, c.names = append(c.urls[1:], added.BaseURL), append(c.names[1:], added.Name)
	c.awaitWhole(nodes, 1000)
	stop = c.load(c.seed + 1)
	c.inject(killLeader)
	c.awaitWhole(nodes, 1000)
	c.inject(pauseLeader)
	stop()
	c.judge()
	r.print(t)
}

// admin returns the flags of commands that ask a node as an operator.
func (s *sandbox) admin(node string) []string {
	m := s.member(node)
	return []string{"--url", m.BaseURL, "--token-file", m.TokenIn}
}

// join starts a new node with the settings of the first one, and adds it to the cluster.
func (s *sandbox) join(name string) {
	s.t.Helper()
	first := s.member("n1")
	testkit.MustRun(s.t, "cluster", "certificates", "--nodes", name, "--out", first.CertsDir)
	m := first
	m.Name, m.Data = name, filepath.Join(s.dir, name)
	listen, peer, metrics := freeAddress(s.t), freeAddress(s.t), freeAddress(s.t)
	m.BaseURL, m.Peer = "http://"+listen, peer
	content, err := os.ReadFile("/proc/" + strconv.Itoa(first.PID) + "/cmdline")
	if err != nil {
		s.t.Fatal(err)
	}
	arguments := strings.Split(strings.TrimSuffix(string(content), "\x00"), "\x00")
	for flag, value := range map[string]string{
		"--data": m.Data, "--listen": listen, "--base-url": m.BaseURL, "--metrics-listen": metrics, "--cluster-node": name, "--cluster-listen": peer,
	} {
		arguments[slices.Index(arguments, flag)+1] = value
	}
	arguments[slices.Index(arguments, "--cluster-peers")+1] += "," + name + "=" + peer
	out, err := os.Create(filepath.Join(s.dir, name+".log"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(s.program, arguments[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }()
	m.PID = cmd.Process.Pid
	s.t.Cleanup(func() { m.signal(syscall.SIGKILL) })
	s.added = append(s.added, m)
	s.await("node "+name+" serves", func() bool {
		answer, err := s.http.Get(m.BaseURL + "/livez")
		if err == nil {
			_ = answer.Body.Close()
		}
		return err == nil && answer.StatusCode == 200
	})
	testkit.MustRun(s.t, append([]string{"cluster", "add-node", name, peer}, s.admin("n1")...)...)
}

// freeAddress returns an address on the loopback interface on which nobody listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
