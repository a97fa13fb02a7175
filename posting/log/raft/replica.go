package raft

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	hraft "github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"

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
	segmentSize    = 32 << 20 // bytes of a file of Raft's log, unless Tuning says otherwise
	maxInAppend    = 16       // entries that one request to a follower has at most
	maxTrailing    = 4_096    // entries that stay in Raft's log behind a snapshot, so that a node that was away for a short time needs no copy
	snapshotAfter  = 8_192    // entries after which the next snapshot is due
	snapshotEvery  = 30 * time.Second
	enqueueTimeout = 5 * time.Second

	// commitTimeout is how long a follower of an idle leader may wait to hear that a frame is committed. Raft sends a message to
	// each follower about as often, so a short time costs processor time even if nobody writes.
	commitTimeout = 50 * time.Millisecond

	// heartbeat decides how long a shard has no leader if a machine or its network has failed (if only the process has ended, see
	// stream.succeed). A follower notices after one to three times this time. If the first one to notice asks the others for their
	// votes too early, two more such times may pass.
	heartbeat = 300 * time.Millisecond
)

// Member is a replica of a group, by the name and the address of its node.
type Member struct{ Name, Address string }

// Transport carries Raft's messages between the replicas of a group. See Streams.
type Transport interface {
	hraft.Transport
	hraft.WithPreVote
}

// ClosingTransport is a Transport that must be closed after its replica.
type ClosingTransport interface {
	Transport
	hraft.WithClose
}

// Tuning has the figures of a replica that tests and simulations choose. The zero value is for production.
type Tuning struct {
	// Heartbeat is the time without a message from the leader after which a follower seeks a new one; 0: 300 ms.
	Heartbeat time.Duration

	// Trailing is the number of entries that stay in Raft's log behind a snapshot; 0: 4,096.
	Trailing uint64

	// SnapshotAfter is the number of entries after which the next snapshot is due; 0: 8,192. SnapshotEvery is how often a
	// replica looks whether one is due; 0: 30 s.
	SnapshotAfter uint64
	SnapshotEvery time.Duration

	// SegmentSize is the size of a file of Raft's log in bytes; 0: 32 MiB.
	SegmentSize int

	// Files has the files of Raft's log; nil: this machine's.
	Files types.VFS
}

// Options configure a replica.
type Options struct {
	Dir       string // directory with Raft's log and the last note; Open creates it
	Name      string // the node's name
	Transport Transport
	Machine   Machine
	Log       *slog.Logger

	// Members are the first members of a new group. They must be the same on every node.
	Members []Member

	// Joins says that the group exists already. A replica without files then waits until another node adds it. A replica whose
	// machine was restored from a backup is one of the first members, and does not wait.
	Joins bool

	Tuning Tuning

	// OnCommit, if set, is called for each frame that this replica has proposed and a majority has stored, with the time from the
	// proposal until this replica's machine began to apply it. The machine has applied the frame.
	OnCommit func(time.Duration)

	// Fatal is called once if the machine has failed. The replica applies no further frame, and must be closed.
	Fatal func(error)
}

// Replica is a node's member of a shard's Raft group.
type Replica struct {
	raft     *hraft.Raft
	files    *watchedFiles
	notes    *notes
	applier  *applier
	onCommit func(time.Duration)
	leaders  atomic.Uint64 // how often this replica has learned of a leader
	name     hraft.ServerID
	opened   time.Time
	closed   chan struct{} // closed by Close

	transport     *replicaTransport
	transfer      atomic.Pointer[chan struct{}] // closed when the transfer that is under way has ended; nil: none is
	isRenewing    atomic.Bool                   // whether renewNote is running
	confirmations *confirmations                // of followers
	proven        atomic.Int64                  // see TimeSinceLeadProven: time after opened, in nanoseconds
	changes       chan bool                     // from Raft, which must never wait for a reader
	leads         chan bool                     // has the last change that nobody has received yet
	relayed       chan struct{}
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
		onCommit: o.OnCommit, name: hraft.ServerID(o.Name), confirmations: newConfirmations(), opened: time.Now(), closed: make(chan struct{}), notes: n, applier: &applier{machine: o.Machine, notes: n, fatal: o.Fatal},
		changes: make(chan bool), leads: make(chan bool, 1), relayed: make(chan struct{}),
	}
	if r.files, err = openFiles(&o, logger, r.applier); err != nil {
		return nil, err
	}
	n.lastIndex = r.files.LastIndex
	if err := r.start(&o, logger); err != nil {
		return nil, errors.Join(err, r.files.Close())
	}
	go r.relayLeadChanges()
	return r, nil
}

