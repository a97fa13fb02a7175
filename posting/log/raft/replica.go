package raft

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	hraft "github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"

	"mizan/internal/assert"
	"mizan/posting/log"
)

// Errors of a replica.
var (
	// ErrNotLeader means that the replica does not lead its group, and that nothing was proposed.
	ErrNotLeader = errors.New("this node does not lead the shard")
	// ErrFenced means that the frame does not follow the last frame of the shard, because another leader has written since.
	// The frame has changed nothing and never will.
	ErrFenced = errors.New("another node has written to the shard since")
	// ErrUnknown means that it is unknown whether the frame is or will be committed.
	ErrUnknown = errors.New("the node has lost the lead of the shard while the group was under way")
)

// Bounds of a replica.
const (
	segmentSize    = 32 << 20 // bytes of a file of Raft's log
	maxInAppend    = 16       // entries that one request to a follower has at most
	maxTrailing    = 4_096    // entries that stay in Raft's log behind a snapshot, so that a node that was away for a short time needs no copy
	snapshotAfter  = 8_192    // entries after which the next snapshot is due
	snapshotEvery  = 30 * time.Second
	enqueueTimeout = 5 * time.Second

	// commitTimeout is how long a follower of an idle leader may wait to hear that a frame is committed. Raft sends a message to
	// each follower about as often, so a short time costs processor time even if nobody writes.
	commitTimeout = 50 * time.Millisecond
)

// Member is a replica of a group, by the name and the address of its node.
type Member struct{ Name, Address string }

// Transport carries Raft's messages between the replicas of a group. See Streams.
type Transport = hraft.Transport

// Options configure a replica.
type Options struct {
	Dir       string // directory with Raft's log and the last note; Open creates it
	Name      string // the node's name
	Transport Transport
	Machine   Machine
	Log       *slog.Logger

	// Members are the first members of a new group. They must be the same on every node. nil: another node adds this one.
	Members []Member

	// Heartbeat is the time without a message from the leader after which a follower seeks a new one; 0: 500 ms.
	Heartbeat time.Duration

	// Trailing is the number of entries that stay in Raft's log behind a snapshot; 0: 4,096. Tests choose a small one.
	Trailing uint64

	// Fatal is called once if the machine has failed. The replica applies no further frame, and must be closed.
	Fatal func(error)
}

// Replica is a node's member of a shard's Raft group.
type Replica struct {
	raft    *hraft.Raft
	files   *watchedFiles
	applier *applier
	opened  time.Time
	closed  chan struct{} // closed by Close

	lastTick     atomic.Int64  // when tick ran last, as UnixNano
	pauses       atomic.Uint64 // how often the process did not run for a while
	barrierAfter atomic.Uint64 // the value of pauses at the last barrier, or at the last question without a pause before

	proven  atomic.Int64 // see ProvenSince: time after opened, in nanoseconds
	changes chan bool    // from Raft, which must never wait for a reader
	leads   chan bool    // has the last change that nobody has received yet
	relayed chan struct{}
}

// Open opens the replica, and makes it if the directory is new.
func Open(o Options) (*Replica, error) {
	assert.That(o.Fatal != nil && o.Machine != nil && o.Transport != nil, "a replica needs a machine, a transport and Fatal")
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("raft: %w", err)
	}
	n, err := openNotes(o.Dir, o.Machine)
	if err != nil {
		return nil, err
	}
	logger := newLogger(o.Log)
	r := &Replica{
		opened: time.Now(), closed: make(chan struct{}), applier: &applier{machine: o.Machine, notes: n, fatal: o.Fatal},
		changes: make(chan bool), leads: make(chan bool, 1), relayed: make(chan struct{}),
	}
	opened, err := wal.Open(o.Dir, wal.WithSegmentSize(segmentSize), wal.WithLogger(logger))
	if err != nil {
		return nil, fmt.Errorf("raft: opening the log in %s: %w", o.Dir, err)
	}
	r.files = &watchedFiles{WAL: opened, applier: r.applier}
	if err := r.start(&o, logger, n); err != nil {
		return nil, errors.Join(err, r.files.Close())
	}
	r.lastTick.Store(time.Now().UnixNano())
	go r.relay()
	go r.tick()
	return r, nil
}

// Raft's VerifyLeader is not enough in two cases, in which Verify asks for a barrier, which a majority has to store. The first is
// that the process did not run for a while: messages that were sent before may be taken for confirmations. The second is that the
// group has a member without a vote, whose confirmation VerifyLeader counts.
const (
	tickInterval = 20 * time.Millisecond
	maxPause     = 150 * time.Millisecond // shorter than the time after which a new leader can be elected
	barrierTime  = 5 * time.Second
)

