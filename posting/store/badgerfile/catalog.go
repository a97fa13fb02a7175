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

// Catalog is the store's own file with the size and checksum of each table. Badger's own list has only
// the tables' numbers. It can't reveal a table of another store, or an older table with the same
// number, because each of them is sound in itself. The file may be behind: a table that it doesn't list
// is accepted. Numbers are never reused while a store is open, and the file is refreshed before each
// opening, so a listed table must be the same one.
//
// Only one method at a time may write the file; RefreshSoon writes until Wait returns. All other
// methods are safe for concurrent use.
type Catalog struct {
	path string
	busy sync.WaitGroup // refreshes in the background

	mu       sync.Mutex // guards the following fields
	running  bool
	runAgain bool
}

// NewCatalog returns the catalog in the file at path, which need not exist yet.
func NewCatalog(path string) *Catalog { return &Catalog{path: path} }

// Path returns the path of the file.
func (c *Catalog) Path() string { return c.path }

// Load returns the tables in the file by number; none if the file is missing, or damaged, because
// then every table is accepted. An error is an I/O error that names the file.
func (c *Catalog) Load() (known map[uint64]Table, damaged bool, err error) {
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

func parseCatalog(b []byte) (known map[uint64]Table, ok bool) {
	n := len(b) - crc32.Size
	if n < len(catalogMagic) || string(b[:len(catalogMagic)]) != string(catalogMagic) ||
		crc32.Checksum(b[:n], castagnoli) != binary.BigEndian.Uint32(b[n:]) {
		return nil, false
	}
	known = make(map[uint64]Table)
	for e := range slices.Chunk(b[len(catalogMagic):n], catalogEntry) {
		if len(e) != catalogEntry {
			return nil, false
		}
		t := Table{
			ID:   binary.BigEndian.Uint64(e),
			Size: int64(binary.BigEndian.Uint64(e[8:])),
			Sum:  binary.BigEndian.Uint32(e[16:]),
		}
		known[t.ID] = t
	}
	return known, true
}

// Write makes the file durable with these tables. An error is an I/O error that names the file.
func (c *Catalog) Write(tables map[uint64]Table) error {
	b := slices.Clone(catalogMagic)
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		b = binary.BigEndian.AppendUint64(b, id)
		b = binary.BigEndian.AppendUint64(b, uint64(tables[id].Size))
		b = binary.BigEndian.AppendUint32(b, tables[id].Sum)
	}
	return durable.Replace(c.path, fileMode, binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)))
}

// RefreshSoon rewrites the file in the background from the list of tables in dir, and calls onError
// with an error. A late or failed refresh is harmless, because tables that are not listed are
// accepted.
func (c *Catalog) RefreshSoon(dir string, onError func(error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runAgain = c.running; c.running {
		return
	}
	c.running = true
	c.busy.Go(func() {
		for more := true; more; {
			if err := c.Refresh(dir); err != nil {
				onError(err)
			}
			c.mu.Lock()
			more, c.runAgain = c.runAgain, false
			c.running = more
			c.mu.Unlock()
		}
	})
}

// Wait returns when no refresh runs in the background.
func (c *Catalog) Wait() { c.busy.Wait() }

// Refresh rewrites the file from the list of tables in dir. It reads the tables that the file did
// not list. No refresh may run in the background.
func (c *Catalog) Refresh(dir string) error {
	known, _, err := c.Load()
	if err != nil {
		return err
	}
	list, err := readList(ListPath(dir))
	if err != nil {
		return err
	}
	tables := make(map[uint64]Table, len(list.tables))
	for id := range list.tables {
		t, ok := known[id]
		if !ok {
			if t, err = identifyTable(TablePath(dir, id)); err != nil {
				continue // compaction is deleting it; an unlisted table is accepted
			}
		}
		tables[id] = t
	}
	return c.Write(tables)
}
