package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"mizan/api"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/cluster"
	"mizan/posting/log/raft"
)

// machine is one of the machines of a cluster, with its disk and its clock.
type machine struct {
	cluster *clusterWorld
	number  int
	name    string
	clock   *leapingClock

	generation int
	unsynced   unsyncedChanges // changes of earlier processes that are not durable yet
	isFull     bool            // no file can be created
	counts     map[string]int  // see scheduler.counts
	frozen     int             // for so many steps none of its waiting goroutines continues

	mu      sync.Mutex
	process *process // nil while no process runs; guarded by mu
}

// process is one process of the service on a machine.
type process struct {
	*node
	machine   *machine
	transport *transport
	cluster   *cluster.Node // nil before it was opened
	front     *api.Front
	peers     *pipeListener          // for the requests that other nodes forward
	ended     chan struct{}          // closed when the process has crashed or stopped
	started   chan struct{}          // closed when the process has started, or could not
	err       error                  // why it could not start
	current   atomic.Pointer[engine] // the last engine
	wasFull   bool                   // the disk was full for a while

	connsMu sync.Mutex
	conns   []net.Conn // connections with other nodes; guarded by connsMu
}

func (m *machine) dir() string {
	return filepath.Join(m.cluster.root, fmt.Sprintf("%s-%d", m.name, m.generation))
}

// dataFolder is the data directory of a node's store, relative to the machine's folder.
const dataFolder = "shards/0/store"

func (m *machine) dataDir() string { return filepath.Join(m.dir(), dataFolder) }

// running returns the machine's process; nil if there is none.
func (m *machine) running() *process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process
}

func (m *machine) set(p *process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process = p
}

// isAlive returns whether the process can still send and receive.
func (p *process) isAlive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return p.failure() == nil
	}
}

// hasStarted returns whether the process serves.
func (p *process) hasStarted() bool {
	select {
	case <-p.started:
		return p.err == nil
	default:
		return false
	}
}

// start begins to start a process. It returns before the process has started.
func (m *machine) start() {
	c := m.cluster
	s := newScheduler(c.plan.Seed + uint64(m.number)<<32)
	if m.counts != nil {
		s.counts = m.counts
	}
	m.counts = s.counts
	p := &process{machine: m, ended: make(chan struct{}), started: make(chan struct{}), peers: newPipeListener(), wasFull: m.isFull}
	p.node = &node{scheduler: s, dir: m.dir(), clock: m.clock, disk: newMachineDisk(c.world, s, m.dir(), dataFolder, m.unsynced)}
	m.unsynced = unsyncedChanges{}
	p.disk.setFull(m.isFull)
	p.transport = newTransport(c, m, p)
	c.setPasses(p)
	isChecked := c.isSettled && c.random.IntN(3) == 0
	m.set(p)
	go func() {
		p.err = p.open(isChecked)
		close(p.started)
	}()
}

// heartbeat is the time after which a follower seeks a new leader.
const heartbeat = time.Second

// open opens the node's replica and begins to serve. It returns an error if a real process would refuse to start.
func (p *process) open(isChecked bool) (err error) {
	c, m := p.machine.cluster, p.machine
	log := slog.New(slog.DiscardHandler)
	if p.keyring, err = secret.LoadKeyring(filepath.Join(p.dir, keyringFile)); err != nil {
		return err
	}
	if isChecked {
		if err := c.checkReplica(p); err != nil {
			return err
		}
	}
	storeOptions := p.storeOptions(log)
	storeOptions.MustExist = c.isSettled
	var members []raft.Member
	for _, other := range c.machines {
		members = append(members, raft.Member{Name: other.name, Address: other.name})
	}
	p.front = api.NewFront(api.FrontConfig{
		Config: api.Config{Log: log, Clock: p.clock, Status: func() api.Status { return api.Status{Core: api.StatusOK, DB: api.StatusOK} }, Env: "sandbox", Domain: "mizan.example"},
		Node:   m.name, Others: m.others, Shards: shards{p}, CreateWait: createWait, MaxPeerConns: 64, Dial: p.dialPeer,
		NodeStatus: func() api.NodeStatus { return api.NodeStatus{Name: m.name} },
	})
	opened, err := cluster.Open(cluster.Options{
		Dir: p.dir, Name: m.name, Address: m.name, Members: members, Shards: 1, Transports: p.transport, Store: storeOptions, Keyring: p.keyring.Identity(),
		Journal: posting.Options{Clock: p.clock, Log: log, Queue: c.queue()}, Log: log, Start: p.startEngine, Fatal: p.fail,
		Tuning: raft.Tuning{Heartbeat: heartbeat, Trailing: 8, SnapshotAfter: 16, SnapshotEvery: 2 * time.Second, SegmentSize: 64 << 10, Files: raftFiles{p.disk}},
	})
	if err != nil {
		return err
	}
	p.cluster = opened
	p.serve(p.front.Server)
	go func() { _ = p.front.ServePeers(p.peers) }() // ends when the listener is closed
	return nil
}

