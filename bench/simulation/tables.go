package simulation

import (
	"os"
	"path/filepath"

	"mizan/posting/store/badgerfile"
)

// storeFolder is Badger's directory. Badger opens its files itself, so these files are not on the simulated disk.
const storeFolder = "store"

// keepTables records that the directory entries of all existing tables are now durable.
func (d *machineDisk) keepTables() {
	paths, _ := filepath.Glob(filepath.Join(d.root, d.data, storeFolder, "*.sst")) // the pattern is well-formed
	for _, path := range paths {
		d.tables[filepath.Base(path)] = true
	}
}

// loseTable works on a copy of the machine's files. It removes the table that the last flush has written, if the table's
// directory entry is not durable. Entries of tables that a compaction has written are always durable, because Badger itself
// syncs the directory.
func (d *machineDisk) loseTable(copied string) (lost string, err error) {
	store := filepath.Join(copied, d.data, storeFolder)
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
