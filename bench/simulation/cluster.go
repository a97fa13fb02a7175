package simulation

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"mizan/actors/provider/simulator"
)

// nodes is the number of nodes of a cluster.
const nodes = 3

// clusterWorld is a world whose service runs on several machines. See the package's documentation.
type clusterWorld struct {
	*world
	machines [nodes]*machine
	network  *network

	isSettled  bool           // the nodes have formed their group, so a store without files is a fault
	dying      sync.WaitGroup // goroutines of processes that have crashed
	copiesSent atomic.Int64   // copies of stores that were installed on another node

	leadsMu sync.Mutex
	leads   map[uint64]string // term → node that has acknowledged changes in it; guarded by leadsMu
}

func newClusterWorld(w *world) *clusterWorld {
	c := &clusterWorld{world: w, network: newNetwork(w.plan.Seed), leads: make(map[uint64]string)}
	w.cluster = c
	base := time.Until(startTime)
	w.leaping = &leapingClock{offset: base}
	w.setClock(w.leaping)
	random := rand.New(rand.NewPCG(w.plan.Seed, 2))
	for i := range c.machines {
		skew := time.Duration(0)
		if w.plan.Faults.Skew {
			skew = time.Duration(random.Int64N(int64(2*maxSkew))) - maxSkew
		}
		c.machines[i] = &machine{cluster: c, number: i, name: fmt.Sprintf("n%d", i+1), clock: &leapingClock{offset: base + skew}}
	}
	return c
}

// maxSkew is how much the clock of a machine may be fast or slow.
const maxSkew = 4 * time.Minute

func (c *clusterWorld) machineNamed(name string) *machine {
	return c.machines[slices.IndexFunc(c.machines[:], func(m *machine) bool { return m.name == name })]
}

// leap moves all clocks.
func (c *clusterWorld) leap(by time.Duration) {
	for _, m := range c.machines {
		m.clock.leap(by)
	}
}

// runRounds runs the rounds of the plan. If there is no violation, it compares the nodes and the model at the end.
func (c *clusterWorld) runRounds(from *ClusterImage) (err error) {
	for i, m := range c.machines {
		if err := errors.Join(os.MkdirAll(m.dir(), 0o700), copyFiles(from.dirs[i], m.dir())); err != nil {
			return err
		}
	}
	c.isSettled = true
	c.rail.inner, err = simulator.Open(simulator.Options{Path: filepath.Join(c.root, simulatorLog), Clock: c.leaping, BaseURL: baseURL, Key: make([]byte, simulator.KeySize)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.rail.inner.Close()) }()
	defer c.dying.Wait()
	for i, r := range c.plan.Rounds {
		if c.hasViolations() {
			break
		}
		c.round(i, r)
	}
	if !c.hasViolations() {
		c.checkWithoutFaults()
	}
	for _, m := range c.machines {
		if m.running() != nil {
			m.crash(Kill)
		}
	}
	c.collectAll()
	return nil
}

// round takes the steps of a round, and ends one or all of the processes. The processes of other machines go on.
func (c *clusterWorld) round(i int, r Round) {
	c.random = rand.New(rand.NewPCG(r.Seed, c.plan.Seed))
	c.traceDecision("round %d: %d steps, then %v", i, r.Steps, r.End)
	for _, m := range c.machines {
		if p := m.running(); p != nil {
			c.setPasses(p)
		} else if i == 0 || c.random.IntN(2) == 0 {
			m.start()
		}
	}
	for range r.Steps {
		synctest.Wait()
		c.collect()
		c.endFailed()
		if c.hasViolations() {
			return
		}
		if m := c.atFirstSync(); m != nil && c.random.IntN(8) == 0 {
			c.traceDecision("%s ends at a rare place", m.name)
			m.crash(r.End.ofCrash())
			continue
		}
		c.step()
	}
	synctest.Wait()
	c.endFailed()
	c.endSome(r.End)
}

// ofCrash returns how a process crashes in a round that may end with a stop.
func (e End) ofCrash() End {
	if e == Stop {
		return Kill
	}
	return e
}

// endSome ends the leader, or a random process, or all processes at once.
func (c *clusterWorld) endSome(end End) {
	var alive []*machine
	for _, m := range c.machines {
		if m.running() != nil {
			alive = append(alive, m)
		}
	}
	if len(alive) == 0 {
		return
	}
	m := alive[c.random.IntN(len(alive))]
	if l := c.leader(); l != nil && c.random.IntN(3) > 0 {
		m = l.machine
	}
	if end == Stop {
		if p := m.running(); p.hasStarted() {
			c.stop(p)
		}
		return
	}
	if c.random.IntN(8) > 0 {
		alive = []*machine{m}
	}
	for _, m := range alive {
		c.traceDecision("%s ends: %v", m.name, end)
		m.crash(end)
	}
}

