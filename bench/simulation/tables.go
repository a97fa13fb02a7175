package simulation

import (
	"os"
	"path/filepath"

	"mizan/posting/store/badgerfile"
)

// storeFolder is Badger's directory. Badger opens its files itself, so they are not on the simulated disk.
const storeFolder = "store"

// keepTables records that the names of all tables that exist now are durable.
func (d *machineDisk) keepTables() {
	paths, _ := filepath.Glob(filepath.Join(d.root, storeFolder, "*.sst")) // the pattern is well-formed
	for _, path := range paths {
		d.tables[filepath.Base(path)] = true
	}
}

// loseTable removes, in a copy of the machine's files, the table of the last flush if its name is not durable. The names of
// tables that a compaction writes are always durable, because Badger syncs the directory itself.
func (d *machineDisk) loseTable(copied string) (lost string, err error) {
	store := filepath.Join(copied, storeFolder)
	if _, err := os.Stat(store); err != nil {
		return "", nil // there is no store
	}
	number, isFlush, err := badgerfile.LastFlush(store)
	if err != nil || !isFlush {
		return "", err
	}
	path := badgerfile.TablePath(store, number)
	if d.tables[filepath.Base(path)] {
		return "", nil
	}
	return filepath.Base(path), os.Remove(path)
}
