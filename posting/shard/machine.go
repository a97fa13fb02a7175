package shard

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"mizan/internal/durable"
	"mizan/posting/log"
	"mizan/posting/log/raft"
	"mizan/posting/store"
)

// Names in the directory of a shard.
const (
	storeName = "store"     // data directory of the store
	newName   = "store.new" // the same while a copy of another node is loaded
	oldName   = "store.old" // the store that such a copy replaces
	raftName  = "raft"      // Raft's log
)

// maxUsers is the number of uses of the store at a time, each of which keeps it from being replaced.
const maxUsers = 16

// machine applies committed groups to the store of this node. Its methods implement raft.Machine.
type machine struct {
	dir     string // the shard's directory
	options store.Options
	keyring [32]byte

	// users has a value for each use of the store during which it must not be replaced: while it is copied or confirmed. While the
	// store is replaced by a copy, it is full. It is a channel, and not a lock, because a simulation must be able to tell that a
	// goroutine waits for the disk.
	users chan struct{}

	mu       sync.Mutex
	store    *store.Store // guarded by mu: Load replaces it
	proposed *store.Group // guarded by mu: the group that this node's writer has proposed; nil: none

	group *store.Group // memory for groups that other nodes have proposed

	isLeft bool // Load could not close the store
}

// openMachine opens the store. If an earlier process has ended while it replaced the store, the old store stays.
func openMachine(dir string, o store.Options, keyring [32]byte) (*machine, error) {
	m := &machine{dir: dir, options: o, keyring: keyring, group: store.NewGroup(1, [32]byte{}), users: make(chan struct{}, maxUsers)}
	if _, err := os.Lstat(m.path(storeName)); os.IsNotExist(err) {
		if err := os.Rename(m.path(oldName), m.path(storeName)); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	for _, name := range []string{newName, oldName} {
		if err := os.RemoveAll(m.path(name)); err != nil {
			return nil, err
		}
	}
	var err error
	if m.store, err = m.open(storeName); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

// open opens the store in one of the shard's directories and ties it to the keyring.
func (m *machine) open(name string) (*store.Store, error) {
	o := m.options
	o.Dir, o.SyncsLater = m.path(name), true // Raft's log has the group until then
	s, err := store.Open(o)
	if err != nil {
		return nil, err
	}
	if m.keyring != [32]byte{} {
		if err := s.Bind(m.keyring); err != nil {
			_ = s.Close() // its error does not matter, because nothing was written
			return nil, err
		}
	}
	return s, nil
}

// current returns the store.
func (m *machine) current() *store.Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.store
}

// Last returns the number and hash of the store's last group.
func (m *machine) Last() log.Mark {
	n, hash := m.current().LastGroup()
	return log.Mark{N: n, Hash: hash}
}

// Apply applies a committed group to the store, where Sync makes it durable.
func (m *machine) Apply(f log.Frame) error {
	m.mu.Lock()
	g, s := m.proposed, m.store
	m.mu.Unlock()
	if g == nil || g.Frame().Mark != f.Mark {
		g = m.group
		if err := g.Read(f); err != nil {
			return err
		}
	}
	return s.Apply(g)
}

// Sync makes durable in the store what was applied.
func (m *machine) Sync() error { return m.current().Sync() }

// propose sets the group that the writer has proposed, so that Apply need not read it again from its frame; nil: none.
func (m *machine) propose(g *store.Group) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.proposed = g
}

// Dump writes a copy of the store's rows.
func (m *machine) Dump(w io.Writer) error {
	m.users <- struct{}{}
	defer func() { <-m.users }()
	s := m.current()
	switch free, err := s.Free(); {
	case err != nil:
		return err
	case free < uint64(s.Size())+m.options.MinFree: // otherwise the copy, which goes to a file, would end this node's work
		return fmt.Errorf("shard: the disk has %d bytes free, and a copy of the store for another node may take %d, besides the %d that have to stay free", free, s.Size(), m.options.MinFree)
	}
	sn := s.Snapshot()
	defer sn.Close()
	return writeCopy(w, sn)
}

// Load replaces the store by a copy of another node's store. A node that leads needs no copy. If the journal of an earlier lead
// still reads the store, Load fails, and the process ends.
func (m *machine) Load(r io.Reader) error {
	if err := os.RemoveAll(m.path(newName)); err != nil {
		return err
	}
	o := m.options
	o.Dir = m.path(newName)
	if err := readCopy(r, o); err != nil {
		return err
	}
	for range maxUsers {
		m.users <- struct{}{}
		defer func() { <-m.users }()
	}
	if err := m.current().Close(); err != nil {
		m.isLeft = true
		return err
	}
	for _, names := range [][2]string{{storeName, oldName}, {newName, storeName}} {
		if err := os.Rename(m.path(names[0]), m.path(names[1])); err != nil {
			return err
		}
		if err := durable.SyncDir(m.dir); err != nil {
			return err
		}
	}
	if err := m.keepOtherFiles(); err != nil {
		return err
	}
	s, err := m.open(storeName)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.store = s
	m.mu.Unlock()
	return os.RemoveAll(m.path(oldName))
}

// keepOtherFiles moves the files that do not belong to the store (see store.Options) from the replaced data directory to the new
// one.
func (m *machine) keepOtherFiles() error {
	for _, name := range m.options.OtherFiles {
		err := os.Rename(filepath.Join(m.path(oldName), name), filepath.Join(m.path(storeName), name))
		if err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return durable.SyncDir(m.path(storeName))
}

// confirm confirms the store's last group (see store.Confirm), unless it is the one with the given number. While the store is
// replaced, it does nothing.
func (m *machine) confirm(confirmed uint64) (last uint64, err error) {
	select {
	case m.users <- struct{}{}:
		defer func() { <-m.users }()
	default:
		return confirmed, nil
	}
	s := m.current()
	if last, _ = s.LastGroup(); last == confirmed {
		return last, nil
	}
	return last, s.Confirm()
}

// replicated is the log to which the journal of a leader writes: it proposes each group to the shard's replicas.
type replicated struct {
	machine *machine
	replica *raft.Replica
}

// Apply makes a group durable on a majority of the nodes, and applies it to this node's store. After any error the journal ends,
// and it may be unknown whether the group will be applied.
func (l replicated) Apply(g *store.Group) error {
	l.machine.propose(g)
	defer l.machine.propose(nil)
	return l.replica.Propose(g.Frame())
}

// Confirm does nothing: the shard confirms groups on every node.
func (l replicated) Confirm() error { return nil }
