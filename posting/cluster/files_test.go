package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/posting/store"
)

// A directory belongs to a cluster with a certain number of shards. Directories of single servers and of unfinished restores are
// refused.
func TestDirectoryOfAnotherKindIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	for range 2 {
		if err := claimDirectory(dir, 5); err != nil {
			t.Fatal(err)
		}
	}
	if err := claimDirectory(dir, 4); !errors.Is(err, errOtherNumber) {
		t.Errorf("another number of shards: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, shardsName, countName), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := claimDirectory(dir, 5); err == nil {
		t.Error("a damaged number of shards is accepted")
	}
	unfinished := t.TempDir()
	if err := os.WriteFile(filepath.Join(unfinished, store.UnfinishedName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := claimDirectory(unfinished, 5); !errors.Is(err, store.ErrUnfinished) {
		t.Errorf("an unfinished restore: %v", err)
	}
	single := t.TempDir()
	if err := os.Mkdir(filepath.Join(single, "store"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := claimDirectory(single, 5); err == nil || !strings.Contains(err.Error(), "single server") {
		t.Errorf("a single server: %v", err)
	}
}
