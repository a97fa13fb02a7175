package badgerfile

import (
	"encoding/binary"
	"os"
	"strings"
	"sync"

	"github.com/dgraph-io/badger/v4/pb"
	"google.golang.org/protobuf/proto"
)

// Log lines of Badger's compactors that the audit reads (levels.go of v4.9.6: subcompact and
// doCompact).
const (
	logBuilt = "[%d] LOG Compact. Added %d keys."
	logDone  = "[Compactor: %d] Compaction for level: %d DONE"
)

// CompactionAudit compares the number of tables that compactions announce with the number that they
// list. If Badger cannot make a table during a compaction (no file handle, no inode, a failed sync), it
// drops the error and continues without the table: the old tables are deleted and the rows are lost
// silently. (Badger passes the error to a deferred call, whose arguments are evaluated while the error
// is still nil.) The store can't prevent that loss. The audit notices it by the end of the compaction,
// and from then on the store neither reads nor writes.
//
// All methods are safe for concurrent use.
type CompactionAudit struct {
	mu       sync.Mutex
	path     string
	list     *os.File
	offset   int64          // offset up to which the list has been read
	building map[int]uint64 // by compactor: tables of the current compaction
	finished uint64         // tables of all finished compactions
	listed   uint64         // tables that compactions have listed
}

// NewCompactionAudit returns an audit that counts the records of the list at path that come after its first
// end bytes. It must be called before Badger opens the list. An error is an I/O error that names the list.
func NewCompactionAudit(path string, end int64) (*CompactionAudit, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &CompactionAudit{path: path, list: f, offset: end, building: make(map[int]uint64)}, nil
}

// BeginsTable tells whether a compactor of Badger logs a line with this format before it makes a table.
func BeginsTable(format string) bool { return strings.HasPrefix(format, logBuilt) }

// Observe reads a line of Badger's log. done tells that the line ends a compaction, lost that
// one of its tables is missing. An error means that the list could not be read.
func (t *CompactionAudit) Observe(format string, args []any) (done, lost bool, err error) {
	built := BeginsTable(format)
	if !built && format != logDone || len(args) < 2 {
		return false, false, nil
	}
	compactor, ok := args[0].(int)
	if !ok {
		return false, false, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if built {
		if keys, ok := args[1].(uint64); ok && keys > 0 {
			t.building[compactor]++
		}
		return false, false, nil
	}
	t.finished += t.building[compactor]
	delete(t.building, compactor)
	err = t.read()
	return true, err == nil && t.listed < t.finished, err
}

// read counts the records appended to the list since the last call. If Badger has rewritten the list,
// read finishes the old file. The compaction that caused the rewrite is not checked, because its record
// is only in the new file, merged with all others.
func (t *CompactionAudit) read() error {
	if err := t.readAppended(); err != nil {
		return err
	}
	current, err := os.Stat(t.path)
	if err != nil {
		return err
	}
	opened, err := t.list.Stat()
	if err != nil || os.SameFile(opened, current) {
		return err
	}
	next, err := os.Open(t.path)
	if err != nil {
		return err
	}
	_ = t.list.Close() // only read
	t.list, t.offset = next, manifestHeader
	if err := t.readAppended(); err != nil {
		return err
	}
	t.listed = max(t.listed, t.finished)
	return nil
}

func (t *CompactionAudit) readAppended() error {
	var head [recordHead]byte
	for {
		if _, err := t.list.ReadAt(head[:], t.offset); err != nil {
			return ignoreEOF(err)
		}
		b := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := t.list.ReadAt(b, t.offset+int64(len(head))); err != nil {
			return ignoreEOF(err)
		}
		var set pb.ManifestChangeSet
		if err := proto.Unmarshal(b, &set); err != nil {
			return err
		}
		t.offset += int64(len(head) + len(b))
		t.listed += tablesCompacted(&set)
	}
}

// tablesCompacted returns the number of tables that a compaction made. A flush makes one
// and deletes none.
func tablesCompacted(set *pb.ManifestChangeSet) (tables uint64) {
	deletes := false
	for _, c := range set.Changes {
		if c.Op == pb.ManifestChange_DELETE {
			deletes = true
		} else {
			tables++
		}
	}
	if !deletes {
		return 0
	}
	return tables
}

// Close releases the list. No line may be observed afterwards.
func (t *CompactionAudit) Close() error { return t.list.Close() }
