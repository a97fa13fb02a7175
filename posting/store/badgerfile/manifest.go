package badgerfile

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"os"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"google.golang.org/protobuf/proto"

	"mizan/internal/durable"
)

// Badger's list of tables, the file MANIFEST, consists of a header and records. A record consists of the length of a
// ManifestChangeSet, its CRC-32C, and the set itself. The set of a flush names the table that the flush has made. The set
// of a compaction names the tables that the compaction has made, and the tables that they replace.
const (
	manifestHeader = 8 // the magic and the versions
	recordHead     = 8
)

// manifest is the content of Badger's list of tables.
type manifest struct {
	header  []byte
	records []*pb.ManifestChangeSet
	tables  map[uint64]*pb.ManifestChange // key: a table's number; value: the change that created the table
}

// readManifest reads the list of tables with Badger's own reader. The reader returns an error for damage, and ignores an
// incomplete last record.
func readManifest(path string) (*manifest, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, end, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions("").WithLogger(nil))
	if err != nil {
		return nil, err
	}
	content := make([]byte, end)
	if _, err := f.ReadAt(content, 0); err != nil {
		return nil, err
	}
	l := &manifest{header: content[:manifestHeader]}
	for content = content[manifestHeader:]; len(content) > 0; {
		size := recordHead + int(binary.BigEndian.Uint32(content))
		set := new(pb.ManifestChangeSet)
		if err := proto.Unmarshal(content[recordHead:size], set); err != nil {
			return nil, err
		}
		l.records = append(l.records, set)
		content = content[size:]
	}
	l.tables = tablesOf(l.records)
	return l, nil
}

// tablesOf returns the tables that exist after all records. The keys are the numbers of the tables, and the values
// are the changes that created them.
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

// LastFlush returns the number of the table that the last record of the list in dir creates. If a flush has not written that
// record, ok is false.
func LastFlush(dir string) (table uint64, ok bool, err error) {
	l, err := readManifest(ManifestPath(dir))
	if err != nil || len(l.records) == 0 {
		return 0, false, err
	}
	last := l.records[len(l.records)-1]
	if len(last.Changes) != 1 || !isFlush(last) {
		return 0, false, nil
	}
	return last.Changes[0].Id, true, nil
}

// omitLostRecords removes a record from the list if the sync of the record has failed and the record's tables are therefore
// missing. If the sync of a record fails, Badger deletes the tables that the record creates, but the record is still in the
// file or in the kernel's page cache. In this case no rows are lost: the rows of a flush are still in the store's log, and
// the rows of a compaction are still in the old tables, which were not replaced. After such a record there may be records
// of another compaction, which ran at the same time.
//
// A record is left out only if the rows of its tables exist elsewhere:
//   - The record of a flush is left out only if no other flush follows. Its rows should then be in the store's log.
//     If they are not, the store notices that groups are missing.
//   - The record of a compaction is left out only if all tables that it replaced exist and no later record
//     has changed them.
//
// Any other missing table is damage and stays on the list, so that Examine reports the table as missing.
// omitLostRecords returns the number of a table that a left-out record created, or 0 if no record was left out.
func (m *manifest) omitLostRecords(dir string) (table uint64) {
	exists := func(id uint64) bool {
		info, err := os.Stat(TablePath(dir, id))
		return err == nil && info.Size() > 0 // Badger truncates a file before it deletes the file
	}
	var records []*pb.ManifestChangeSet
	for i, set := range m.records {
		missing := slices.IndexFunc(set.Changes, func(c *pb.ManifestChange) bool {
			return c.Op == pb.ManifestChange_CREATE && m.tables[c.Id] == c && !exists(c.Id)
		})
		if missing >= 0 && m.isReplaceable(i, exists) {
			table = set.Changes[missing].Id
			continue
		}
		records = append(records, set)
	}
	if table != 0 {
		m.records, m.tables = records, tablesOf(records)
	}
	return table
}

// isReplaceable tells whether record i can be left out, because the rows of its tables also exist elsewhere.
func (m *manifest) isReplaceable(i int, exists func(uint64) bool) bool {
	createdIDs, replacedIDs := make(map[uint64]bool), make(map[uint64]bool)
	for _, c := range m.records[i].Changes {
		if c.Op == pb.ManifestChange_CREATE {
			createdIDs[c.Id] = true
		} else if replacedIDs[c.Id] = true; !exists(c.Id) {
			return false
		}
	}
	if len(replacedIDs) == 0 && len(createdIDs) != 1 {
		return false // not a flush, but the first record of a rewritten list, which creates all tables
	}
	for _, later := range m.records[i+1:] {
		if len(replacedIDs) == 0 && isFlush(later) {
			return false
		}
		for _, c := range later.Changes {
			if createdIDs[c.Id] || replacedIDs[c.Id] {
				return false
			}
		}
	}
	return true
}

// isFlush tells whether a flush has written the record. Such a record deletes no table.
func isFlush(record *pb.ManifestChangeSet) bool {
	return !slices.ContainsFunc(record.Changes, func(c *pb.ManifestChange) bool { return c.Op == pb.ManifestChange_DELETE })
}

// write replaces the list by a new file with one record of all tables. It runs each time before Badger opens its files, for
// two reasons. First, after a failed sync the kernel marks a file's pages as clean, so a second sync of the old file could
// succeed although the data is not on the disk. Second, Badger must not append records after an incomplete or left-out
// record.
func (m *manifest) write(path string) (end int64, err error) {
	set := new(pb.ManifestChangeSet)
	for _, id := range slices.Sorted(maps.Keys(m.tables)) {
		set.Changes = append(set.Changes, m.tables[id])
	}
	b, err := proto.Marshal(set)
	if err != nil {
		return 0, err
	}
	file := slices.Clone(m.header)
	file = binary.BigEndian.AppendUint32(file, uint32(len(b)))
	file = binary.BigEndian.AppendUint32(file, crc32.Checksum(b, castagnoli))
	file = append(file, b...)
	return int64(len(file)), durable.Replace(path, fileMode, file)
}
