package evidence_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/cmd/mizan/audit/evidence"
)

func (j *journal) watch() *evidence.Watch { return &evidence.Watch{Key: j.key, Head: j.head()} }

func TestWatchFollowsAGrowingJournal(t *testing.T) {
	j := newJournal(t, 0)
	w := j.watch()
	for size, more := range []int{0, 1, 0, 5, 1, 1, 32, 0, 100} {
		j.append(more, "settle")
		if err := w.Advance(j.signed(), j.extend); err != nil {
			t.Fatalf("step %d: %v", size, err)
		}
		if w.Head.Tree != j.tree() {
			t.Errorf("step %d: the watch is at %+v, the journal at %+v", size, w.Head.Tree, j.tree())
		}
		again, err := evidence.ParseWatch(w.Encode())
		if err != nil {
			t.Fatal(err)
		}
		w = again
	}
}

func TestWatchRefusesAHeadThatDoesNotExtend(t *testing.T) {
	journal := newJournal(t, 9)
	copied := *journal // an older copy of the journal, which then gets different events
	w := journal.watch()
	journal.append(6, "settle")
	if err := w.Advance(journal.signed(), journal.extend); err != nil {
		t.Fatal(err)
	}
	before := w.Encode()
	refused := func(what string, err error, why string) {
		t.Helper()
		wantRefused(t, err, why)
		if !bytes.Equal(w.Encode(), before) {
			t.Fatalf("%s: the state moved", what)
		}
	}
	refused("an older copy", w.Advance(copied.signed(), copied.extend), "the journal shrank: it had 15 events, and has 9")
	copied.append(6, "refund")
	refused("a fork of the same length", w.Advance(copied.signed(), copied.extend), "two journals of 15 events")
	copied.append(8, "refund")
	refused("a longer fork", w.Advance(copied.signed(), copied.extend), "not proven to begin with the 15")
	journal.append(3, "settle")
	refused("a fork with the true one's proof", w.Advance(copied.signed(), func(from, _ int64) (tlog.TreeProof, error) {
		return journal.extend(from, int64(len(journal.leaves)))
	}), "not proven")
	refused("no hashes", w.Advance(journal.signed(), func(_, _ int64) (tlog.TreeProof, error) { return nil, nil }), "not proven")
	other := newJournal(t, 20)
	refused("another key", w.Advance(other.signed(), other.extend), "another key")
	foreign := *journal
	foreign.org = uuid.MustParse("0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a02")
	refused("another organization", w.Advance(foreign.signed(), foreign.extend), "is of organization 0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a02")
	spoilt := bytes.Replace(journal.signed(), []byte("\n18\n"), []byte("\n19\n"), 1)
	refused("a head that was changed", w.Advance(spoilt, journal.extend), "signature")
	if err := w.Advance(journal.signed(), journal.extend); err != nil {
		t.Errorf("the true one afterwards: %v", err)
	}
}

func TestWatchWithoutAProofKeepsItsHead(t *testing.T) {
	j := newJournal(t, 3)
	w := j.watch()
	j.append(1, "settle")
	silent := errors.New("no answer")
	if err := w.Advance(j.signed(), func(_, _ int64) (tlog.TreeProof, error) { return nil, silent }); !errors.Is(err, silent) {
		t.Errorf("error %v", err)
	}
	if w.Head.Tree.N != 3 {
		t.Errorf("the watch is at %d", w.Head.Tree.N)
	}
}

func TestChangedWatchStateIsRefused(t *testing.T) {
	j := newJournal(t, 5)
	state := j.watch().Encode()
	for at := range state {
		for _, flip := range flips {
			bad := bytes.Clone(state)
			bad[at] ^= flip
			if _, err := evidence.ParseWatch(bad); err == nil {
				t.Errorf("byte %d: %q for %q makes no difference", at, bad[at], state[at])
			}
		}
		if _, err := evidence.ParseWatch(state[:at]); err == nil {
			t.Errorf("cut off at %d: taken", at)
		}
	}
	_, err := evidence.ParseWatch(append(state, bytes.Repeat([]byte(" "), evidence.MaxFile)...))
	wantRefused(t, err, "the state is larger than 1048576 bytes")
}
