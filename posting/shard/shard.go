package shard

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mizan/posting"
	"mizan/posting/log/raft"
	"mizan/posting/store"
)

// Options configure a node's part of a shard.
type Options struct {
	Dir       string // directory of the shard on this node; Open creates it
	Name      string // the node's name
	Transport raft.Transport
	Members   []raft.Member // see raft.Options
	Joins     bool          // see raft.Options
	Tuning    raft.Tuning
	Store     store.Options // options of the store; Open sets Dir
	Keyring   [32]byte      // identity of the keyring that all nodes share; zeros: none
	Log       *slog.Logger
	OnCommit  func(time.Duration) // see raft.Options; nil: none

	// Fatal is called once when the store or Raft's log has failed. The process must end, or close the shard.
	Fatal func(error)
}

// Shard is a node's part of a shard.
type Shard struct {
	Replica *raft.Replica

	machine *machine
	fatal   func(error)
	ended   chan struct{}
	work    sync.WaitGroup
	isLeft  bool // Close could not close the store
}

// Open opens the store and joins the other nodes.
func Open(o Options) (*Shard, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("shard: %w", err)
	}
	m, err := openMachine(o.Dir, o.Store, o.Keyring)
	if err != nil {
		return nil, err
	}
	var once sync.Once
	fatal := func(err error) { once.Do(func() { o.Fatal(err) }) }
	s := &Shard{machine: m, fatal: fatal, ended: make(chan struct{})}
	s.Replica, err = raft.Open(raft.Options{
		Dir: m.path(raftName), Name: o.Name, Transport: o.Transport, Machine: m, Log: o.Log, Members: o.Members, Joins: o.Joins, Tuning: o.Tuning, OnCommit: o.OnCommit, Fatal: fatal,
	})
	if err != nil {
		closeErr := m.store.Close()
		if closeErr != nil {
			go m.store.Abandon() // for a simulation, which goes on; it may hang
		}
		return nil, errors.Join(err, closeErr)
	}
	s.work.Go(s.confirm)
	return s, nil
}

// Lead opens a journal, which writes to the shard until the node ceases to lead it. o.Fatal is called when it does, or when the
// store fails; then the caller must drop the journal (posting.Journal.Drop). Lead returns an error unless the node leads the
// shard. It waits at most for the given time until the store has everything that was committed.
func (s *Shard) Lead(o posting.Options, timeout time.Duration) (*posting.Journal, error) {
	if err := s.Replica.CatchUp(timeout); err != nil {
		return nil, err
	}
	o.WrapLog = func(posting.Log) posting.Log { return replicated{s.machine, s.Replica} }
	return posting.OpenOn(s.machine.current(), o)
}

// DataDir returns the data directory of the store in the directory of a shard.
func DataDir(dir string) string { return filepath.Join(dir, storeName) }

// RaftDir returns the directory of Raft's log in the directory of a shard (see raft.PrepareRestored).
func RaftDir(dir string) string { return filepath.Join(dir, raftName) }

// DataDir returns the data directory of the store.
func (s *Shard) DataDir() string { return s.machine.path(storeName) }

// Store returns the node's copy of the shard's store. It is valid until a copy of another node replaces it.
func (s *Shard) Store() *store.Store { return s.machine.current() }

// confirmEvery is the time after which the last group is confirmed (see posting.Log). Each confirmation is a sync. It may come
// late: if the store loses groups that came after the last confirmation, Raft's log still has them.
const confirmEvery = time.Second

// confirm confirms the store's last group from time to time, so that the next start detects its loss.
func (s *Shard) confirm() {
	tick := time.NewTicker(confirmEvery)
	defer tick.Stop()
	var err error
	for confirmed := uint64(0); err == nil; confirmed, err = s.machine.confirm(confirmed) {
		select {
		case <-s.ended:
			return
		case <-tick.C:
		}
	}
	s.fatal(err)
}

// Close leaves the group and closes the store. No journal may be open.
func (s *Shard) Close() error {
	close(s.ended)
	s.work.Wait()
	replicaErr := s.Replica.Close()
	err := s.machine.current().Close()
	s.isLeft = err != nil || s.machine.isLeft
	return errors.Join(replicaErr, err)
}

// Abandon ends what a store that could not be closed has left behind (see store.Abandon). It is for simulations.
func (s *Shard) Abandon() {
	if s.isLeft {
		s.machine.current().Abandon()
	}
}