// openFiles opens Raft's log.
func openFiles(o *Options, logger hclog.Logger, a *applier) (*watchedFiles, error) {
	size := cmp.Or(o.Tuning.SegmentSize, segmentSize)
	vfs := o.Tuning.Files
	if vfs == nil {
		vfs = fs.New()
	}
	filer := segment.NewFiler(o.Dir, vfs)
	err := syncSegments(o.Dir, vfs)
	if err == nil {
		err = mendTail(o.Dir, filer)
	}
	var opened *wal.WAL
	if err == nil {
		opened, err = wal.Open(o.Dir, wal.WithSegmentSize(size), wal.WithLogger(logger), wal.WithSegmentFiler(filer))
	}
	if err != nil {
		return nil, fmt.Errorf("raft: opening the log in %s: %w", o.Dir, err)
	}
	return newWatchedFiles(opened, a), nil
}

// configuration returns the members of the group; nil: they are not known.
func (r *Replica) configuration() []hraft.Server {
	future := r.raft.GetConfiguration()
	if future.Error() != nil {
		return nil
	}
	return future.Configuration().Servers
}

// relayLeadChanges passes the last change of the lead to whoever reads Leads.
func (r *Replica) relayLeadChanges() {
	defer close(r.relayed)
	for leads := range r.changes {
		select { // remove a change that nobody has received
		case <-r.leads:
		default:
		}
		r.leads <- leads
	}
}

func (r *Replica) start(o *Options, logger hclog.Logger) error {
	c := hraft.DefaultConfig()
	c.LocalID = hraft.ServerID(o.Name)
	t := &o.Tuning
	c.HeartbeatTimeout = cmp.Or(t.Heartbeat, heartbeat)
	c.ElectionTimeout, c.LeaderLeaseTimeout = c.HeartbeatTimeout, c.HeartbeatTimeout*4/5
	c.CommitTimeout = commitTimeout
	c.MaxAppendEntries = maxInAppend
	c.TrailingLogs, c.SnapshotThreshold, c.SnapshotInterval = cmp.Or(t.Trailing, maxTrailing), cmp.Or(t.SnapshotAfter, snapshotAfter), cmp.Or(t.SnapshotEvery, snapshotEvery)
	c.NoSnapshotRestoreOnStart = true // the machine has its content
	c.NoLegacyTelemetry = true
	c.ShutdownOnRemove = false
	c.Logger, c.NotifyCh = logger, r.changes
	if err := r.form(o); err != nil {
		return err
	}
	if err := r.removeSuperseded(); err != nil {
		return err
	}
	if err := r.checkLog(); err != nil {
		return err
	}
	var err error
	r.transport = &replicaTransport{o.Transport, r.confirmations, r.applier, r.closed}
	if r.raft, err = hraft.NewRaft(c, r.applier, r.files, r.files, r.notes, r.transport); err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	r.notes.mu.Lock()
	r.notes.renew = func() { go r.renewNote() }
	r.notes.mu.Unlock()
	if t, ok := o.Transport.(*ShardTransport); ok {
		t.layer.replica.Store(r)
	}
	r.raft.RegisterObserver(hraft.NewObserver(nil, false, r.countLeaders))
	return nil
}

// countLeaders counts what Raft reports about leaders. It drops every report, so that none waits for a reader.
func (r *Replica) countLeaders(o *hraft.Observation) bool {
	if change, ok := o.Data.(hraft.LeaderObservation); ok && change.LeaderID != "" {
		r.leaders.Add(1)
	}
	return false
}

// removeSuperseded removes the log's entries if all of them are earlier than the last note. The process has then ended between the
// note of a copy that it has received and the removal of the entries that the copy replaces; and the log would refuse the entry
// that follows the copy.
func (r *Replica) removeSuperseded() error {
	r.notes.mu.Lock()
	last := r.notes.last
	r.notes.mu.Unlock()
	if last == nil {
		return nil
	}
	from, err := r.files.FirstIndex()
	if err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	to, err := r.files.LastIndex()
	if err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	if to == 0 || to >= last.Index {
		return nil
	}
	if err := r.files.DeleteRange(from, to); err != nil {
		return fmt.Errorf("raft: removing entries before the last note: %w", err)
	}
	return nil
}