// endFailed ends the processes that have failed, or could not start. A fault of the plan must be the cause.
func (c *clusterWorld) endFailed() {
	for _, m := range c.machines {
		p := m.running()
		if p == nil {
			continue
		}
		err := p.failure()
		select {
		case <-p.started:
			err = errors.Join(p.err, err)
		default:
		}
		if err == nil {
			continue
		}
		c.traceDecision("%s ends: %v", m.name, c.withoutRoot(err))
		if p.failedSyncs() == 0 && !p.wasFull {
			c.recordViolation("%s ends without a fault: %v", m.name, err)
		}
		m.crash(Kill)
	}
}

// stop stops a process in the way that an operator stops it.
func (c *clusterWorld) stop(p *process) {
	c.traceDecision("%s stops", p.machine.name)
	for _, m := range c.machines {
		m.frozen = 0
	}
	p.resumeAll()
	stopped := make(chan error, 1)
	go func() { stopped <- p.stop() }()
	for range 20_000 {
		synctest.Wait()
		select {
		case err := <-stopped:
			if err != nil && p.failure() == nil && p.failedSyncs() == 0 && !p.wasFull {
				c.recordViolation("%s does not stop well: %v", p.machine.name, err)
			}
			p.machine.unsynced = p.disk.takeUnsynced()
			p.machine.counts = p.takeCounts()
			p.machine.set(nil)
			return
		default:
		}
		if waiting := c.list(); len(waiting) > 0 {
			c.decide(waiting[c.random.IntN(len(waiting))])
		} else {
			time.Sleep(10 * time.Millisecond)
		}
	}
	c.recordViolation("%s does not stop", p.machine.name)
}

// list returns the waiting goroutines of all processes.
func (c *clusterWorld) list() (list []*waitingGoroutine) {
	for _, m := range c.machines {
		if p := m.running(); p != nil && m.frozen == 0 {
			list = append(list, p.list()...)
		}
	}
	return list
}

// atFirstSync returns a machine on which a file is about to be synced for the first time; nil if there is none.
func (c *clusterWorld) atFirstSync() *machine {
	for _, m := range c.machines {
		if p := m.running(); p != nil && slices.ContainsFunc(p.list(), func(p *waitingGoroutine) bool { return p.kind == waitDisk && p.number == 0 }) {
			return m
		}
	}
	return nil
}

// setPasses chooses at random how often operations of each kind wait in a process.
func (c *clusterWorld) setPasses(p *process) {
	for kind := range waitKinds {
		p.setPass(kind, []float64{0, 0.5, 0.9, 1}[c.random.IntN(4)])
	}
}

// leader returns the process that serves; nil if there is none.
func (c *clusterWorld) leader() *process {
	for _, m := range c.machines {
		if p := m.running(); p != nil && p.hasStarted() && p.cluster.Status()[0].Serves {
			return p
		}
	}
	return nil
}

