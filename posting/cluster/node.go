package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"mizan/internal/assert"
	"mizan/posting"
	"mizan/posting/log/raft"
	"mizan/posting/shard"
	"mizan/posting/store"
)

// Platform is the shard that belongs to the platform.
const Platform = 0

// MaxShards is the maximum number of a cluster's shards, without the platform's.
const MaxShards = 64

// Engine serves a shard that the node leads.
type Engine interface {
	// Quit makes requests that wait for something stop waiting. It is called before Stop, while requests still use the engine.
	Quit()
	// Stop ends the engine. Its journal takes no changes any more, and no request uses it.
	Stop()
}

// Options configure a node.
type Options struct {
	Dir        string        // the node's data directory; the files of shard N are in shards/N
	Name       string        // the node's name
	Address    string        // where the other nodes reach this one
	Members    []raft.Member // the nodes that are known at the start, this one included
	Joins      bool          // the cluster exists already, so new replicas wait for the others instead of forming groups
	Shards     int           // number of shards, the platform's included; only simulations have 1
	Transports Transports    // carries Raft's messages; the node closes it
	Store      store.Options // options of the stores; the node sets Dir
	Keyring    [32]byte      // identity of the keyring that all nodes share
	Journal    posting.Options
	Tuning     raft.Tuning
	Log        *slog.Logger

	// Opened, if set, is called for each shard with the data directory of the store that was just opened.
	Opened func(dataDir string) error

	// OnCommit, if set, is called for each group of this node's journals that a majority has stored, with the number of the shard
	// and the time that this took (see raft.Options).
	OnCommit func(shard int, took time.Duration)

	// Start begins the engine of a shard whose lead the node has just got. If the journal fails meanwhile, Start returns an
	// error soon.
	Start func(*Lead) (Engine, error)

	// Fatal is called once if a store, a log or Start has failed. The process must end.
	Fatal func(error)
}

// Transports carries Raft's messages between this node and the others. *raft.Streams implements it; a simulation has another one.
type Transports interface {
	// Transport returns the transport of a shard. address is where the others reach this node.
	Transport(shard uint32, address string) raft.ClosingTransport
	// Know tells at which address a node listens.
	Know(m raft.Member)
	// Seek sets a function that is called if no node is known at an address. It may call Know.
	Seek(seek func())
	// Close ends the transports, after each of them was closed.
	Close() error
}

// Node has the replicas of one node.
type Node struct {
	options  Options
	replicas []*replica // by the number of the shard
	fatal    func(error)
	ended    chan struct{}
	work     sync.WaitGroup

	mu sync.Mutex // held while Open adds a replica, and while Members reads them
}

// Open opens the node's replicas. The node takes part in elections from now on.
func Open(o Options) (*Node, error) {
	assert.That(o.Shards > 0 && o.Shards <= MaxShards+1, "a cluster of %d shards", o.Shards)
	if err := claimDirectory(o.Dir, o.Shards); err != nil {
		return nil, err
	}
	var once sync.Once
	n := &Node{
		options: o, ended: make(chan struct{}),
		fatal: func(err error) { once.Do(func() { o.Fatal(err) }) },
	}
	for _, m := range o.Members {
		n.options.Transports.Know(m)
	}
	n.options.Transports.Seek(func() { n.Members() })
	for number := range o.Shards {
		r, err := n.openReplica(number)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("shard %d: %w", number, err), n.Close())
		}
		n.mu.Lock()
		n.replicas = append(n.replicas, r)
		n.mu.Unlock()
	}
	for _, r := range n.replicas {
		n.work.Go(r.watch)
	}
	return n, nil
}

func (n *Node) openReplica(number int) (*replica, error) {
	transport := n.options.Transports.Transport(uint32(number), n.options.Address)
	var onCommit func(time.Duration)
	if n.options.OnCommit != nil {
		onCommit = func(took time.Duration) { n.options.OnCommit(number, took) }
	}
	s, err := shard.Open(shard.Options{
		Dir: shardDir(n.options.Dir, number), Name: n.options.Name, Transport: transport, Members: n.options.Members, Joins: n.options.Joins,
		Tuning: n.options.Tuning, Store: n.options.Store, Keyring: n.options.Keyring, Log: n.options.Log, OnCommit: onCommit, Fatal: n.fatal,
	})
	if err != nil {
		return nil, errors.Join(err, transport.Close())
	}
	if n.options.Opened != nil {
		if err := n.options.Opened(s.DataDir()); err != nil {
			return nil, errors.Join(err, s.Close(), transport.Close())
		}
	}
	return &replica{node: n, number: number, shard: s, transport: transport, failed: make(chan *Lead, 1)}, nil
}

