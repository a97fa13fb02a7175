package badgerfile

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

const (
	logSuffix   = ".mem"
	tableSuffix = ".sst"
)

// ListPath returns the path of Badger's list of tables, given Badger's directory.
func ListPath(dir string) string { return filepath.Join(dir, badger.ManifestFilename) }

// LogPath returns the path of the write-ahead log with the number id. Each memtable has a log. The log of the memtable
// that Badger writes to has the highest number.
func LogPath(dir string, id uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%05d%s", id, logSuffix))
}

// TablePath returns the path of the table with the number id.
func TablePath(dir string, id uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%06d%s", id, tableSuffix))
}

// LogID returns the number in the file name of a write-ahead log; ok is false if name has another form.
func LogID(name string) (id uint64, ok bool) { return fileID(name, logSuffix) }

// TableID returns the number in the file name of a table; ok is false if name has another form.
func TableID(name string) (id uint64, ok bool) { return fileID(name, tableSuffix) }

// fileID returns the number in a file name that consists of a number and the suffix.
func fileID(name, suffix string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseUint(digits, 10, 32)
	return id, err == nil
}
