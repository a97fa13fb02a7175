package shard_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A node whose files of Raft are older than its store, or partly lost, does not start: it could vote for a leader that lacks what it
// has confirmed.
func TestNodeWithOlderRaftFilesIsRefused(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 1)
	n := g.lead(g.nodes...)
	n.mustPay(1)
	n.stop()
	files, old := filepath.Join(n.dir, "raft"), filepath.Join(t.TempDir(), "old")
	if err := os.CopyFS(old, os.DirFS(files)); err != nil {
		t.Fatal(err)
	}
	n.connect()
	n.start()
	g.lead(n).mustPay(2)
	n.stop()
	current := filepath.Join(t.TempDir(), "current")
	if err := os.Rename(files, current); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, from, says string
		change           func(dir string) error
	}{
		{"set back", old, "set back", func(string) error { return nil }},
		{"without its vote", current, "is missing", func(dir string) error { return os.Remove(filepath.Join(dir, "wal-meta.db")) }},
		{"without its log", current, "set back", func(dir string) error {
			segments, err := filepath.Glob(filepath.Join(dir, "*.wal"))
			for _, segment := range segments {
				if err == nil {
					err = os.Remove(segment)
				}
			}
			return err
		}},
	} {
		err := os.RemoveAll(files)
		if err == nil {
			err = os.CopyFS(files, os.DirFS(c.from))
		}
		if err == nil {
			err = c.change(files)
		}
		if err != nil {
			t.Fatal(err)
		}
		n.connect()
		if err := n.open(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: a node starts: %v", c.name, err)
		}
	}
	if err := os.RemoveAll(files); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(files, os.DirFS(current)); err != nil {
		t.Fatal(err)
	}
	n.connect()
	n.start()
	g.lead(n).mustPay(3)
}
