package serving

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"mizan/cmd/mizan/cli"
	"mizan/internal/durable"
)

// clockFile is the name of the file with the time of a manual clock. A manual clock moves only when a client asks for it. Only
// a store with a manual clock has this file.
const clockFile = "clock"

// clockLayout is the format of the time in the clock's file. Its resolution is a microsecond, like the journal's.
const clockLayout = "2006-01-02T15:04:05.000000Z"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readClock reads the last time of the manual clock from the file in dir. found is false if the store has no manual clock.
func readClock(dir string) (at time.Time, found bool, err error) {
	content, err := cli.ReadFile(filepath.Join(dir, clockFile), 256)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, err
	}
	text, _, _ := strings.Cut(string(content), " ")
	at, err = time.Parse(clockLayout, text)
	if err != nil || clockLine(at) != string(content) {
		return time.Time{}, false, fmt.Errorf("%s is damaged: restore it from a backup", filepath.Join(dir, clockFile))
	}
	return at.UTC(), true, nil
}

// writeClock stores the clock's value durably. It is called before the clock moves. Otherwise, after a kill, the clock could be
// behind the times of events in the store.
func writeClock(dir string, at time.Time) error {
	return durable.Replace(filepath.Join(dir, clockFile), 0o600, []byte(clockLine(at)))
}

// clockLine returns the file's content: the time and a checksum. Without the checksum a flipped digit would
// go unnoticed, because the result would still be a valid time.
func clockLine(at time.Time) string {
	text := at.UTC().Format(clockLayout)
	return fmt.Sprintf("%s %08x\n", text, crc32.Checksum([]byte(text), castagnoli))
}
