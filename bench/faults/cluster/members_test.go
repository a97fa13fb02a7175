package cluster

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	c := newCampaign(t, 3, testkit.Binary(t), testseed.Seed(t), r)
	stop := c.load(c.seed)
	<-time.After(time.Second)
	c.join("n4")
	c.awaitWhole(1000)
	stop() // the clients of the first load also ask the removed node
	c.remove("n1")
	c.know(c.all())
	c.awaitWhole(1000)
	stop = c.load(c.seed + 1)
	c.inject(c.kind(killLeader))
	c.awaitWhole(1000)
	c.inject(c.kind(pauseLeader))
	stop()
	c.judge()
	r.print(t)
}

// admin returns the flags of commands that ask a node as an operator.
func (f *fleet) admin(n *node) []string {
	return []string{"--url", n.baseURL(), "--token-file", f.path("token")}
}

// join starts a new node, and adds it to the cluster.
func (f *fleet) join(name string) {
	f.t.Helper()
	first := f.all()[0]
	testkit.MustRun(f.t, "cluster", "certificates", "--nodes", name, "--out", f.path("certificates"))
	n := f.makeNode(name)
	f.mu.Lock()
	f.nodes = append(f.nodes, n)
	f.mu.Unlock()
	if err := f.launch(n); err != nil {
		f.t.Fatal(err)
	}
	f.admit(n, first)
}

// admit adds a node that was just started to the cluster.
func (f *fleet) admit(n, other *node) {
	f.t.Helper()
	f.await("node "+n.name+" lives", func() bool {
		answer, err := f.http.Get(n.baseURL() + "/livez")
		if err == nil {
			_ = answer.Body.Close()
		}
		return err == nil && answer.StatusCode == 200
	})
	f.mustRun(other, append([]string{"cluster", "add-node", n.name, n.peer}, f.admin(other)...)...)
}

// replaceFollower ends a follower, removes it from the cluster, empties its data directory, and adds it again.
func (c *campaign) replaceFollower(s *scene) {
	n, leader := c.node(s.follower), c.node(s.leader)
	c.kill(s.follower)
	s.mend = func() {
		c.removeWhenOthersAnswer(leader, s.follower)
		if err := os.RemoveAll(n.data); err != nil {
			c.t.Fatal(err)
		}
		if err := c.launch(n); err != nil {
			c.t.Fatal(err)
		}
		c.admit(n, leader)
	}
}

// removeWhenOthersAnswer removes a node from the cluster. A node that is busy with the end of the previous fault may take longer to
// answer than the cluster waits; then the cluster refuses, and the operator tries again.
func (c *campaign) removeWhenOthersAnswer(leader *node, name string) {
	c.t.Helper()
	c.await("node "+name+" is removed", func() bool {
		err := c.fleet.run(leader, append([]string{"cluster", "remove-node", name}, c.admin(leader)...)...)
		switch {
		case err == nil:
			return true
		case !strings.Contains(err.Error(), "do not answer"):
			c.t.Fatal(err)
		}
		c.count("removal refused because nodes do not answer")
		return false
	})
}

// compactionTime is how long TestSoakReplacedNodeGetsACopy writes at most until Raft removes the beginning of its log, which it does
// after some thousand groups. On two busy cores that took five minutes.
const compactionTime = 15 * time.Minute

// TestSoakReplacedNodeGetsACopy replaces a node by an empty one after the beginning of Raft's log was removed, so that the new node
// needs a copy of the leader's store, while the leader writes.
func TestSoakReplacedNodeGetsACopy(t *testing.T) {
	testseed.SoakTime(t)
	r := newReport()
	c := newCampaign(t, 3, testkit.Binary(t), testseed.Seed(t), r)
	stop := c.load(c.seed)
	ctx, cancel := context.WithTimeout(t.Context(), compactionTime)
	defer cancel()
	var hurrying sync.WaitGroup
	isCompacted := func(n *node) bool {
		_, err := os.Stat(filepath.Join(n.data, "shards", "1", "raft", "SNAPSHOT"))
		return err == nil
	}
	areCompacted := func() bool {
		return !slices.ContainsFunc(c.all(), func(n *node) bool { return !isCompacted(n) })
	}
	for i := range 3 { // without a pause between requests
		random := rand.New(rand.NewPCG(c.seed, uint64(i)))
		hurrying.Go(func() {
			for node := 0; ctx.Err() == nil && !areCompacted(); node++ {
				c.create(c.add(c.tenants[0], random), node%len(c.urls), 0)
			}
		})
	}
	hurrying.Wait()
	if !areCompacted() {
		t.Fatalf("Raft has not removed the beginning of its log within %v", compactionTime)
	}
	for range 2 {
		c.inject(c.kind(replaceFollower))
		c.awaitWhole(1000)
		for _, n := range c.all() {
			if !isCompacted(n) {
				t.Errorf("node %s has got no copy of the store", n.name)
			}
		}
	}
	c.inject(c.kind(killLeader))
	stop()
	c.judge()
	r.print(t)
}

// remove removes a node from the cluster and ends it.
func (f *fleet) remove(name string) {
	f.t.Helper()
	other := f.others(name)[0]
	f.mustRun(other, append([]string{"cluster", "remove-node", name}, f.admin(other)...)...)
	f.endNode(name, syscall.SIGTERM)
	if disk := f.node(name).disk; disk != nil {
		if err := disk.Close(); err != nil {
			f.t.Errorf("the disk of %s: %v", name, err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes = slices.DeleteFunc(f.nodes, func(n *node) bool { return n.name == name })
}