// tick notices when the process did not run for longer than maxPause.
func (r *Replica) tick() {
	ticks := time.NewTicker(tickInterval)
	defer ticks.Stop()
	for {
		select {
		case <-r.closed:
			return
		case <-ticks.C:
			now := time.Now().UnixNano()
			if last := r.lastTick.Swap(now); now-last > int64(maxPause) {
				r.pauses.Add(1)
			}
		}
	}
}

// hasNonvoter tells whether the group has a member whose confirmations do not count.
func (r *Replica) hasNonvoter() bool {
	future := r.raft.GetConfiguration()
	if future.Error() != nil {
		return true
	}
	for _, s := range future.Configuration().Servers {
		if s.Suffrage != hraft.Voter {
			return true
		}
	}
	return false
}

// relay hands the last change of the lead to whoever reads Leads.
func (r *Replica) relay() {
	defer close(r.relayed)
	for leads := range r.changes {
		select { // remove a change that nobody has received
		case <-r.leads:
		default:
		}
		r.leads <- leads
	}
}

func (r *Replica) start(o *Options, logger hclog.Logger, n *notes) error {
	c := hraft.DefaultConfig()
	c.LocalID = hraft.ServerID(o.Name)
	c.HeartbeatTimeout = o.Heartbeat
	if c.HeartbeatTimeout == 0 {
		c.HeartbeatTimeout = 500 * time.Millisecond
	}
	c.ElectionTimeout, c.LeaderLeaseTimeout = c.HeartbeatTimeout, c.HeartbeatTimeout/2
	c.CommitTimeout = commitTimeout
	c.MaxAppendEntries = maxInAppend
	c.TrailingLogs, c.SnapshotThreshold, c.SnapshotInterval = maxTrailing, snapshotAfter, snapshotEvery
	if o.Trailing != 0 {
		c.TrailingLogs = o.Trailing
	}
	c.NoSnapshotRestoreOnStart = true // the machine has its content
	c.NoLegacyTelemetry = true
	c.ShutdownOnRemove = false
	c.Logger, c.NotifyCh = logger, r.changes
	isKnown, err := hraft.HasExistingState(r.files, r.files, n)
	if err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	if last := o.Machine.Last(); !isKnown && last.N > 0 {
		return fmt.Errorf("raft: %s is empty, although the store has %d groups: Raft's files were lost, and the node could vote for a leader that lacks some of them", o.Dir, last.N)
	}
	if !isKnown && len(o.Members) > 0 {
		if err := hraft.BootstrapCluster(c, r.files, r.files, n, o.Transport, servers(o.Members)); err != nil {
			return fmt.Errorf("raft: forming the group: %w", err)
		}
	}
	if r.raft, err = hraft.NewRaft(c, r.applier, r.files, r.files, n, o.Transport); err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	return nil
}

func servers(members []Member) (c hraft.Configuration) {
	for _, m := range members {
		c.Servers = append(c.Servers, hraft.Server{ID: hraft.ServerID(m.Name), Address: hraft.ServerAddress(m.Address)})
	}
	return c
}

// newLogger returns a logger for Raft that writes to log. Raft reports elections at the level Info, and calls the loss of a
// connection an error; both are warnings here, because the group continues.
func newLogger(log *slog.Logger) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: "raft", Level: hclog.Warn, DisableTime: true, Output: slog.NewLogLogger(log.Handler(), slog.LevelWarn).Writer()})
}