// Name returns the node's name.
func (n *Node) Name() string { return n.options.Name }

// Members returns the cluster's nodes, by their names: those that are known since the start, and those that were added to the
// groups of Raft since.
func (n *Node) Members() []raft.Member {
	n.mu.Lock()
	replicas := n.replicas
	n.mu.Unlock()
	var list []raft.Member
	for _, r := range replicas {
		members, err := r.shard.Replica.Members()
		if err != nil {
			continue
		}
		list = append(list, members...)
	}
	if len(list) == 0 {
		list = append(list, n.options.Members...)
	}
	slices.SortFunc(list, func(a, b raft.Member) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Address, b.Address))
	})
	list = slices.CompactFunc(list, func(a, b raft.Member) bool { return a.Name == b.Name })
	for _, m := range list {
		n.options.Transports.Know(m)
	}
	return list
}

// AddressOf returns the address at which a node listens for the others.
func (n *Node) AddressOf(name string) (string, bool) {
	for _, m := range append(n.Members(), n.options.Members...) {
		if m.Name == name {
			return m.Address, true
		}
	}
	return "", false
}

// membershipTime is how long a change of a group's members may take.
const membershipTime = 20 * time.Second

// Add adds a node to a shard that this node leads (see raft.Replica.Add).
func (n *Node) Add(shard int, m raft.Member, isVoter bool) error {
	n.options.Transports.Know(m)
	return n.replicas[shard].shard.Replica.Add(m, isVoter, membershipTime)
}

// Remove removes a node from a shard that this node leads.
func (n *Node) Remove(shard int, name string) error {
	return n.replicas[shard].shard.Replica.Remove(name, membershipTime)
}

// Enter returns the node's lead of a shard, so that a request can use its engine. If the node has none, ok is false. The caller
// must call Leave when the request has ended.
func (n *Node) Enter(shard int) (l *Lead, ok bool) { return n.replicas[shard].enter() }

// Leader returns the name of the node that leads a shard, as far as this node knows; empty: none is known.
func (n *Node) Leader(shard int) string { return n.replicas[shard].shard.Replica.Leader().Name }

// ReplicaStatus says how far a node's replica of a shard is.
type ReplicaStatus struct {
	Shard     int
	Leader    string        // name of the leading node as this node knows it; empty: none
	LastGroup uint64        // number of the store's last group
	Serves    bool          // the node leads the shard, and its engine serves
	Raft      raft.Progress // how far the replica is in Raft's log
}

// Status returns how far the node's replicas are, by the number of the shard.
func (n *Node) Status() []ReplicaStatus {
	list := make([]ReplicaStatus, 0, len(n.replicas))
	for _, r := range n.replicas {
		last, _ := r.shard.Store().LastGroup()
		list = append(list, ReplicaStatus{
			Shard: r.number, Leader: r.shard.Replica.Leader().Name, LastGroup: last, Serves: r.current() != nil, Raft: r.shard.Replica.Progress(),
		})
	}
	return list
}

// LowSpace tells whether the disk of the stores is nearly full.
func (n *Node) LowSpace() bool {
	for _, r := range n.replicas {
		if r.shard.Store().LowSpace() {
			return true
		}
	}
	return false
}

// maxSilence is how long a follower may hear nothing from a leader before the node counts as cut off. Leaders speak several times a
// second, and a lost leader is replaced within two seconds.
const maxSilence = 5 * time.Second

// IsCutOff tells whether the node can serve no shard: it leads none, and has not heard from a leader of any for maxSilence. This is
// so if the network separates it from the majority, and if the majority is down.
func (n *Node) IsCutOff() bool {
	return !slices.ContainsFunc(n.replicas, func(r *replica) bool {
		p := r.shard.Replica.Progress()
		return p.Leads || p.SinceLeaderSpoke >= 0 && p.SinceLeaderSpoke < maxSilence
	})
}

// MayTakeOver tells whether another node can lead each shard that this node leads: whether its confirmations count there.
func (n *Node) MayTakeOver(name string) bool {
	return !slices.ContainsFunc(n.replicas, func(r *replica) bool { return r.current() != nil && !r.shard.Replica.IsVoter(name) })
}

// Transfer hands the lead of a shard to another node. Requests under way may end first; further ones find no engine. An empty
// name stands for whichever node has most of Raft's log.
func (n *Node) Transfer(ctx context.Context, shard int, to string) error {
	var target raft.Member
	for _, m := range n.Members() {
		if m.Name == to {
			target = m
		}
	}
	if target.Name != to {
		return fmt.Errorf("cluster: there is no node %s", to)
	}
	if to != "" && !n.replicas[shard].shard.Replica.IsVoter(to) {
		return fmt.Errorf("cluster: node %s has no vote in shard %d yet", to, shard)
	}
	return n.replicas[shard].transfer(ctx, target)
}

