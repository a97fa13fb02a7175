package store

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"google.golang.org/protobuf/proto"
)

// MANIFEST, Badger's list of tables: manifestHeader bytes, then records. A record is
// the length and the CRC-32C of a ManifestChangeSet, then the set: one table made by a
// flush, or the tables that a compaction has made and those that they replace.
const (
	manifestHeader = 8 // the magic and the versions
	recordHead     = 8
)

// tableList is the list as it was read, and the tables that it names.
type tableList struct {
	header  []byte
	records []*pb.ManifestChangeSet
	tables  map[uint64]*pb.ManifestChange // by number: the change that made it

	void uint64 // a table of a record that was left out because it is not there; 0: none
}

// readList reads the list. Badger's own reader is the judge of the file: it refuses
// what is damaged, and tells where an append that was cut short begins.
func readList(path string) (*tableList, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, end, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions("").WithLogger(nil))
	if err != nil {
		return nil, err
	}
	b := make([]byte, end)
	if _, err := f.ReadAt(b, 0); err != nil {
		return nil, err
	}
	l := &tableList{header: b[:manifestHeader]}
	for b = b[manifestHeader:]; len(b) > 0; {
		size := recordHead + int(binary.BigEndian.Uint32(b))
		set := new(pb.ManifestChangeSet)
		if err := proto.Unmarshal(b[recordHead:size], set); err != nil {
			return nil, err
		}
		l.records = append(l.records, set)
		b = b[size:]
	}
	l.tables = tablesOf(l.records)
	return l, nil
}

func tablesOf(records []*pb.ManifestChangeSet) map[uint64]*pb.ManifestChange {
	tables := make(map[uint64]*pb.ManifestChange)
	for _, set := range records {
		for _, c := range set.Changes {
			if c.Op == pb.ManifestChange_CREATE {
				tables[c.Id] = c
			} else {
				delete(tables, c.Id)
			}
		}
	}
	return tables
}

// leaveOut takes the records out of the list whose tables Badger has taken back. When
// the sync of a record fails, Badger deletes the tables that the record names, but the
// record is in the file, or in the kernel's memory of it, all the same. Nothing is lost
// then: what was flushed is still in its log, what was compacted in the tables before.
// Records may follow, of a compactor that was just as far before the process ended.
//
// A record is left out only if what it stood for is there without it:
//   - of a flush, the last one: that its rows are in a log is then seen by the versions,
//     which must follow without a gap (examine);
//   - of a compaction, all tables that it replaced must be there, and no later record
//     may have touched them.
//
// Anything else that is missing is damage, and stays on the list to be found.
func (l *tableList) leaveOut(dir string) {
	there := func(id uint64) bool {
		info, err := os.Stat(tablePath(dir, id))
		return err == nil && info.Size() > 0 // Badger empties a file before it deletes it
	}
	var kept []*pb.ManifestChangeSet
	var void uint64
	for i, set := range l.records {
		missing := slices.IndexFunc(set.Changes, func(c *pb.ManifestChange) bool {
			return c.Op == pb.ManifestChange_CREATE && l.tables[c.Id] == c && !there(c.Id)
		})
		if missing >= 0 && l.replaceable(i, there) {
			void = set.Changes[missing].Id
			continue
		}
		kept = append(kept, set)
	}
	if void != 0 {
		l.records, l.tables, l.void = kept, tablesOf(kept), void
	}
}

// replaceable tells whether what the i-th record stood for is there without it.
func (l *tableList) replaceable(i int, there func(uint64) bool) bool {
	made, replaced := make(map[uint64]bool), make(map[uint64]bool)
	for _, c := range l.records[i].Changes {
		if c.Op == pb.ManifestChange_CREATE {
			made[c.Id] = true
		} else if replaced[c.Id] = true; !there(c.Id) {
			return false
		}
	}
	if len(replaced) == 0 && len(made) != 1 {
		return false // the list as it was last written anew
	}
	for _, later := range l.records[i+1:] {
		if len(replaced) == 0 && isFlush(later) {
			return false
		}
		for _, c := range later.Changes {
			if made[c.Id] || replaced[c.Id] {
				return false
			}
		}
	}
	return true
}

// isFlush tells whether a record is one of a flush, which replaces nothing.
func isFlush(set *pb.ManifestChangeSet) bool {
	return !slices.ContainsFunc(set.Changes, func(c *pb.ManifestChange) bool { return c.Op == pb.ManifestChange_DELETE })
}

// write puts a new file in the list's place: one record with every table. It is always
// done before Badger opens the store. A sync that failed leaves the kernel's memory of
// a file marked as clean, so syncing the old file again would prove nothing; and half a
// record, or one that was left out, must not stand before what is appended next.
func (l *tableList) write(path string) (end int64, err error) {
	set := new(pb.ManifestChangeSet)
	for _, id := range slices.Sorted(maps.Keys(l.tables)) {
		set.Changes = append(set.Changes, l.tables[id])
	}
	b, err := proto.Marshal(set)
	if err != nil {
		return 0, err
	}
	file := slices.Clone(l.header)
	file = binary.BigEndian.AppendUint32(file, uint32(len(b)))
	file = binary.BigEndian.AppendUint32(file, crc32.Checksum(b, castagnoli))
	file = append(file, b...)
	if err := writeWhole(path, file); err != nil {
		return 0, err
	}
	return int64(len(file)), syncDir(filepath.Dir(path))
}
