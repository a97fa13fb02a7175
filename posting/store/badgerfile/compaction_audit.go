package badgerfile

import (
	"encoding/binary"
	"os"
	"strings"
	"sync"

	"github.com/dgraph-io/badger/v4/pb"
	"google.golang.org/protobuf/proto"
)

// Formats of the log messages of Badger v4.9.6 that CompactionAudit reads. Badger logs them in levels.go (subcompact
// and doCompact).
const (
	beginsTableFormat   = "[%d] LOG Compact. Added %d keys." // Badger's format begins with this text
	compactionEndFormat = "[Compactor: %d] Compaction for level: %d DONE"
)

// CompactionAudit checks that no compaction of Badger loses a table. It compares the number of tables that Badger's log
// messages announce with the number that compactions add to Badger's list of tables (MANIFEST). If Badger cannot make a table
// during a compaction (no file handle, no inode, a failed sync), it ignores the error and continues without the table: it
// passes err to a deferred call, whose arguments are evaluated while err is still nil. Then Badger deletes the old tables,
// and their rows are lost silently. The store can't prevent this loss. CompactionAudit detects it when the compaction ends,
// and from then on the store neither reads nor writes.
//
// All methods are safe for concurrent use.
type CompactionAudit struct {
	mu              sync.Mutex
	path            string
	list            *os.File
	offset          int64          // offset up to which the list has been read
	begunTables     map[int]uint64 // number of tables that each compactor has announced in its current compaction
	announcedTables uint64         // number of tables announced by all finished compactions
	listedTables    uint64         // number of tables that compactions have added to the list
}

// NewCompactionAudit returns an audit of the list of tables at path. The audit reads the records of the list that
// begin at offset or later. NewCompactionAudit must be called before Badger opens the list. Errors are I/O errors that
// name the list's path.
func NewCompactionAudit(path string, offset int64) (*CompactionAudit, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &CompactionAudit{path: path, list: f, offset: offset, begunTables: make(map[int]uint64)}, nil
}

// BeginsTable tells whether a compactor of Badger logs a message with this format before it makes a table.
func BeginsTable(format string) bool { return strings.HasPrefix(format, beginsTableFormat) }

// Observe must be called with the format and the arguments of each log message of Badger. hasEnded tells whether the message
// reports the end of a compaction, and lostTable whether a table of that compaction is missing. An error means that the list
// of tables could not be read.
func (a *CompactionAudit) Observe(format string, args []any) (hasEnded, lostTable bool, err error) {
	beginsTable := BeginsTable(format)
	if !beginsTable && format != compactionEndFormat || len(args) < 2 {
		return false, false, nil
	}
	compactor, ok := args[0].(int)
	if !ok {
		return false, false, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if beginsTable {
		if keys, ok := args[1].(uint64); ok && keys > 0 {
			a.begunTables[compactor]++
		}
		return false, false, nil
	}
	a.announcedTables += a.begunTables[compactor]
	delete(a.begunTables, compactor)
	err = a.read()
	return true, err == nil && a.listedTables < a.announcedTables, err
}

// read reads the records that were appended to the list since the last call, and counts the tables that compactions
// have added. If Badger has rewritten the list into a new file, read finishes the old file and then reads the new
// one. The compaction that caused the rewrite is not checked, because the new file has its record only merged with
// all others.
func (a *CompactionAudit) read() error {
	if err := a.readAppended(); err != nil {
		return err
	}
	current, err := os.Stat(a.path)
	if err != nil {
		return err
	}
	opened, err := a.list.Stat()
	if err != nil || os.SameFile(opened, current) {
		return err
	}
	next, err := os.Open(a.path)
	if err != nil {
		return err
	}
	_ = a.list.Close() // no data can be lost: the file was only read
	a.list, a.offset = next, manifestHeader
	if err := a.readAppended(); err != nil {
		return err
	}
	a.listedTables = max(a.listedTables, a.announcedTables)
	return nil
}

// readAppended counts the tables that compactions have added, in the records from the offset to the end of the open
// file.
func (a *CompactionAudit) readAppended() error {
	var head [recordHead]byte
	for {
		if _, err := a.list.ReadAt(head[:], a.offset); err != nil {
			return ignoreEOF(err)
		}
		b := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := a.list.ReadAt(b, a.offset+int64(len(head))); err != nil {
			return ignoreEOF(err)
		}
		var set pb.ManifestChangeSet
		if err := proto.Unmarshal(b, &set); err != nil {
			return err
		}
		a.offset += int64(len(head) + len(b))
		a.listedTables += tablesOfCompaction(&set)
	}
}

// tablesOfCompaction returns the number of tables that the record of a compaction adds. For the record of a flush,
// which deletes no tables, it returns 0.
func tablesOfCompaction(set *pb.ManifestChangeSet) (tables uint64) {
	hasDeletion := false
	for _, c := range set.Changes {
		if c.Op == pb.ManifestChange_DELETE {
			hasDeletion = true
		} else {
			tables++
		}
	}
	if !hasDeletion {
		return 0
	}
	return tables
}

// Close closes the list. Observe must not be called after Close.
func (a *CompactionAudit) Close() error { return a.list.Close() }
