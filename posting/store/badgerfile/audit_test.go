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

// appendChanges appends to a list of tables in Badger's form.
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
	appendChanges(t, path, create, create, remove) // before the audit began to count
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	count, err := NewCompactionAudit(path, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	build := func(compactor int, keys uint64) {
		if done, lost, err := count.Observe(logBuilt+" Skipped %d keys.", []any{compactor, keys, uint64(0)}); done || lost || err != nil {
			t.Errorf("Observe = %v, %v, %v", done, lost, err)
		}
	}
	end := func(compactor int, want bool) {
		t.Helper()
		if done, lost, err := count.Observe(logDone, []any{compactor, 0}); !done || lost != want || err != nil {
			t.Errorf("at its end: %v, %v, %v, want lost %v", done, lost, err, want)
		}
	}
	build(0, 10)
	build(1, 10)
	build(0, 10)
	build(0, 0) // an empty table is never made
	appendChanges(t, path, create, remove, create)
	end(0, false)
	appendChanges(t, path, create) // a flush is not a compaction
	appendChanges(t, path, remove, create)
	end(1, false)

	// Badger rewrites the list, including the tables of this compaction.
	build(1, 10)
	next := filepath.Join(filepath.Dir(path), "NEXT")
	if err := os.WriteFile(next, make([]byte, manifestHeader), 0o600); err != nil {
		t.Fatal(err)
	}
	appendChanges(t, next, create, create, create)
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
	end(1, false)

	build(0, 10)
	build(0, 10)
	appendChanges(t, path, create, remove) // one of the two is missing
	end(0, true)
}
