package snapshots_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots"
)

// A restore is at work beside the directory that it makes, and whatever lies there that
// no restore has made is not its to remove: least of all a store that is served.
func TestARestoreRemovesNothingThatNoRestoreHasMade(t *testing.T) {
	from, _, _, keys := chainOf(t)
	data := filepath.Join(t.TempDir(), "data")
	there := data + snapshots.Restoring
	cfg := snapshots.RestoreConfig{From: from, Data: data, Keyring: keys, Log: quiet}

	j, err := posting.Open(posting.Options{Store: options(there), Clock: nowhere{}, Log: quiet})
	must(t, err)
	if _, err := snapshots.Restore(t.Context(), cfg); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a restore over a store that is open: %v", err)
	}
	must(t, j.Close())
	if _, err := snapshots.Restore(t.Context(), cfg); !errors.Is(err, snapshots.ErrInTheWay) {
		t.Errorf("a restore over a store that is closed: %v", err)
	}
	j, err = posting.Open(posting.Options{Store: options(there), Clock: nowhere{}, Log: quiet})
	must(t, err)
	must(t, j.Close())

	must(t, os.RemoveAll(there))
	must(t, os.WriteFile(there, []byte("a file"), 0o600))
	if _, err := snapshots.Restore(t.Context(), cfg); !errors.Is(err, snapshots.ErrInTheWay) {
		t.Errorf("a restore over a file: %v", err)
	}
	must(t, os.Remove(there))
	must(t, os.Mkdir(there, 0o700)) // a kill before the mark was made
	_, err = snapshots.Restore(t.Context(), cfg)
	must(t, err)
	if _, err := os.Lstat(filepath.Join(data, store.UnfinishedName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was accepted is marked as unfinished: %v", err)
	}
}

// What a restore has begun and not accepted looks like a store, and nobody opens it.
func TestAnUnfinishedRestoreIsOpenedByNobody(t *testing.T) {
	w := settle(t)
	sign := filepath.Join(w.dir, store.UnfinishedName)
	must(t, os.WriteFile(sign, nil, 0o600))
	if _, err := posting.Open(posting.Options{Store: options(w.dir), Clock: nowhere{}, Log: quiet}); !errors.Is(err, store.ErrUnfinished) {
		t.Errorf("a server opens it: %v", err)
	}
	var out, problems bytes.Buffer
	exit := snapshots.Verify(t.Context(), snapshots.VerifyConfig{Data: w.dir, Log: quiet}, &out, &problems)
	if exit != snapshots.ExitBroken || !strings.Contains(problems.String(), "restore again") || out.Len() > 0 {
		t.Errorf("the checker opens it: exit %d, %s%s", exit, &out, &problems)
	}
	o := options(w.dir)
	o.Unfinished = true
	j, err := posting.Open(posting.Options{Store: o, Clock: nowhere{}, Log: quiet})
	must(t, err)
	must(t, j.Close())
	must(t, os.Remove(sign))
	digestOf(t, w.dir)
}

// A place that can't become a data directory is refused before anything is read.
func TestARestoreToWhatIsNoDirectoryIsRefusedAtOnce(t *testing.T) {
	place := t.TempDir()
	file, link := filepath.Join(place, "file"), filepath.Join(place, "link")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Symlink(filepath.Join(place, "nowhere"), link))
	for _, data := range []string{file, link, filepath.Join(file, "data"), filepath.Join(place, "none", "data"), "/proc"} {
		cfg := snapshots.RestoreConfig{From: filepath.Join(place, "no backup"), Data: data, Log: quiet}
		var target *snapshots.TargetError
		if _, err := snapshots.Restore(t.Context(), cfg); !errors.As(err, &target) {
			t.Errorf("%s: %v, want a *TargetError", data, err)
		}
	}
}