func (m *machine) others() (names []string) {
	for _, other := range m.cluster.machines {
		if other != m {
			names = append(names, other.name)
		}
	}
	return names
}

// shardEngine serves the shard while the process leads it. It implements cluster.Engine.
type shardEngine struct {
	*engine
	process *process
	api     *api.Server
}

func (p *process) startEngine(l *cluster.Lead) (cluster.Engine, error) {
	c := p.machine.cluster
	log := slog.New(slog.DiscardHandler)
	c.book.disturb() // calls of the leader before are interrupted
	l.Journal().Stats.OnGroup = func(posting.DurableGroup) { c.noteAcknowledgement(l.Term(), p) }
	if err := c.linkProviderLog(l.DataDir()); err != nil {
		return nil, err
	}
	e := &shardEngine{process: p, engine: &engine{journal: l.Journal(), rail: &railLink{c.rail, p.scheduler}, mayCall: func(ledger.ID) error { return l.MayAct() }}}
	e.notFoundCounts = func(ledger.ID) bool { return l.EarlierCallsHaveEnded(providerTimeout) }
	p.current.Store(e.engine)
	if err := e.start(c.world, p.node, l.DataDir(), log); err != nil {
		e.stop(c.world, func() {})
		return nil, err
	}
	e.api = api.New(e.apiConfig(c.world, p.node, log))
	return e, nil
}

// Quit implements cluster.Engine.
func (e *shardEngine) Quit() {
	e.process.machine.cluster.book.disturb()
	e.api.Quit()
	e.runtime.Quit()
	e.runtime.CancelCalls()
}

// Stop implements cluster.Engine. Calls to merchants' servers fail, because an engine waits for them while it holds a lock.
func (e *shardEngine) Stop() {
	w := e.process.machine.cluster.world
	w.receivers.cut(e.engine)
	e.stop(w, func() {})
}

// shards makes the cluster's only shard serve as the platform's shard and as the shard of the organizations. It implements
// api.Shards.
type shards struct{ process *process }

// Count implements api.Shards.
func (s shards) Count() int { return 2 }

// ShardOf implements api.Shards.
func (s shards) ShardOf(ledger.ID) int { return 1 }

// Leader implements api.Shards.
func (s shards) Leader(int) string { return s.process.cluster.Leader(0) }

// Enter implements api.Shards.
func (s shards) Enter(int) (api.Lead, bool) {
	l, ok := s.process.cluster.Enter(0)
	return lead{l}, ok
}

// lead implements api.Lead.
type lead struct{ *cluster.Lead }

// Server implements api.Lead.
func (l lead) Server() *api.Server { return l.Engine.(*shardEngine).api }

// Mover, Locate and IsMoving implement api.Lead. With a single shard, no organization is ever moved.
func (l lead) Mover() api.Mover              { return nil }
func (l lead) Locate(ledger.ID) api.Location { return api.Location{Shard: 1} }
func (l lead) IsMoving() bool                { return false }

