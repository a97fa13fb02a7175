package backup_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/backup"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// A restore works in a directory beside its target. If that directory exists and was not created by a
// restore, the restore does not remove it. In particular, it removes no store, open or closed.
func TestRestoreRemovesOnlyDirectoriesOfRestores(t *testing.T) {
	from, _, _, keys := backUpChain(t)
	data := filepath.Join(t.TempDir(), "data")
	workDir := data + backup.RestoringSuffix
	cfg := backup.RestoreConfig{From: from, Data: data, Keyring: keys, Log: fixture.NoLog}

	j, err := posting.Open(posting.Options{Store: fixture.Options(workDir), Clock: fixedClock{}, Log: fixture.NoLog})
	fixture.Must(t, err)
	if _, err := backup.Restore(t.Context(), cfg); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a restore over a store that is open: %v", err)
	}
	fixture.Must(t, j.Close())
	if _, err := backup.Restore(t.Context(), cfg); !errors.Is(err, backup.ErrInTheWay) {
		t.Errorf("a restore over a store that is closed: %v", err)
	}
	j, err = posting.Open(posting.Options{Store: fixture.Options(workDir), Clock: fixedClock{}, Log: fixture.NoLog})
	fixture.Must(t, err)
	fixture.Must(t, j.Close())

	fixture.Must(t, os.RemoveAll(workDir))
	fixture.Must(t, os.WriteFile(workDir, []byte("a file"), 0o600))
	if _, err := backup.Restore(t.Context(), cfg); !errors.Is(err, backup.ErrInTheWay) {
		t.Errorf("a restore over a file: %v", err)
	}
	fixture.Must(t, os.Remove(workDir))
	fixture.Must(t, os.Mkdir(workDir, 0o700)) // empty, as it is after a restore was killed before writing any file
	_, err = backup.Restore(t.Context(), cfg)
	fixture.Must(t, err)
	if _, err := os.Lstat(filepath.Join(data, store.UnfinishedName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of a complete restore is marked as unfinished: %v", err)
	}
}

// An unfinished restore may look like a complete store, but no server and no checker opens it.
func TestUnfinishedRestoreCannotBeOpened(t *testing.T) {
	source := fixture.Copy(t)
	mark := filepath.Join(source.Dir, store.UnfinishedName)
	fixture.Must(t, os.WriteFile(mark, nil, 0o600))
	if _, err := posting.Open(posting.Options{Store: fixture.Options(source.Dir), Clock: fixedClock{}, Log: fixture.NoLog}); !errors.Is(err, store.ErrUnfinished) {
		t.Errorf("a server opens it: %v", err)
	}
	var out, problems bytes.Buffer
	exit := check.Verify(t.Context(), check.VerifyConfig{Data: source.Dir, Log: fixture.NoLog}, &out, &problems)
	if exit != check.ExitBroken || !strings.Contains(problems.String(), "restore again") || out.Len() > 0 {
		t.Errorf("the checker opens it: exit %d, %s%s", exit, &out, &problems)
	}
	o := fixture.Options(source.Dir)
	o.AllowUnfinished = true
	j, err := posting.Open(posting.Options{Store: o, Clock: fixedClock{}, Log: fixture.NoLog})
	fixture.Must(t, err)
	fixture.Must(t, j.Close())
	fixture.Must(t, os.Remove(mark))
	digestOf(t, source.Dir)
}

// A target that can't become a data directory is refused before anything is read.
func TestRestoreToAnUnusableTargetIsRefusedAtOnce(t *testing.T) {
	parent := t.TempDir()
	file, link := filepath.Join(parent, "file"), filepath.Join(parent, "link")
	fixture.Must(t, os.WriteFile(file, nil, 0o600))
	fixture.Must(t, os.Symlink(filepath.Join(parent, "absent"), link))
	for _, data := range []string{file, link, filepath.Join(file, "data"), filepath.Join(parent, "none", "data"), "/proc"} {
		cfg := backup.RestoreConfig{From: filepath.Join(parent, "no backup"), Data: data, Log: fixture.NoLog}
		var target *backup.TargetError
		if _, err := backup.Restore(t.Context(), cfg); !errors.As(err, &target) {
			t.Errorf("%s: %v, want a *TargetError", data, err)
		}
	}
}
