package backup_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mizan/posting/store"
	"mizan/snapshots/backup"
	"mizan/snapshots/fixture"
)

// flipBit flips a bit in the middle of a backup's file, where its parts are.
func flipBit(t testing.TB, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	fixture.Must(t, err)
	content[len(content)/2] ^= 1
	fixture.Must(t, os.WriteFile(path, content, 0o600))
}

// copyBackup writes a changed copy of a backup to a file in the backup's directory and returns its path.
func copyBackup(t testing.TB, l backup.FoundBackup, name string, change func([]byte) []byte) string {
	t.Helper()
	content, err := os.ReadFile(l.Path)
	fixture.Must(t, err)
	path := filepath.Join(filepath.Dir(l.Path), name)
	fixture.Must(t, os.WriteFile(path, change(bytes.Clone(content)), 0o600))
	return path
}

// verifyBackup reads the backup at a path to the end.
func verifyBackup(t testing.TB, from string, keys backup.Sealer) (*backup.RestoreResult, error) {
	t.Helper()
	return backup.Verify(t.Context(), from, time.Time{}, keys)
}

// Before a schedule takes an increment, it reads all backups that the increment needs. If one of them has
// been damaged, the schedule takes a full backup instead.
func TestScheduleTakesAFullBackupAfterADamagedOne(t *testing.T) {
	for name, damagedIndex := range map[string]int{"the newest backup": 1, "its base": 0} {
		t.Run(name, func(t *testing.T) {
			server := fixture.Start(t, fixture.Copy(t))
			dir := t.TempDir()
			chain := []backup.FoundBackup{saveBackup(server, dir), saveBackup(server, dir)}
			if chain[1].Header.Since == nil {
				t.Fatal("the second backup is no increment")
			}
			flipBit(t, chain[damagedIndex].Path)
			server.Advance(time.Second)
			thirdBackup := saveBackup(server, dir)
			if thirdBackup.Header.Since != nil {
				t.Errorf("the base of the next backup is %+v", thirdBackup.Header.Since)
			}
			server.Advance(time.Second)
			if increment := saveBackup(server, dir); increment.Header.Since == nil || increment.Header.Since.ID != thirdBackup.Header.ID {
				t.Errorf("the one after it is %+v, want an increment to it", increment.Header)
			}
			server.Close()
			_, err := verifyBackup(t, dir, fixture.Keyring(t, server.Dir))
			fixture.Must(t, err)
		})
	}
}

// ReadBase refuses a backup that can't be restored as the base of an increment, with keys and without.
func TestReadBaseReadsTheWholeChain(t *testing.T) {
	dir, full, increment, keys := backUpChain(t)
	for _, sealer := range []backup.Sealer{nil, keys} {
		for _, path := range []string{dir, increment.Path} {
			if header, err := backup.ReadBase(t.Context(), path, sealer); err != nil || header.ID != increment.Header.ID {
				t.Errorf("%s is %+v, %v", path, header, err)
			}
		}
	}
	flipBit(t, full.Path)
	for _, sealer := range []backup.Sealer{nil, keys} {
		if _, err := backup.ReadBase(t.Context(), increment.Path, sealer); !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("an increment to a damaged backup: %v", err)
		}
	}
	fixture.Must(t, os.Remove(full.Path))
	if _, err := backup.ReadBase(t.Context(), increment.Path, nil); err == nil || !strings.Contains(err.Error(), "which is not in the same directory") {
		t.Errorf("an increment whose base is missing: %v", err)
	}
}

// firstHalf returns the first half of a file, as an interrupted copy leaves it.
func firstHalf(b []byte) []byte { return b[:len(b)/2] }

// The header of a backup that was cut short still says when the backup was taken. If that backup is
// not needed, it is reported and has no effect. If it is the newest, the restore fails; it does not use an older one.
func TestTruncatedBackupMattersOnlyIfNeeded(t *testing.T) {
	dir, _, increment, keys := backUpChain(t)
	server := openAt(t, fixture.Copy(t), increment.Header.TakenAt.Add(time.Hour))
	laterBackup := saveBackup(server, t.TempDir())
	server.Close()
	content, err := os.ReadFile(laterBackup.Path)
	fixture.Must(t, err)
	newestPath := filepath.Join(dir, "newest.backup")
	fixture.Must(t, os.WriteFile(newestPath, firstHalf(content), 0o600))
	if _, err := verifyBackup(t, dir, keys); !errors.Is(err, backup.ErrDamaged) || !strings.Contains(err.Error(), "newest.backup") {
		t.Errorf("the newest is half a backup: %v", err)
	}
	for _, from := range []struct {
		path string
		at   time.Time
	}{{dir, increment.Header.TakenAt}, {increment.Path, time.Time{}}} {
		result, err := backup.Verify(t.Context(), from.path, from.at, keys)
		if err != nil || result.Header.ID != increment.Header.ID || len(result.UnusedFaults) != 1 || !strings.Contains(result.UnusedFaults[0].Error(), newestPath) {
			t.Errorf("%s beside half a backup: %+v, %v", from.path, result, err)
		}
	}
}