// entry returns the process to which a client sends its next request: often the leader, else any; nil if none runs.
func (c *clusterWorld) entry() *node {
	for _, m := range c.machines {
		if p := m.running(); m.frozen > 0 && p != nil && p.hasStarted() && p.isAlive() && c.random.IntN(2) == 0 {
			return p.node
		}
	}
	if l := c.leader(); l != nil && c.random.IntN(2) == 0 {
		return l.node
	}
	var list []*node
	for _, m := range c.machines {
		if p := m.running(); p != nil && p.hasStarted() && p.isAlive() {
			list = append(list, p.node)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[c.random.IntN(len(list))]
}

// step carries out one random step.
func (c *clusterWorld) step() {
	for _, m := range c.machines {
		m.frozen = max(0, m.frozen-1)
	}
	waiting := c.list()
	roll := c.random.Float64()
	switch {
	case len(waiting) > 0 && (roll < 0.4 || c.inFlight >= maxInFlight):
		c.decide(waiting[c.random.IntN(len(waiting))])
	case roll < 0.6 && c.inFlight < maxInFlight:
		if n := c.entry(); n != nil {
			op := c.choose()
			if c.random.IntN(4) == 0 {
				op = &operation{name: "read the head", run: c.book.readHead}
			}
			if op != nil {
				c.beginAt(op, n)
			}
		}
	case roll < 0.64:
		c.startOne()
	case roll < 0.70:
		c.disturbNodes()
	default:
		c.pass([]time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond, time.Second, 3 * time.Second}[c.random.IntN(7)])
	}
}

// startOne starts a process on a machine without one.
func (c *clusterWorld) startOne() {
	m := c.machines[c.random.IntN(nodes)]
	if m.running() == nil {
		c.traceDecision("%s starts", m.name)
		m.start()
	}
}

// disturbNodes changes the network, a disk, the clocks or the lead.
func (c *clusterWorld) disturbNodes() {
	f := c.plan.Faults
	m := c.machines[c.random.IntN(nodes)]
	if l := c.leader(); l != nil && c.random.IntN(2) == 0 {
		m = l.machine
	}
	switch c.random.IntN(7) {
	case 6:
		if p := m.running(); f.Cuts && p != nil {
			m.frozen = 20 + c.random.IntN(60)
			p.setPass(waitDisk, 0)
			c.cutOff(m.number)
			c.traceDecision("%s is frozen and alone for %d steps", m.name, m.frozen)
		}
	case 0:
		if f.FullDisk {
			m.isFull = !m.isFull
			if p := m.running(); p != nil {
				p.disk.setFull(m.isFull)
				p.wasFull = true
			}
			c.traceDecision("the disk of %s is full: %v", m.name, m.isFull)
		}
	case 1:
		if f.Leaps {
			by := []time.Duration{-time.Hour, -time.Second, time.Second, 45 * time.Second, time.Hour, 20 * time.Hour}[c.random.IntN(6)]
			if c.inFlight > 0 || c.receivers.areBusy() {
				by = min(by, 45*time.Second)
			}
			c.traceDecision("the clocks leap by %v", by)
			c.leaping.leap(by)
			c.leap(by)
		}
	case 2:
		if p := m.running(); f.Transfers && p != nil && p.hasStarted() {
			to := append(m.others(), "", m.name)[c.random.IntN(nodes+1)]
			if to == m.name {
				c.traceDecision("%s takes the leader for dead", m.name)
				c.dying.Go(p.transport.standForElection)
			} else {
				c.traceDecision("%s is to hand the lead to %q", m.name, to)
				c.dying.Go(func() { p.transfer(to) })
			}
		}
	case 3:
		c.traceDecision("the network is whole")
		c.network.heal()
	default:
		c.disturbNetwork(m.number)
	}
}

// cutOff cuts the links between a machine and the others.
func (c *clusterWorld) cutOff(number int) {
	c.network.change(func(links *[nodes][nodes]link) {
		for i := range links {
			links[number][i].isCut, links[i][number].isCut = i != number, i != number
		}
	})
}

// disturbNetwork cuts or slows links of a machine.
func (c *clusterWorld) disturbNetwork(number int) {
	f := c.plan.Faults
	other := (number + 1 + c.random.IntN(nodes-1)) % nodes
	kind, delay := c.random.IntN(6), []time.Duration{50 * time.Millisecond, 400 * time.Millisecond, 4 * time.Second}[c.random.IntN(3)]
	switch {
	case kind < 3 && f.Cuts:
		c.network.change(func(links *[nodes][nodes]link) {
			switch kind {
			case 0: // one direction of one connection
				links[number][other].isCut = true
			case 1: // a machine alone
				for i := range links {
					links[number][i].isCut, links[i][number].isCut = i != number, i != number
				}
			case 2: // nobody hears the machine
				for i := range links {
					links[number][i].isCut = i != number
				}
			}
		})
		c.traceDecision("links of n%d are cut: %d, n%d", number+1, kind, other+1)
	case kind == 3 && f.Delays:
		c.network.change(func(links *[nodes][nodes]link) { links[number][other].delay = delay })
		c.traceDecision("messages from n%d to n%d take up to %v", number+1, other+1, delay)
	case kind == 4 && f.Delays: // a node that is paused
		c.network.change(func(links *[nodes][nodes]link) {
			for i := range links {
				links[i][number].delay, links[number][i].delay = delay, delay
			}
		})
		c.traceDecision("messages of n%d take up to %v", number+1, delay)
	case kind == 5 && f.Losses:
		c.network.change(func(links *[nodes][nodes]link) {
			for i := range links {
				links[i][number].loss, links[number][i].loss = 0.2, 0.2
				links[i][number].twice, links[number][i].twice = 0.2, 0.2
			}
		})
		c.traceDecision("messages of n%d are lost, or arrive twice", number+1)
	}
}

// noteAcknowledgement is called when a process acknowledges changes. Only one node may do so in a term.
func (c *clusterWorld) noteAcknowledgement(term uint64, p *process) {
	if !p.isAlive() {
		return
	}
	c.leadsMu.Lock()
	defer c.leadsMu.Unlock()
	name := p.machine.name
	if other, exists := c.leads[term]; exists && other != name {
		c.recordViolation("%s and %s have acknowledged changes in term %d", other, name, term)
	}
	c.leads[term] = name
}
