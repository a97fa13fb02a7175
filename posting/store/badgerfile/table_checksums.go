package badgerfile

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	"mizan/internal/durable"
)

var catalogMagic = []byte("mizanTB1")

const catalogEntry = 8 + 8 + 4 // number, size and checksum of a table's file

// TableChecksums is the store's own catalog of tables: a file with the size and the checksum of each table. Badger's own list
// has only the numbers of the tables. So the list can't reveal that a table was replaced by a table of another store, or by
// an older table with the same number. The checksums inside such a table are valid. The catalog may lag behind Badger's list;
// a table that is not in the catalog is accepted. Numbers are never reused while a store is open, and the catalog is
// refreshed before each opening. So if a table differs from its catalog entry, it was replaced.
//
// Write, Refresh and the refresh that RefreshSoon starts must not run at the same time. A refresh started by RefreshSoon may
// run until Wait returns. All other methods are safe for concurrent use.
type TableChecksums struct {
	path      string
	refreshes sync.WaitGroup // refreshes in the background

	mu        sync.Mutex // guards the following fields
	isRunning bool       // a refresh runs in the background
	runAgain  bool       // another refresh must follow the one that runs
}

// NewTableChecksums returns the catalog in the file at path, which need not exist yet.
func NewTableChecksums(path string) *TableChecksums { return &TableChecksums{path: path} }

// Path returns the path of the file.
func (c *TableChecksums) Path() string { return c.path }

// Load returns the tables in the catalog. The keys of the map are the numbers of the tables. If the file is missing or
// damaged, Load returns no tables, so that every table is accepted. Errors are I/O errors that name the file.
func (c *TableChecksums) Load() (tables map[uint64]Table, damaged bool, err error) {
	b, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	tables, ok := parseCatalog(b)
	return tables, !ok, nil
}

func parseCatalog(content []byte) (tables map[uint64]Table, ok bool) {
	checksumStart := len(content) - crc32.Size
	if checksumStart < len(catalogMagic) || string(content[:len(catalogMagic)]) != string(catalogMagic) ||
		crc32.Checksum(content[:checksumStart], castagnoli) != binary.BigEndian.Uint32(content[checksumStart:]) {
		return nil, false
	}
	tables = make(map[uint64]Table)
	for entry := range slices.Chunk(content[len(catalogMagic):checksumStart], catalogEntry) {
		if len(entry) != catalogEntry {
			return nil, false
		}
		t := Table{
			ID:   binary.BigEndian.Uint64(entry),
			Size: int64(binary.BigEndian.Uint64(entry[8:])),
			Sum:  binary.BigEndian.Uint32(entry[16:]),
		}
		tables[t.ID] = t
	}
	return tables, true
}

// Write durably replaces the content of the catalog by these tables. Errors are I/O errors that name the file.
func (c *TableChecksums) Write(tables map[uint64]Table) error {
	b := slices.Clone(catalogMagic)
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		b = binary.BigEndian.AppendUint64(b, id)
		b = binary.BigEndian.AppendUint64(b, uint64(tables[id].Size))
		b = binary.BigEndian.AppendUint32(b, tables[id].Sum)
	}
	return durable.Replace(c.path, fileMode, binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)))
}

// RefreshSoon calls Refresh in the background. If Refresh fails, onError is called with the error. A late or failed
// refresh is harmless, because tables that are not in the catalog are accepted.
func (c *TableChecksums) RefreshSoon(dir string, onError func(error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runAgain = c.isRunning; c.isRunning {
		return
	}
	c.isRunning = true
	c.refreshes.Go(func() {
		for runs := true; runs; {
			if err := c.Refresh(dir); err != nil {
				onError(err)
			}
			c.mu.Lock()
			runs, c.runAgain = c.runAgain, false
			c.isRunning = runs
			c.mu.Unlock()
		}
	})
}

// Wait returns when no refresh runs in the background.
func (c *TableChecksums) Wait() { c.refreshes.Wait() }

// Refresh rewrites the catalog from Badger's list of tables in dir. It computes the checksums of tables that are not in the
// catalog yet. Refresh must not be called while another refresh runs in the background.
func (c *TableChecksums) Refresh(dir string) error {
	oldTables, _, err := c.Load()
	if err != nil {
		return err
	}
	list, err := readManifest(ManifestPath(dir))
	if err != nil {
		return err
	}
	tables := make(map[uint64]Table, len(list.tables))
	for id := range list.tables {
		t, ok := oldTables[id]
		if !ok {
			if t, err = identifyTable(TablePath(dir, id)); err != nil {
				continue // a compaction may have deleted the table; a table without an entry is accepted
			}
		}
		tables[id] = t
	}
	return c.Write(tables)
}
