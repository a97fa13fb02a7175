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

// ManifestPath returns the path of the list of tables in Badger's directory dir.
func ManifestPath(dir string) string { return filepath.Join(dir, badger.ManifestFilename) }

// LogPath returns the path of the write-ahead log with the number id. Each memtable has a log. The newest memtable, to
// which Badger writes, has the log with the highest number.
func LogPath(dir string, id uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%05d%s", id, logSuffix))
}

// TablePath returns the path of the table with the number id.
func TablePath(dir string, id uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%06d%s", id, tableSuffix))
}

// LogID returns the number of the write-ahead log with this file name. If name is not the name of a write-ahead log,
// ok is false.
func LogID(name string) (id uint64, ok bool) { return fileID(name, logSuffix) }

// TableID returns the number of the table with this file name. If name is not the name of a table, ok is false.
func TableID(name string) (id uint64, ok bool) { return fileID(name, tableSuffix) }

// fileID parses a file name that consists of a number and the suffix, and returns the number.
func fileID(name, suffix string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseUint(digits, 10, 32)
	return id, err == nil
}
