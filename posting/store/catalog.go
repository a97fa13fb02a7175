package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4"
)

const catalogName = "TABLES"

var catalogMagic = []byte("mizanTB1")

const catalogEntry = 8 + 8 + 4 // id, size, checksum of the file

// catalog is the file DIR/TABLES: the size and checksum of each table. Badger's own list knows
// only the tables' numbers, and a table of another store, or an older one with the same number,
// is sound in itself. The file may be behind: a table that it doesn't list is accepted. Numbers
// are never reused while a store is open, and the file is refreshed before each opening, so a
// listed table must be the same one.
type catalog struct {
	path string
	busy sync.WaitGroup // refreshes beside the writer

	mu      sync.Mutex // guards the following fields
	running bool
	again   bool
}

// load returns the tables in the file; none if the file is missing or damaged, because then
// every table is accepted.
func (c *catalog) load() (known map[uint64]tableFile, damage bool, err error) {
	b, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	known, ok := parseCatalog(b)
	return known, !ok, nil
}

func parseCatalog(b []byte) (known map[uint64]tableFile, ok bool) {
	n := len(b) - crc32.Size
	if n < len(catalogMagic) || string(b[:len(catalogMagic)]) != string(catalogMagic) ||
		crc32.Checksum(b[:n], castagnoli) != binary.BigEndian.Uint32(b[n:]) {
		return nil, false
	}
	known = make(map[uint64]tableFile)
	for e := range slices.Chunk(b[len(catalogMagic):n], catalogEntry) {
		if len(e) != catalogEntry {
			return nil, false
		}
		t := tableFile{
			id:   binary.BigEndian.Uint64(e),
			size: int64(binary.BigEndian.Uint64(e[8:])),
			sum:  binary.BigEndian.Uint32(e[16:]),
		}
		known[t.id] = t
	}
	return known, true
}

func (c *catalog) write(tables map[uint64]tableFile) error {
	b := slices.Clone(catalogMagic)
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		b = binary.BigEndian.AppendUint64(b, id)
		b = binary.BigEndian.AppendUint64(b, uint64(tables[id].size))
		b = binary.BigEndian.AppendUint32(b, tables[id].sum)
	}
	return writeWhole(c.path, binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)))
}

// refreshSoon rewrites the file in the background. A late or failed refresh is harmless, because
// tables that are not listed are accepted.
func (c *catalog) refreshSoon(dir string, failed func(error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.again = c.running; c.running {
		return
	}
	c.running = true
	c.busy.Go(func() {
		for more := true; more; {
			if err := c.refresh(dir); err != nil {
				failed(err)
			}
			c.mu.Lock()
			more, c.again = c.again, false
			c.running = more
			c.mu.Unlock()
		}
	})
}

// refresh rewrites the file from Badger's list. It reads the tables that the file did not list.
func (c *catalog) refresh(dir string) error {
	known, _, err := c.load()
	if err != nil {
		return err
	}
	list, err := readList(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		return err
	}
	tables := make(map[uint64]tableFile, len(list.tables))
	for id := range list.tables {
		t, ok := known[id]
		if !ok {
			if t, err = identifyTable(tablePath(dir, id)); err != nil {
				continue // compaction is deleting it; an unlisted table is accepted
			}
		}
		tables[id] = t
	}
	return c.write(tables)
}