func TestTruncatedBackupIsNoBase(t *testing.T) {
	dir, full, _, keys := backUpChain(t)
	copyBackup(t, full, "half.backup", firstHalf)
	fixture.Must(t, os.Rename(full.Path, filepath.Join(t.TempDir(), "away")))
	if _, err := verifyBackup(t, dir, keys); !errors.Is(err, backup.ErrDamaged) || !strings.Contains(err.Error(), "half.backup") {
		t.Errorf("an increment to half a backup: %v", err)
	}
}

// A file without a readable header may be the newest backup. So a restore from the directory is
// refused; a restore from a named file in the directory works.
func TestUnreadableHeaderStopsARestoreFromItsDirectory(t *testing.T) {
	dir, _, increment, keys := backUpChain(t)
	unreadablePath := copyBackup(t, increment, "unreadable.backup", func(b []byte) []byte { b[13] ^= 0x80; return b })
	wantRefused(t, dir, keys, "name the file to use")
	wantRefused(t, dir, keys, unreadablePath)
	result, err := verifyBackup(t, increment.Path, keys)
	if err != nil || len(result.UnusedFaults) != 1 || !strings.Contains(result.UnusedFaults[0].Error(), unreadablePath) {
		t.Errorf("the file that is meant: %+v, %v", result, err)
	}
	copyBackup(t, increment, "unreadable.backup", func(b []byte) []byte { return bytes.Replace(b, []byte(`"version":1`), []byte(`"version":2`), 1) })
	if _, err := verifyBackup(t, dir, keys); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("a directory with a backup in a newer format: %v", err)
	}
}

// A header that was forged to claim an earlier time is refused. Otherwise an older backup would be restored
// in place of the newest one.
func TestForgedHeaderCannotHideTheNewestBackup(t *testing.T) {
	dir, _, increment, keys := backUpChain(t)
	fixture.Must(t, os.Rename(copyBackup(t, increment, "x", func(b []byte) []byte {
		return bytes.Replace(b, []byte(`"taken_at":"2026`), []byte(`"taken_at":"2025`), 1)
	}), increment.Path))
	wantRefused(t, dir, keys, "its header is not the one of its manifest")
}

// If one copy of a backup is whole and others are damaged, the whole copy is used, whichever name comes first.
func TestWholeCopyOfABackupIsUsed(t *testing.T) {
	flipMiddle := func(b []byte) []byte { b[len(b)/2] ^= 1; return b }
	for _, name := range []string{"a.backup", "z.backup"} {
		dir, full, increment, keys := backUpChain(t)
		copyBackup(t, full, "full-"+name, flipMiddle)
		copyBackup(t, increment, "increment-"+name, flipMiddle)
		copyBackup(t, increment, "half-"+name, firstHalf)
		for _, from := range []string{dir, increment.Path} {
			if result, err := verifyBackup(t, from, keys); err != nil || result.UsedBackups != 2 || result.Header.ID != increment.Header.ID {
				t.Errorf("%s: %+v, %v", from, result, err)
			}
		}
	}
}

// A pipe with a backup's name is not a backup, and reading the directory does not block on it.
func TestPipeIsNotABackup(t *testing.T) {
	source := fixture.Copy(t)
	server := fixture.Start(t, source)
	dir := t.TempDir()
	saveBackup(server, dir)
	pipe := filepath.Join(dir, "pipe.backup")
	fixture.Must(t, syscall.Mkfifo(pipe, 0o600))
	fixture.Must(t, syscall.Mkfifo(filepath.Join(dir, ".mizan-1.unfinished"), 0o600))
	fixture.Must(t, os.Symlink("nothing", filepath.Join(dir, "link.backup")))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // so that the test ends if a read of a pipe hangs
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		server.Advance(time.Second)
		service := backupService(server)
		_, err := service.SaveAndPrune(dir, 10)
		if _, pipeErr := backup.ReadBase(ctx, pipe, nil); !errors.Is(pipeErr, backup.ErrChoice) {
			err = errors.Join(err, errors.New("a pipe is used as a backup"), pipeErr)
		}
		_, dirErr := backup.ReadBase(ctx, dir, nil)
		ended <- errors.Join(err, dirErr)
	}()
	select {
	case err := <-ended:
		fixture.Must(t, err)
	case <-ctx.Done():
		t.Fatal("a reader blocks on a pipe")
	}
	server.Close()
}

// Messages about a damaged file say what is wrong with it.
func TestErrorsAboutFilesSayWhatIsWrong(t *testing.T) {
	_, full, _, keys := backUpChain(t)
	for wantText, change := range map[string]func([]byte) []byte{
		"its header claims to have 70000 bytes, but the limit is 65536": func(b []byte) []byte { copy(b[9:], []byte{0, 1, 0x11, 0x70}); return b },
		"there is something else where its header should begin":         func(b []byte) []byte { b[8] = 'x'; return b },
	} {
		_, err := verifyBackup(t, copyBackup(t, full, "x", change), keys)
		if !errors.Is(err, backup.ErrDamaged) || !strings.Contains(err.Error(), wantText) {
			t.Errorf("%v, want something with %q", err, wantText)
		}
	}
}
