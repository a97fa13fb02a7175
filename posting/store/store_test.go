package store

import (
	"fmt"
	"io"
	"log/slog"
	"testing"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func mustOpen(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Log == nil {
		o.Log = quiet()
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func apply(t testing.TB, s *Store, rows map[string]string) {
	t.Helper()
	n, hash := s.LastGroup()
	g := NewGroup(n+1, hash)
	for k, v := range rows {
		g.Set([]byte(k), []byte(v))
	}
	g.Seal()
	if err := s.Apply(g); err != nil {
		t.Fatal(err)
	}
}

func TestQuick(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, Options{Dir: dir})
	for i := range 10 {
		apply(t, s, map[string]string{fmt.Sprintf("k%d", i): "v", "x": fmt.Sprint(i)})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, Options{Dir: dir})
	n, _ := s.LastGroup()
	sn := s.Snapshot()
	v, ok, err := sn.Get([]byte("x"), nil)
	t.Log(n, string(v), ok, err)
	k, v, ok, err := sn.Last([]byte("k"), nil)
	t.Log(string(k), string(v), ok, err)
	k, v, ok, err = sn.Last([]byte("x"), nil)
	t.Log(string(k), string(v), ok, err)
	sn.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
