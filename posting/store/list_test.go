package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	_ "unsafe" // for go:linkname

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"google.golang.org/protobuf/proto"

	"mizan/internal/testseed"
	"mizan/posting/log"
	"mizan/posting/store/badgerfile"
)

// syncList is Badger's own hook for tests of its list of tables: Badger calls it after
// each append, and nowhere else. It is set only in child processes (see childVariable).
//
//go:linkname syncList github.com/dgraph-io/badger/v4.syncFunc
var syncList func(*os.File) error

// faultVariable is the environment variable that makes syncs of a child's list of tables fail. Its value has the
// number of the first sync that fails, whether "any" sync counts or only those of a "compaction", and whether
// the fault comes "once" or stays "on". The appended bytes are in the page cache, as after a real fault.
const faultVariable = "MIZAN_STORE_FAULT"

// failSyncs makes syncs fail as described by fault, the value of faultVariable.
func failSyncs(fault string) error {
	if fault == "" {
		return nil
	}
	var firstFailing, syncCount int
	var syncKind, persistence string
	if _, err := fmt.Sscan(fault, &firstFailing, &syncKind, &persistence); err != nil {
		return err
	}
	realSync := syncList
	syncList = func(f *os.File) error {
		_, records, err := recordsOf(f.Name())
		if err != nil || syncKind == "compaction" && !replacesTables(records[len(records)-1]) {
			return errors.Join(err, realSync(f))
		}
		if syncCount++; syncCount == firstFailing || syncCount > firstFailing && persistence == "on" {
			return &os.PathError{Op: "sync", Path: f.Name(), Err: syscall.EIO}
		}
		return realSync(f)
	}
	return nil
}

// startFaulty starts a child process that applies groups up to the group last and closes the store. A fault is set with
// faultVariable, or is caused by the command wrapper, with which the child is started.
func startFaulty(t testing.TB, dir string, hist history, last uint64, wrapper ...string) *process {
	t.Helper()
	childArguments := fmt.Sprintf("%s=%d %d %d %s", childVariable, hist.seed, hist.keys, last, dir)
	command := append(wrapper, os.Args[0])
	return start(t, exec.Command(command[0], command[1:]...), childArguments, closeVariable+"=1")
}

// wantNoLoss checks that a child ended by itself with an error of the disk, and that no row is lost.
func wantNoLoss(t *testing.T, p *process, dir string, hist history) {
	t.Helper()
	p.readUntil(t, "")
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("the child ended with %v, and said %.4000q", err, p.output)
	}
	if strings.ContainsAny(p.failure, "\n") || !strings.Contains(p.failure, "input/output error") && !strings.Contains(p.failure, "no space left") {
		t.Errorf("the child failed: %q", p.failure)
	}
	if p.acked > 0 {
		wantHistory(t, dir, hist, make(model), 0, p.acked)
	} else {
		closeStore(t, open(t, Options{Dir: dir, MemTable: minMemTable}))
	}
}

// If a sync of the list of tables fails, the process ends, whenever that happens: while the store is made, in a flush, in a
// compaction, or at the end. The next start succeeds, and nothing is lost. If Badger has deleted the table of a flush again,
// its rows are still in the store's log. If Badger has deleted the new tables of a compaction again, their rows are still in
// the old tables.
func TestFailedTableListSyncLosesNothing(t *testing.T) {
	hist := childHistory(testseed.Seed(t), fewKeys)
	for _, fault := range []string{
		"1 any once", "2 any on", "3 any once", "6 any on",
		"1 compaction once", "1 compaction on", "2 compaction once",
	} {
		if testing.Short() && fault[0] > '1' {
			continue // later syncs are made by the same goroutines, so the race detector needs only the first
		}
		t.Run(fault, func(t *testing.T) {
			t.Setenv(faultVariable, fault)
			dir := t.TempDir()
			p := startFaulty(t, dir, hist, 1<<40)
			wantNoLoss(t, p, dir, hist)
			if strings.Contains(fault, "compaction") && !strings.Contains(p.failure, "compacting tables") {
				t.Errorf("the child failed for another reason: %s", p.failure)
			}
		})
	}
}

// When a store is closed, the last sync of the list is that of the last flush.
func TestFailedTableListSyncAtCloseLosesNothing(t *testing.T) {
	hist := childHistory(testseed.Seed(t), fewKeys)
	t.Setenv(faultVariable, "2 any on")
	dir := t.TempDir()
	p := startFaulty(t, dir, hist, 3)
	wantNoLoss(t, p, dir, hist)
	if p.acked != 3 {
		t.Errorf("it ended before it was closed, after group %d", p.acked)
	}
}

// Errors of system calls, which strace injects, have the same effect as failing syncs. strace counts the calls of each thread
// separately.
func TestFailedSystemCallOnTheTableListLosesNothing(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("NOT TRIED: strace is not installed here")
	}
	hist := childHistory(testseed.Seed(t), fewKeys)
	for _, fault := range []string{
		"fsync:error=EIO:when=1", "fsync:error=ENOSPC:when=2+", "write:error=ENOSPC:when=1", "write:error=EIO:when=2+",
	} {
		t.Run(fault, func(t *testing.T) {
			dir := t.TempDir()
			closeStore(t, open(t, Options{Dir: dir, MemTable: minMemTable}))
			list := filepath.Join(dir, storeName, badger.ManifestFilename)
			p := startFaulty(t, dir, hist, 1<<40, strace, "-f", "-qqq", "-o", os.DevNull, "-P", list, "-e", "trace=fsync,write", "-e", "inject="+fault)
			wantNoLoss(t, p, dir, hist)
		})
	}
}