// checkLog refuses a log that is older than the machine. The machine has only what the log had before, or a note.
func (r *Replica) checkLog() error {
	n := r.notes
	n.mu.Lock()
	known := n.ahead
	if n.last != nil {
		known = max(known, n.last.Last)
	}
	n.mu.Unlock()
	have := n.machine.Last().N
	if have <= known {
		return nil
	}
	first, err := r.files.FirstIndex()
	if err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	last, err := r.files.LastIndex()
	if err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	for index := last; index > 0 && index >= first; index-- {
		var entry hraft.Log
		if err := r.files.GetLog(index, &entry); err != nil {
			return fmt.Errorf("raft: entry %d: %w", index, err)
		}
		if entry.Type != hraft.LogCommand {
			continue
		}
		f, err := decode(entry.Data)
		if err != nil {
			return fmt.Errorf("raft: entry %d: %w", index, err)
		}
		known = max(known, f.N)
		break
	}
	if have > known {
		return fmt.Errorf("raft: the store has %d groups, and Raft's log has only the first %d: Raft's files were lost or set back, and the node could vote for a leader that lacks some of them", have, known)
	}
	return nil
}

func servers(members []Member) (c hraft.Configuration) {
	for _, m := range members {
		c.Servers = append(c.Servers, hraft.Server{ID: hraft.ServerID(m.Name), Address: hraft.ServerAddress(m.Address)})
	}
	return c
}

// Propose makes the frame durable on a majority of the replicas, and returns when this replica's machine has applied it. The
// frame's payload may be used again afterwards. The error is ErrNotLeader, ErrFenced or ErrUnknown, or wraps an error of the
// machine.
func (r *Replica) Propose(f log.Frame) error {
	begun := time.Now()
	r.awaitTransfer()
	future := r.raft.Apply(encode(f), enqueueTimeout)
	switch err := future.Error(); {
	case err == nil:
	case errors.Is(err, hraft.ErrNotLeader), errors.Is(err, hraft.ErrEnqueueTimeout):
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	default:
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	result := future.Response().(applied)
	if result.err != nil {
		return result.err
	}
	if r.onCommit != nil {
		r.onCommit(result.begun.Sub(begun))
	}
	r.proven.Store(int64(begun.Sub(r.opened)))
	return nil
}

// TimeSinceLeadProven returns how much time has passed since this replica certainly led the group: since it proposed the last
// frame that a majority has confirmed, or since the last successful Verify began.
func (r *Replica) TimeSinceLeadProven() time.Duration {
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

// IsLeader tells whether the replica believes that it leads the group.
func (r *Replica) IsLeader() bool { return r.raft.State() == hraft.Leader }

// Term returns Raft's term.
func (r *Replica) Term() uint64 { return r.raft.CurrentTerm() }

// Leader returns the name and address of the node that leads the group; empty if none is known.
func (r *Replica) Leader() Member {
	address, name := r.raft.LeaderWithID()
	return Member{string(name), string(address)}
}

// Snapshot notes that the machine has everything that was applied, and shortens Raft's log accordingly.
func (r *Replica) Snapshot() error {
	if err := r.raft.Snapshot().Error(); err != nil && !errors.Is(err, hraft.ErrNothingNewToSnapshot) {
		return fmt.Errorf("raft: %w", err)
	}
	return nil
}

// renewNote makes a note that is later than the last one, even if nothing was written since.
func (r *Replica) renewNote() {
	if !r.isRenewing.CompareAndSwap(false, true) {
		return
	}
	defer r.isRenewing.Store(false)
	if r.raft.Barrier(enqueueTimeout).Error() == nil { // it is an entry of the log
		_ = r.Snapshot() // if it fails, the next copy calls this again
	}
}

// Progress tells how far the replica is.
type Progress struct {
	Leads            bool // as this replica believes
	Term             uint64
	Last, Committed  uint64 // indexes of Raft's log; Committed is what the replica has heard of
	Applied          uint64
	SinceLeaderSpoke time.Duration // 0 on the leader; negative if no leader was ever heard of
	Leaders          uint64        // how often the replica has learned of a leader since it was opened
	Members, Voters  int           // members of the group, and those whose confirmations count
	LogSyncs         uint64        // how often entries were added to Raft's log, which is synced each time
	CopiesSent       uint64        // copies of the machine that were made for other replicas
	CopiesReceived   uint64        // copies of another replica's machine that have replaced this one's content
}

// Progress returns the present figures.
func (r *Replica) Progress() Progress {
	p := Progress{
		Leads: r.IsLeader(), Term: r.raft.CurrentTerm(), Last: r.raft.LastIndex(), Committed: r.raft.CommitIndex(), Applied: r.raft.AppliedIndex(),
		Leaders: r.leaders.Load(), LogSyncs: r.files.stored.Load(), CopiesSent: r.applier.notes.sent.Load(), CopiesReceived: r.applier.notes.loaded.Load(),
	}
	for _, s := range r.configuration() {
		p.Members++
		if s.Suffrage == hraft.Voter {
			p.Voters++
		}
	}
	if !p.Leads {
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
