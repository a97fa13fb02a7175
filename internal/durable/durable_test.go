package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
)

// wantFile checks that the file has the content and the mode, and that its directory has no other file.
func wantFile(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != content {
		t.Errorf("the file holds %q, %v, want %q", got, err, content)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != mode {
		t.Errorf("mode %v, %v, want %v", info.Mode(), err, mode)
	}
	if names := fileNames(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("the directory holds %q", names)
	}
}

func fileNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestReplaceCreatesOrReplacesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Replace(path, 0o644, []byte("one")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, "one", 0o644)
	if err := Replace(path, 0o600, []byte("second")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, "second", 0o600)
}

func TestCreateRefusesExistingNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Create(path, 0o600, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, 0o644, []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create over a file: %v", err)
	}
	wantFile(t, path, "one", 0o600)
}

func TestConcurrentCreatesHaveOneWinner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	winners := make(chan string, 32)
	var creators sync.WaitGroup
	for i := range cap(winners) {
		creators.Go(func() {
			content := fmt.Sprint("creator ", i)
			switch err := Create(path, 0o600, []byte(content)); {
			case err == nil:
				winners <- content
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	creators.Wait()
	if len(winners) != 1 {
		t.Fatalf("%d creators won", len(winners))
	}
	wantFile(t, path, <-winners, 0o600)
}

// TestFailedWriteChangesNothing tries to replace a directory, which fails.
func TestFailedWriteChangesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, 0o600, []byte("x")); err == nil {
		t.Error("a directory was replaced")
	}
	if names := fileNames(t, dir); !slices.Equal(names, []string{"file"}) {
		t.Errorf("the directory holds %q", names)
	}
	if err := Replace(filepath.Join(dir, "none", "file"), 0o600, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file in a directory that is not there: %v", err)
	}
}

func TestReplaceKeepsTheFilesOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := Create(path, 0o600, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 12345, 23456); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, 0o600, []byte("two")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, "two", 0o600)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 12345 || owner.Gid != 23456 {
		t.Errorf("the file belongs to %d:%d", owner.Uid, owner.Gid)
	}
}

func TestLeftoversAreRemovedAndNothingElse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd [name]")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	otherNames := []string{"file", ".file.bak.tmp", ".file..tmp", ".file.12", ".file.swp", "file.1.tmp", ".files.1.tmp", ".other.1.tmp", ".file.1x.tmp"}
	for _, name := range append(slices.Clone(otherNames), ".file.1.tmp", ".file.4294967295.tmp", ".second.7.tmp") {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	RemoveLeftovers(dir, "file", "second")
	RemoveLeftovers(filepath.Join(dir, "none"), "file")
	slices.Sort(otherNames)
	if names := fileNames(t, dir); !slices.Equal(names, otherNames) {
		t.Errorf("the directory holds %q, want %q", names, otherNames)
	}
}

func TestKillLeavesOnlyLeftovers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file*")
	f, err := createTemporary(path) // as if the process had been killed during a write
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	RemoveLeftovers(filepath.Dir(path), filepath.Base(path))
	if names := fileNames(t, filepath.Dir(path)); len(names) != 0 {
		t.Errorf("the directory holds %q", names)
	}
}