// tableChanges returns one change of the list for each table; all changes have the same operation.
func tableChanges(op pb.ManifestChange_Operation, level uint32, ids ...uint64) (changes []*pb.ManifestChange) {
	for _, id := range ids {
		changes = append(changes, &pb.ManifestChange{Id: id, Op: op, Level: level})
	}
	return changes
}

// If the sync of a record in the list has failed, this record need not be the last one, because another goroutine may have
// appended a record since. A record whose tables are missing is left out only if no row is lost.
func TestRecordOfAFailedSyncIsLeftOutWithoutLoss(t *testing.T) {
	const create, drop = pb.ManifestChange_CREATE, pb.ManifestChange_DELETE
	hist := childHistory(testseed.Seed(t), fewKeys)
	dir := t.TempDir()
	p := startChild(t, dir, hist, 250)
	p.readUntil(t, "done")
	acked := p.kill(t)
	list := filepath.Join(dir, storeName, badger.ManifestFilename)
	header, records, err := recordsOf(list)
	if err != nil {
		t.Fatal(err)
	}
	var flushedTables []uint64 // tables that were made by flushes, each in a record of its own
	for _, r := range records {
		if len(r) != 1 || r[0].Op != create {
			t.Fatalf("the list has a record %v", r)
		}
		flushedTables = append(flushedTables, r[0].Id)
	}
	if len(flushedTables) < 3 {
		t.Fatalf("%d tables", len(flushedTables))
	}
	lastTable := flushedTables[len(flushedTables)-1]
	compaction := slices.Concat(tableChanges(create, 6, 900, 901), tableChanges(drop, 0, flushedTables[0], flushedTables[1]))
	for name, c := range map[string]struct {
		records        [][]*pb.ManifestChange // records to append
		removedRecords int                    // number of records that are removed from the end before that
		deletedTable   uint64                 // number of the table to delete; 0: none
		wantOpen       bool
	}{
		"one flush":                  {[][]*pb.ManifestChange{tableChanges(create, 0, 900)}, 0, 0, true},
		"a compaction":               {[][]*pb.ManifestChange{compaction}, 0, 0, true},
		"a compaction, then a flush": {[][]*pb.ManifestChange{compaction, tableChanges(create, 0, 902)}, 0, 0, true},
		"a compaction, then a flush that succeeded":    {[][]*pb.ManifestChange{compaction, tableChanges(create, 0, lastTable)}, 1, 0, true},
		"a flush, then a flush that succeeded":         {[][]*pb.ManifestChange{tableChanges(create, 0, 900), tableChanges(create, 0, lastTable)}, 1, 0, false},
		"a compaction whose input is gone":             {[][]*pb.ManifestChange{compaction}, 0, flushedTables[0], false},
		"a compaction whose input was compacted again": {[][]*pb.ManifestChange{compaction, tableChanges(drop, 0, flushedTables[0])}, 0, 0, false},
		"a flush whose groups are not in the log":      {nil, 0, lastTable, false},
		"two flushes": {[][]*pb.ManifestChange{tableChanges(create, 0, 900), tableChanges(create, 0, 901)}, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			copyDir := t.TempDir()
			copyTree(t, dir, copyDir)
			copiedList := filepath.Join(copyDir, storeName, badger.ManifestFilename)
			writeRecords(t, copiedList, header, slices.Concat(records[:len(records)-c.removedRecords], c.records))
			if c.deletedTable != 0 {
				remove(t, badgerfile.TablePath(filepath.Dir(copiedList), c.deletedTable))
				replaceLog(t, copyDir, log.Mark{N: acked})
			}
			if c.wantOpen {
				wantHistory(t, copyDir, hist, make(model), 0, acked)
				closeStore(t, open(t, Options{Dir: copyDir, MemTable: minMemTable}))
				return
			}
			var damage *DamageError
			if _, err := Open(Options{Dir: copyDir, MemTable: minMemTable, Log: discardLog}); !errors.As(err, &damage) || unclear(err) != nil || !strings.HasSuffix(damage.Path, ".sst") {
				t.Errorf("Open = %v, want a *DamageError of a table", err)
			}
		})
	}
}

// recordsOf reads a list of tables in Badger's form: a header of 8 bytes, and then the records. Before each record are its
// length and its checksum, of 4 bytes each.
func recordsOf(path string) (header []byte, records [][]*pb.ManifestChange, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	header, b = b[:8], b[8:]
	for len(b) > 0 {
		changeSet, size := new(pb.ManifestChangeSet), 8+binary.BigEndian.Uint32(b)
		if err := proto.Unmarshal(b[8:size], changeSet); err != nil {
			return nil, nil, err
		}
		records, b = append(records, changeSet.Changes), b[size:]
	}
	return header, records, nil
}

// replacesTables tells whether a record's tables replace other tables, as those of a compaction do.
func replacesTables(record []*pb.ManifestChange) bool {
	return slices.ContainsFunc(record, func(c *pb.ManifestChange) bool { return c.Op == pb.ManifestChange_DELETE })
}

// writeRecords writes a list of tables with these records.
func writeRecords(t *testing.T, path string, header []byte, records [][]*pb.ManifestChange) {
	t.Helper()
	b := slices.Clone(header)
	for _, r := range records {
		changeSet, err := proto.Marshal(&pb.ManifestChangeSet{Changes: r})
		if err != nil {
			t.Fatal(err)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(changeSet)))
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(changeSet, castagnoli))
		b = append(b, changeSet...)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
