package backup_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mizan/internal/testseed"
	"mizan/snapshots/backup"
	"mizan/snapshots/fixture"
)

// lockDir locks a directory, as a running restore does with its directory.
func lockDir(t testing.TB, dir string) (unlock func()) {
	t.Helper()
	f, err := os.Open(dir)
	fixture.Must(t, err)
	fixture.Must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	return func() { fixture.Must(t, f.Close()) }
}

// alterBackup copies the backups of a chain into dir, and changes the copy of the backup chain[index].
func alterBackup(t testing.TB, dir string, chain []backup.FoundBackup, index int, change func([]byte) []byte) {
	t.Helper()
	for i, l := range chain {
		content, err := os.ReadFile(l.Path)
		fixture.Must(t, err)
		if i == index {
			content = change(bytes.Clone(content))
		}
		fixture.Must(t, os.WriteFile(filepath.Join(dir, filepath.Base(l.Path)), content, 0o600))
	}
}

// A flipped bit anywhere in a backup, or in its base, is found, with keys and without.
func TestFlippedBitAnywhereInABackupIsDetected(t *testing.T) {
	_, full, increment, keys := backUpChain(t)
	chain := []backup.FoundBackup{full, increment}
	random := testseed.Random(t)
	dir := t.TempDir()
	for index, original := range chain {
		offsets := []int64{0, 8, 9, 13, 20, original.Size - 1, original.Size - 32, original.Size - 36, original.Size - 41}
		for offset := int64(0); offset < original.Size; offset += 1 + random.Int64N(original.Size/40) {
			offsets = append(offsets, offset)
		}
		for _, offset := range offsets {
			alterBackup(t, dir, chain, index, func(b []byte) []byte { b[offset] ^= 1 << random.IntN(8); return b })
			if _, err := backup.Verify(t.Context(), filepath.Join(dir, filepath.Base(increment.Path)), time.Time{}, keys); err == nil {
				t.Errorf("backup %d: a bit flipped at %d of %d is not found", index, offset, original.Size)
			}
			if _, err := backup.CheckWithoutKeys(t.Context(), filepath.Join(dir, filepath.Base(original.Path))); err == nil {
				t.Errorf("backup %d: a bit flipped at %d of %d is not found without keys", index, offset, original.Size)
			}
		}
	}
}

// If bytes are missing, added, repeated or overwritten, nothing is restored, and the message says that the
// backup is damaged.
func TestBackupWithMissingOrRepeatedBytesIsNotRestored(t *testing.T) {
	_, full, increment, keys := backUpChain(t)
	chain := []backup.FoundBackup{full, increment}
	for name, change := range map[string]func([]byte) []byte{
		"nothing left":     func([]byte) []byte { return nil },
		"the end missing":  func(b []byte) []byte { return b[:len(b)-1] },
		"half of it":       func(b []byte) []byte { return b[:len(b)/2] },
		"a byte more":      func(b []byte) []byte { return append(b, 0) },
		"a hole":           func(b []byte) []byte { return append(b[:len(b)/3], b[len(b)/3+1000:]...) },
		"zeros":            func(b []byte) []byte { clear(b[len(b)/3 : len(b)/2]); return b },
		"zeros at the end": func(b []byte) []byte { return append(b[:len(b)-36], make([]byte, 36)...) },
		"a manifest twice": func(b []byte) []byte { return append(b, b[len(b)/2:]...) },
	} {
		for index, altered := range []string{"the full backup", "the increment"} {
			dir := t.TempDir()
			alterBackup(t, dir, chain, index, change)
			t.Run(altered+": "+name, func(t *testing.T) {
				wantRefused(t, filepath.Join(dir, filepath.Base(increment.Path)), keys, "the backup is damaged")
			})
		}
	}
}

// If the process that takes a backup is killed, it leaves no file with a backup's name. RemoveUnfinished removes the
// file that the killed process has left, but no file that is still being written.
func TestKilledBackupLeavesNoFileWithABackupName(t *testing.T) {
	server := fixture.Start(t, fixture.Copy(t))
	dir := t.TempDir()
	f, err := backup.CreateFile(dir)
	fixture.Must(t, err)
	_, err = f.Write([]byte("mizanBK1"))
	fixture.Must(t, err)
	if header, err := backup.ReadBase(t.Context(), dir, nil); err == nil || !strings.Contains(err.Error(), "there is no backup in it") {
		t.Errorf("an unfinished file is used as a backup: %+v, %v", header, err)
	}
	fixture.Must(t, backup.RemoveUnfinished(dir))
	if _, err := os.Stat(f.Name()); err != nil {
		t.Errorf("a file that is being written was removed: %v", err)
	}
	fixture.Must(t, f.Close())
	unfinished := filepath.Join(dir, ".mizan-123.unfinished")
	fixture.Must(t, os.WriteFile(unfinished, []byte("mizanBK1"), 0o600))
	fixture.Must(t, backup.RemoveUnfinished(dir))
	if _, err := os.Stat(unfinished); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file that a killed process has left is still there: %v", err)
	}
	saved := saveBackup(server, dir)
	server.Close()
	if !strings.HasPrefix(filepath.Base(saved.Path), "mizan-2026") {
		t.Errorf("a backup is called %s", saved.Path)
	}
}
