package badgerfile

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4/pb"
	"google.golang.org/protobuf/proto"
)

// appendChanges appends a record to a list of tables in Badger's form. The record has one change for each operation.
func appendChanges(t *testing.T, path string, ops ...pb.ManifestChange_Operation) {
	t.Helper()
	set := new(pb.ManifestChangeSet)
	for i, op := range ops {
		set.Changes = append(set.Changes, &pb.ManifestChange{Id: uint64(i), Op: op})
	}
	b, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(b)))
	head = binary.BigEndian.AppendUint32(head, crc32.Checksum(b, castagnoli))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(append(head, b...)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAuditCountsTablesListedByCompactions(t *testing.T) {
	const create, remove = pb.ManifestChange_CREATE, pb.ManifestChange_DELETE
	path := filepath.Join(t.TempDir(), "MANIFEST")
	if err := os.WriteFile(path, make([]byte, manifestHeader), 0o600); err != nil {
		t.Fatal(err)
	}
	appendChanges(t, path, create, create, remove) // is not counted: the audit begins after this record
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	audit, err := NewCompactionAudit(path, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	beginTable := func(compactor int, keys uint64) {
		if hasEnded, lostTable, err := audit.Observe(beginsTableFormat+" Skipped %d keys.", []any{compactor, keys, uint64(0)}); hasEnded || lostTable || err != nil {
			t.Errorf("Observe = %v, %v, %v", hasEnded, lostTable, err)
		}
	}
	endCompaction := func(compactor int, wantLost bool) {
		t.Helper()
		if hasEnded, lostTable, err := audit.Observe(compactionEndFormat, []any{compactor, 0}); !hasEnded || lostTable != wantLost || err != nil {
			t.Errorf("at its end: %v, %v, %v, want lost %v", hasEnded, lostTable, err, wantLost)
		}
	}
	beginTable(0, 10)
	beginTable(1, 10)
	beginTable(0, 10)
	beginTable(0, 0) // announces an empty table, which Badger does not make
	appendChanges(t, path, create, remove, create)
	endCompaction(0, false)
	appendChanges(t, path, create) // a flush is not a compaction
	appendChanges(t, path, remove, create)
	endCompaction(1, false)

	// Badger rewrites the list, including the tables of this compaction.
	beginTable(1, 10)
	newList := filepath.Join(filepath.Dir(path), "NEXT")
	if err := os.WriteFile(newList, make([]byte, manifestHeader), 0o600); err != nil {
		t.Fatal(err)
	}
	appendChanges(t, newList, create, create, create)
	if err := os.Rename(newList, path); err != nil {
		t.Fatal(err)
	}
	endCompaction(1, false)

	beginTable(0, 10)
	beginTable(0, 10)
	appendChanges(t, path, create, remove) // one of the two tables is missing
	endCompaction(0, true)
}
