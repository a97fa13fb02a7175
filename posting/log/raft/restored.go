package raft

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	hraft "github.com/hashicorp/raft"

	"mizan/internal/durable"
	"mizan/posting/log"
)

// Origin identifies what a group began with: it is a hash of the backup from which the machines were restored (zeros if they were
// empty), and of the group's first members. Only replicas with the same origin exchange messages. So a replica whose machine was
// restored from another backup, or that was configured with other members, neither votes nor confirms frames.
type Origin [32]byte

// restoredName is the name of a file in a replica's directory. It says that the machine was restored from a backup, and that
// Raft's log has not begun yet.
const restoredName = "RESTORED"

// restored is the content of that file.
type restored struct {
	Backup Origin   // hash that identifies the backup
	Last   uint64   // number of the machine's last frame
	Hash   [32]byte // hash of that frame
}

// PrepareRestored makes the directory of a replica whose machine was restored from a backup and ends with the given frame. backup
// identifies the backup; it must be the same on each of the nodes. The next Open forms a group with Options.Members.
func PrepareRestored(dir string, backup [32]byte, last log.Mark) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	content, err := json.Marshal(restored{backup, last.N, last.Hash})
	if err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	if err := durable.Create(filepath.Join(dir, restoredName), 0o600, content); err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	return nil
}

// readRestored reads what PrepareRestored has written. If there is no such file, it returns nil.
func readRestored(dir string) (*restored, error) {
	path := filepath.Join(dir, restoredName)
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("raft: %w", err)
	}
	r := new(restored)
	if err := json.Unmarshal(content, r); err != nil {
		return nil, fmt.Errorf("raft: %s is damaged: %w", path, err)
	}
	return r, nil
}

// firstTerm and firstIndex are the term and the index of the note with which a group begins. All first members have the same note,
// and no log. A node that joins later needs the entry with this index, which is in no log. So it gets a copy of the machine.
const firstTerm, firstIndex = 1, 1

// currentTermKey is the key under which Raft keeps its term.
var currentTermKey = []byte("CurrentTerm")

// form makes the replica a first member of a new group, if it has no files yet or if its machine was restored. If an earlier process
// was killed in between, form continues.
func (r *Replica) form(o *Options) error {
	found, err := readRestored(o.Dir)
	if err != nil {
		return err
	}
	isKnown, err := hraft.HasExistingState(r.files, r.files, r.notes)
	if err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	have := o.Machine.Last()
	switch {
	case found != nil && r.notes.last == nil:
		if have != (log.Mark{N: found.Last, Hash: found.Hash}) {
			return fmt.Errorf("raft: the store ends with group %d, but %s says that it was restored up to group %d: one of them belongs to another restore",
				have.N, filepath.Join(o.Dir, restoredName), found.Last)
		}
		err = r.begin(o.Members, found.Backup, found.Last)
	case found == nil && !isKnown && have.N > 0:
		return fmt.Errorf("raft: %s is empty, although the store has %d groups: Raft's files were lost, and the node could vote for a leader that lacks some of them", o.Dir, have.N)
	case found == nil && !isKnown && !o.Joins:
		err = r.begin(o.Members, Origin{}, 0)
	}
	if err != nil {
		return err
	}
	if term, err := r.files.GetUint64(currentTermKey); r.notes.last != nil && (err != nil || term < firstTerm) {
		if err := r.files.SetUint64(currentTermKey, firstTerm); err != nil {
			return fmt.Errorf("raft: %w", err)
		}
	}
	if found == nil {
		return nil
	}
	if err := os.Remove(filepath.Join(o.Dir, restoredName)); err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	if err := durable.SyncDir(o.Dir); err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	return nil
}

// begin keeps the note with which a new group begins.
func (r *Replica) begin(first []Member, backup Origin, last uint64) error {
	return r.notes.keep(&note{
		ID: fmt.Sprintf("%d-%d", firstTerm, firstIndex), Index: firstIndex, Term: firstTerm, Configuration: servers(first),
		ConfigurationIndex: firstIndex, Last: last, Origin: originOf(backup, first),
	})
}

// originOf returns the origin of a restored group.
func originOf(backup Origin, members []Member) (o Origin) {
	hash := sha256.New()
	hash.Write(backup[:])
	members = slices.SortedFunc(slices.Values(members), func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range members {
		_, _ = fmt.Fprintf(hash, "%q=%q\n", m.Name, m.Address) // a hash accepts everything
	}
	hash.Sum(o[:0])
	return o
}

// belongsTo tells whether a replica with the given origin belongs to this replica's group. A replica that has nothing yet waits
// until a leader adds it, and learns the origin from that leader's copy.
func (r *Replica) belongsTo(origin Origin) bool {
	return r.notes.origin() == origin || r.raft.LastIndex() == 0
}
