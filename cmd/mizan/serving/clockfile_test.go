package serving

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

var noon = time.Date(2026, 9, 3, 12, 0, 0, 0, time.UTC)

func TestClockFileKeepsTheInstant(t *testing.T) {
	dir := t.TempDir()
	if _, found, err := readClock(dir); found || err != nil {
		t.Errorf("an empty directory has a clock: %v, %v", found, err)
	}
	at := time.Date(2026, 9, 3, 10, 15, 30, 123456000, time.UTC)
	for range 2 {
		if err := writeClock(dir, at); err != nil {
			t.Fatal(err)
		}
		if got, found, err := readClock(dir); !got.Equal(at) || !found || err != nil {
			t.Errorf("read %v, %v, %v, want %v", got, found, err, at)
		}
		at = at.Add(time.Microsecond)
	}
}

func TestDamagedClockFileIsDetected(t *testing.T) {
	dir := t.TempDir()
	if err := writeClock(dir, noon); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, clockFile)
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, i int, content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if at, _, err := readClock(dir); err == nil {
			t.Errorf("%s at %d was read as %v", what, i, at)
		}
	}
	for i := range stored {
		try("cut", i, stored[:i])
		for bit := range 8 {
			flipped := append([]byte(nil), stored...)
			flipped[i] ^= 1 << bit
			try("flip", i, flipped)
		}
	}
	try("tail", len(stored), append(append([]byte(nil), stored...), 'x'))
}
