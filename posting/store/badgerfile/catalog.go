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

const catalogEntry = 8 + 8 + 4 // id, size, checksum of the file

// Catalog is the store's own file with the size and checksum of each table. Badger's list of tables has only
// their numbers. So Badger's list can't reveal that a table was replaced by one of another store, or by an older
// one with the same number, because such a table has valid checksums. The catalog may lag behind Badger's list:
// a table that the catalog doesn't have is accepted. Numbers are never reused while a store is open, and the
// catalog is refreshed before each opening. So if a table differs from its catalog entry, it was replaced.
//
// Only one method at a time may write the file; after RefreshSoon the file may be written until Wait returns. All
// other methods are safe for concurrent use.
type Catalog struct {
	path      string
	refreshes sync.WaitGroup // refreshes in the background

	mu        sync.Mutex // guards the following fields
	isRunning bool       // a refresh runs in the background
	runAgain  bool       // another refresh must follow the running one
}

// NewCatalog returns the catalog in the file at path, which need not exist yet.
func NewCatalog(path string) *Catalog { return &Catalog{path: path} }

// Path returns the path of the file.
func (c *Catalog) Path() string { return c.path }

// Load returns the tables in the catalog by number. If the file is missing or damaged, it returns no tables, so
// that every table is accepted. An error is an I/O error that names the file.
func (c *Catalog) Load() (tables map[uint64]Table, damaged bool, err error) {
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

// Write replaces the file durably by one with the given tables. An error is an I/O error that names the file.
func (c *Catalog) Write(tables map[uint64]Table) error {
	b := slices.Clone(catalogMagic)
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		b = binary.BigEndian.AppendUint64(b, id)
		b = binary.BigEndian.AppendUint64(b, uint64(tables[id].Size))
		b = binary.BigEndian.AppendUint32(b, tables[id].Sum)
	}
	return durable.Replace(c.path, fileMode, binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)))
}

// RefreshSoon calls Refresh in the background, and calls onError if that returns an error. A late or failed
// refresh is harmless, because tables that are not in the catalog are accepted.
func (c *Catalog) RefreshSoon(dir string, onError func(error)) {
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
func (c *Catalog) Wait() { c.refreshes.Wait() }

// Refresh rewrites the catalog from Badger's list of tables in dir. It computes the checksums of the tables that
// the catalog did not have. The caller must not call Refresh while another refresh runs in the background.
func (c *Catalog) Refresh(dir string) error {
	oldTables, _, err := c.Load()
	if err != nil {
		return err
	}
	list, err := readList(ListPath(dir))
	if err != nil {
		return err
	}
	tables := make(map[uint64]Table, len(list.tables))
	for id := range list.tables {
		t, ok := oldTables[id]
		if !ok {
			if t, err = identifyTable(TablePath(dir, id)); err != nil {
				continue // compaction is deleting the table; without an entry it is accepted
			}
		}
		tables[id] = t
	}
	return c.Write(tables)
}