// Close hands the lead of the node's shards to other nodes, ends the engines, and closes the replicas.
func (n *Node) Close() error {
	n.HandOver()
	close(n.ended)
	n.work.Wait()
	var err error
	for _, r := range n.replicas {
		err = errors.Join(err, r.shard.Close(), r.transport.Close())
	}
	return errors.Join(err, n.options.Transports.Close())
}

// Abandon ends what a store that Close could not close has left behind. It is for simulations, which continue after the simulated
// process has ended.
func (n *Node) Abandon() {
	for _, r := range n.replicas {
		r.shard.Abandon()
	}
}

// handOverTime is how long Close waits until other nodes have taken over.
const handOverTime = 3 * time.Second

// HandOver hands the lead of the node's shards to other nodes, as far as there are any that can take over.
func (n *Node) HandOver() {
	ctx, cancel := context.WithTimeout(context.Background(), handOverTime)
	defer cancel()
	var transfers sync.WaitGroup
	for _, r := range n.replicas {
		if r.current() == nil {
			continue
		}
		transfers.Go(func() {
			if err := r.transfer(ctx, raft.Member{}); err != nil {
				n.options.Log.Warn("no other node takes over the shard", "shard", r.number, "error", err)
			}
		})
	}
	transfers.Wait()
}

// replica is the node's replica of one shard.
type replica struct {
	node      *Node
	number    int
	shard     *shard.Shard
	transport raft.ClosingTransport
	failed    chan *Lead // a lead whose journal has failed
	verifier  verifier

	mu       sync.RWMutex
	lead     *Lead // guarded by mu; nil: the node has no engine for the shard
	isPaused bool  // guarded by mu: the lead is being handed over, so no request may enter
}

func (r *replica) enter() (*Lead, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.lead == nil || r.isPaused {
		return nil, false
	}
	r.lead.users.add()
	return r.lead, true
}

func (r *replica) current() *Lead {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.lead
}

// watch begins and ends engines as the node gets and loses the lead of the shard.
func (r *replica) watch() {
	for {
		select {
		case <-r.node.ended:
			r.resign()
			return
		case leads := <-r.shard.Replica.Leads():
			// An engine of an earlier term ends, even if Raft has elected this node again: another node may have written in between.
			r.resign()
			if leads {
				r.begin()
			}
		case l := <-r.failed:
			if r.current() != l {
				continue
			}
			r.resign()
			if r.shard.Replica.IsLeader() { // the journal has failed for another reason, for example because Raft was too slow
				r.begin()
			}
		}
	}
}

// retryAfter is how long begin waits after a failure.
const retryAfter = 100 * time.Millisecond

// begin begins an engine. It returns without one if the node has ceased to lead.
func (r *replica) begin() {
	for {
		l, err := r.newLead()
		switch {
		case err == nil:
			r.mu.Lock()
			r.lead, r.isPaused = l, false
			r.mu.Unlock()
			r.node.options.Log.Info("this node leads the shard", "shard", r.number, "term", l.term)
			return
		case !isLost(err):
			r.node.fatal(fmt.Errorf("shard %d: %w", r.number, err))
			return
		}
		select {
		case <-r.node.ended:
			return
		case <-time.After(retryAfter):
		}
		if !r.shard.Replica.IsLeader() {
			return
		}
	}
}

// resign ends the engine, if there is one.
func (r *replica) resign() {
	r.mu.Lock()
	l := r.lead
	r.lead = nil
	r.mu.Unlock()
	if l == nil {
		return
	}
	l.drop()
	l.Engine.Quit()
	l.users.wait(context.Background())
	l.Engine.Stop()
	r.node.options.Log.Info("this node leads the shard no longer", "shard", r.number, "term", l.term)
}

// transfer hands the lead to another node. If that fails, the engine continues.
func (r *replica) transfer(ctx context.Context, to raft.Member) error {
	r.mu.Lock()
	l := r.lead
	r.isPaused = l != nil
	r.mu.Unlock()
	if l == nil {
		return raft.ErrNotLeader
	}
	l.users.wait(ctx)
	err := r.shard.Replica.Transfer(to)
	if err != nil {
		r.mu.Lock()
		r.isPaused = false
		r.mu.Unlock()
	}
	return err
}

// isLost tells whether an error means that the node has lost the lead, and nothing worse.
func isLost(err error) bool {
	for _, lost := range []error{raft.ErrNotLeader, raft.ErrFenced, raft.ErrUnknown, posting.ErrStopped} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}
