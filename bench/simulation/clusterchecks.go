package simulation

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"testing/synctest"
	"time"

	directoryactor "mizan/actors/directory"
	"mizan/actors/provider/simulator"
	"mizan/internal/secret"
	"mizan/posting"
)

// healTime is how long the nodes may take to agree once all faults have ended.
const healTime = 5 * time.Minute

// checkWithoutFaults ends all faults and waits until all work is finished. Then it compares the service with the model, and the
// nodes with each other.
func (c *clusterWorld) checkWithoutFaults() {
	c.traceDecision("heal")
	c.random = mathrand.New(mathrand.NewPCG(c.plan.Seed, 1))
	c.plan.Faults = Faults{} // c.plan is a copy, so the caller's plan does not change
	c.network.heal()
	for _, m := range c.machines {
		m.isFull, m.frozen = false, 0
		if p := m.running(); p != nil {
			p.disk.setFull(false)
			p.resumeAll()
		}
	}
	if !c.agree() {
		return
	}
	l := c.leader()
	client := &client{c.world, l.node}
	c.finishWork(client)
	if c.hasViolations() {
		return
	}
	c.compareService(client)
	if c.hasViolations() || !c.agree() {
		return
	}
	c.collectAll()
	for _, m := range c.machines {
		m.crash(Kill)
	}
	c.crashCount -= nodes // this only ends the world
	c.compareReplicas()
	c.keyringDir = c.machines[0].dir()
	c.restoreBackups()
}

// agree starts the processes that do not run, and waits until one node serves and the others have everything that it has.
func (c *clusterWorld) agree() bool {
	for began := time.Now(); time.Since(began) < healTime; time.Sleep(100 * time.Millisecond) {
		synctest.Wait()
		c.collect()
		c.endFailed()
		for _, m := range c.machines {
			if m.running() == nil {
				m.start()
				m.running().resumeAll()
			}
		}
		if l := c.leader(); l != nil && c.haveAllOf(l) {
			return true
		}
		if c.hasViolations() {
			return false
		}
	}
	for _, m := range c.machines {
		if p := m.running(); p.hasStarted() {
			c.recordViolation("%s after five minutes without faults: %+v", m.name, p.cluster.Status())
		} else {
			c.recordViolation("%s after five minutes without faults: it has not started", m.name)
		}
	}
	return false
}

// haveAllOf returns whether all nodes have all groups of the leader.
func (c *clusterWorld) haveAllOf(l *process) bool {
	for _, m := range c.machines {
		if p := m.running(); !p.hasStarted() || p.cluster.Status()[0].LastGroup != l.cluster.Status()[0].LastGroup {
			return false
		}
	}
	return true
}

// compareReplicas opens the store of each node. The checker must find no fault, and the stores must have the same content.
func (c *clusterWorld) compareReplicas() {
	answers := c.answersFile()
	var digests [nodes][32]byte
	for i, m := range c.machines {
		err := c.whileOpen(m.dataDir(), func(j *posting.Journal) (err error) {
			digests[i], err = c.check(j, m.dataDir(), answers, nil)
			return err
		})
		if err != nil {
			c.recordViolation("the store of %s at the end: %v", m.name, err)
			return
		}
	}
	if digests[0] != digests[1] || digests[0] != digests[2] {
		c.recordViolation("the stores of the nodes differ: %x", digests)
	}
}

// ClusterImage has the files with which the worlds of several nodes begin: one folder for each node.
type ClusterImage struct {
	dirs    [nodes]string
	sandbox *directoryactor.Sandbox
	limit   string
	link    string
}

// NewClusterImage creates an image in a folder. It must be called within a bubble of testing/synctest.
func NewClusterImage(root string) (i *ClusterImage, err error) {
	w := newWorld(Plan{Nodes: nodes}, root, nil)
	c := newClusterWorld(w)
	w.random = mathrand.New(mathrand.NewPCG(0, 0))
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	keyring := filepath.Join(root, keyringFile)
	if _, err := secret.CreateKeyring(keyring, rand.Reader); err != nil {
		return nil, err
	}
	for _, m := range c.machines {
		if err := os.MkdirAll(m.dir(), 0o700); err != nil {
			return nil, err
		}
		if err := os.Link(keyring, filepath.Join(m.dir(), keyringFile)); err != nil {
			return nil, err
		}
	}
	w.rail.inner, err = simulator.Open(simulator.Options{Path: filepath.Join(root, simulatorLog), Clock: c.leaping, BaseURL: baseURL, Key: make([]byte, simulator.KeySize)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.rail.inner.Close()) }()
	defer c.dying.Wait()
	if !c.agree() {
		return nil, errors.New(w.violations[0])
	}
	l := c.leader()
	served, ok := l.cluster.Enter(0)
	if !ok {
		return nil, errors.New("the leader has no engine")
	}
	e := served.Engine.(*shardEngine)
	if w.sandbox, err = e.directory.Seed(context.Background(), directoryactor.SeedInput{}); err == nil {
		err = w.setUp(l.node)
	}
	e.runtime.Quiesce()
	if err == nil {
		err = fillMemtable(e.journal)
	}
	served.Leave()
	if err == nil && !c.agree() {
		err = errors.New(w.violations[0])
	}
	if err != nil {
		return nil, err
	}
	i = &ClusterImage{sandbox: w.sandbox, limit: w.limit, link: w.link}
	for number, m := range c.machines {
		m.crash(Kill) // the files are like after a kill
		i.dirs[number] = m.dir()
	}
	if len(w.violations) > 0 {
		return nil, errors.New(w.violations[0])
	}
	return i, nil
}