// Propose makes the frame durable on a majority of the replicas, and returns when this replica's machine has applied it. The
// frame's payload may be used again afterwards. The error is ErrNotLeader, ErrFenced or ErrUnknown, or wraps an error of the
// machine.
func (r *Replica) Propose(f log.Frame) error {
	begun := time.Now()
	future := r.raft.Apply(encode(f), enqueueTimeout)
	switch err := future.Error(); {
	case err == nil:
	case errors.Is(err, hraft.ErrNotLeader), errors.Is(err, hraft.ErrEnqueueTimeout), errors.Is(err, hraft.ErrLeadershipTransferInProgress):
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	default:
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if err, isError := future.Response().(error); isError {
		return err
	}
	r.proven.Store(int64(begun.Sub(r.opened)))
	return nil
}

// ProvenSince returns how much time has passed since this replica certainly led the group: since it proposed the last frame that
// a majority has confirmed, or since the last successful Verify began.
func (r *Replica) ProvenSince() time.Duration {
	return time.Since(r.opened) - time.Duration(r.proven.Load())
}

// Leads gets a value whenever the replica begins (true) or ceases (false) to lead the group.
func (r *Replica) Leads() <-chan bool { return r.leads }

// CatchUp waits until the machine has applied everything that was committed before, and returns an error unless the replica
// then leads the group. A new leader calls it before it writes or reads.
func (r *Replica) CatchUp(timeout time.Duration) error {
	if err := r.raft.Barrier(timeout).Error(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	return nil
}

// Verify returns an error unless a majority of the replicas confirms, after the call, that this replica leads the group. Until
// then another leader could have been elected without this replica's knowledge.
func (r *Replica) Verify() error {
	begun := time.Now()
	ask := func() error { return r.raft.VerifyLeader().Error() }
	pauses := r.pauses.Load()
	if pauses != r.barrierAfter.Load() || begun.Sub(time.Unix(0, r.lastTick.Load())) > maxPause || r.hasNonvoter() {
		ask = func() error { return r.raft.Barrier(barrierTime).Error() }
	}
	if err := ask(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	r.barrierAfter.Store(pauses)
	r.proven.Store(int64(begun.Sub(r.opened)))
	return nil
}

// IsLeader tells whether the replica believes that it leads the group.
func (r *Replica) IsLeader() bool { return r.raft.State() == hraft.Leader }

// Term returns Raft's term.
func (r *Replica) Term() uint64 { return r.raft.CurrentTerm() }

// Leader returns the name and address of the node that leads the group; empty if none is known.
func (r *Replica) Leader() Member {
	address, name := r.raft.LeaderWithID()
	return Member{string(name), string(address)}
}

// Members returns the members of the group, whether their confirmations count or not.
func (r *Replica) Members() (members []Member, err error) {
	future := r.raft.GetConfiguration()
	if err := future.Error(); err != nil {
		return nil, fmt.Errorf("raft: %w", err)
	}
	for _, s := range future.Configuration().Servers {
		members = append(members, Member{string(s.ID), string(s.Address)})
	}
	return members, nil
}

// Add adds a node to the group, or gives a member another address. Only the leader can do so. The node must have opened its
// replica without Members. If isVoter is false, the node gets all frames, but its confirmation does not count; a node should be
// added in this way until it has caught up, because until then its confirmation would be missing.
func (r *Replica) Add(m Member, isVoter bool, timeout time.Duration) error {
	id, address := hraft.ServerID(m.Name), hraft.ServerAddress(m.Address)
	if isVoter {
		return r.changed(r.raft.AddVoter(id, address, 0, timeout).Error())
	}
	return r.changed(r.raft.AddNonvoter(id, address, 0, timeout).Error())
}

// Remove removes a node from the group. Only the leader can do so.
func (r *Replica) Remove(name string, timeout time.Duration) error {
	return r.changed(r.raft.RemoveServer(hraft.ServerID(name), 0, timeout).Error())
}

// Transfer makes another node the leader; an empty name: whichever member is furthest.
func (r *Replica) Transfer(to Member) error {
	if to.Name == "" {
		return r.changed(r.raft.LeadershipTransfer().Error())
	}
	return r.changed(r.raft.LeadershipTransferToServer(hraft.ServerID(to.Name), hraft.ServerAddress(to.Address)).Error())
}

func (r *Replica) changed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, hraft.ErrNotLeader):
		return ErrNotLeader
	}
	return fmt.Errorf("raft: %w", err)
}

// Snapshot notes that the machine has everything that was applied, and shortens Raft's log accordingly.
func (r *Replica) Snapshot() error {
	if err := r.raft.Snapshot().Error(); err != nil && !errors.Is(err, hraft.ErrNothingNewToSnapshot) {
		return fmt.Errorf("raft: %w", err)
	}
	return nil
}

// Progress tells how far the replica is.
type Progress struct {
	Term             uint64
	Last, Committed  uint64 // indexes of Raft's log
	Applied          uint64
	SinceLeaderSpoke time.Duration // 0 on the leader; negative if no leader was ever heard of
}

// Progress returns the present figures.
func (r *Replica) Progress() Progress {
	p := Progress{Term: r.raft.CurrentTerm(), Last: r.raft.LastIndex(), Committed: r.raft.CommitIndex(), Applied: r.raft.AppliedIndex()}
	if r.raft.State() != hraft.Leader {
		if p.SinceLeaderSpoke = -1; !r.raft.LastContact().IsZero() {
			p.SinceLeaderSpoke = time.Since(r.raft.LastContact())
		}
	}
	return p
}

// Close ends the replica. Other nodes elect a new leader if this one has led. The machine is not closed.
func (r *Replica) Close() error {
	close(r.closed)
	err := r.raft.Shutdown().Error()
	close(r.changes)
	<-r.relayed
	if closeErr := r.files.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	return nil
}