// dialTime is how long a connection to another node may take.
const dialTime = 2 * time.Second

// dialPeer connects to another node, for forwarded requests.
func (p *process) dialPeer(name string) (net.Conn, error) {
	n, from, to := p.machine.cluster.network, p.machine.number, p.machine.cluster.machineNamed(name)
	deadline := time.Now().Add(dialTime)
	if _, err := n.carry(from, to.number, deadline); err != nil {
		return nil, err
	}
	other := to.running()
	if !p.isAlive() || other == nil || !other.isAlive() || !other.hasStarted() {
		return nil, errRefused
	}
	a, b := net.Pipe()
	ours, theirs := &stream{Conn: a, network: n, from: from, to: to.number}, &stream{Conn: b, network: n, from: to.number, to: from}
	p.keep(ours)
	other.keep(theirs)
	select {
	case other.peers.conns <- theirs:
		return ours, nil
	case <-other.ended:
	case <-time.After(time.Until(deadline)):
	}
	_ = ours.Close()
	return nil, errRefused
}

// keep records a connection with another node, so that it is closed when the process ends.
func (p *process) keep(conn net.Conn) {
	p.connsMu.Lock()
	defer p.connsMu.Unlock()
	p.conns = append(p.conns, conn)
}

func (p *process) closeConns() {
	p.connsMu.Lock()
	defer p.connsMu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
}

// crash ends the machine's process, and copies the files for the next one. The goroutines of the process end while the world goes
// on.
func (m *machine) crash(end End) {
	c, p := m.cluster, m.running()
	c.crashCount++
	c.book.disturb()
	synctest.Wait()
	from := m.dir()
	m.generation++
	var err error
	if m.unsynced, err = c.copyMachine(end, p.disk, from, m.dir(), p.hasStarted()); err != nil {
		c.recordViolation("%s: the simulated crash: %v", m.name, err)
	}
	m.isFull = false
	m.set(nil)
	close(p.ended)
	p.cutClients()
	p.closeConns()
	c.receivers.cut(p.current.Load())
	p.disk.crash()
	m.counts, m.frozen = p.takeCounts(), 0
	p.kill()
	c.dying.Go(func() {
		<-p.started
		p.endDead()
		if err := os.RemoveAll(from); err != nil {
			c.recordViolation("%s: the simulated crash: %v", m.name, err)
		}
	})
}

// takeCounts returns a copy of the counts of operations, for the next process.
func (s *scheduler) takeCounts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[string]int, len(s.counts))
	for key, n := range s.counts {
		counts[key] = n
	}
	return counts
}

// endDead ends the goroutines of a process that has crashed.
func (p *process) endDead() {
	if p.cluster == nil {
		_ = p.transport.Close()
		return
	}
	_ = p.cluster.Close() // its error does not matter, because the next process has a copy of the disk
	p.cluster.Abandon()
	p.fail(errors.New("the machine has crashed"))
	p.stopServing(p.machine.cluster.world)
	_ = p.peers.Close()
}

// stop stops the process in the way that an operator stops it. Its files stay where they are.
func (p *process) stop() error {
	p.cluster.HandOver()
	p.stopServing(p.machine.cluster.world)
	err := p.cluster.Close()
	p.cluster.Abandon() // a store that can't be closed, for example because the disk is full
	close(p.ended)
	_ = p.peers.Close()
	p.closeConns()
	return err
}

// checkReplica runs the checker on the store of a process, before the node opens it. The store may lack the last groups, so it is
// not compared with the clients' answers.
func (c *clusterWorld) checkReplica(p *process) error {
	dir := p.machine.dataDir()
	o := p.storeOptions(slog.New(slog.DiscardHandler))
	o.Dir = dir
	return c.whileStoreOpen(o, func(j *posting.Journal) error {
		_, err := c.check(j, dir, "", nil)
		return err
	})
}

// transfer hands the lead to another node, if the process has it.
func (p *process) transfer(to string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = p.cluster.Transfer(ctx, 0, to) // it may fail for many reasons, none of which is a fault
}
