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
	for step, count := range []int{0, 1, 0, 5, 1, 1, 32, 0, 100} {
		j.appendEvents(count, "settle")
		if err := w.Advance(j.signedHead(), j.proveExtension); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		if w.Head.Tree != j.tree() {
			t.Errorf("step %d: the watch is at %+v, the journal at %+v", step, w.Head.Tree, j.tree())
		}
		decoded, err := evidence.ParseWatch(w.Encode())
		if err != nil {
			t.Fatal(err)
		}
		w = decoded
	}
}

func TestWatchRefusesAHeadThatDoesNotExtend(t *testing.T) {
	journal := newJournal(t, 9)
	fork := *journal // an older copy of the journal, to which other events are added
	w := journal.watch()
	journal.appendEvents(6, "settle")
	if err := w.Advance(journal.signedHead(), journal.proveExtension); err != nil {
		t.Fatal(err)
	}
	before := w.Encode()
	wantHeadRefused := func(what string, err error, why string) {
		t.Helper()
		wantRefused(t, err, why)
		if !bytes.Equal(w.Encode(), before) {
			t.Fatalf("%s: the state moved", what)
		}
	}
	wantHeadRefused("an older copy", w.Advance(fork.signedHead(), fork.proveExtension), "the journal shrank: it had 15 events, and has 9")
	fork.appendEvents(6, "refund")
	wantHeadRefused("a fork of the same length", w.Advance(fork.signedHead(), fork.proveExtension), "two journals of 15 events")
	fork.appendEvents(8, "refund")
	wantHeadRefused("a longer fork", w.Advance(fork.signedHead(), fork.proveExtension), "not proven to begin with the 15")
	journal.appendEvents(3, "settle")
	wantHeadRefused("a fork with the true one's proof", w.Advance(fork.signedHead(), func(from, _ int64) (tlog.TreeProof, error) {
		return journal.proveExtension(from, int64(len(journal.leaves)))
	}), "not proven")
	wantHeadRefused("no hashes", w.Advance(journal.signedHead(), func(_, _ int64) (tlog.TreeProof, error) { return nil, nil }), "not proven")
	otherJournal := newJournal(t, 20)
	wantHeadRefused("another key", w.Advance(otherJournal.signedHead(), otherJournal.proveExtension), "another key")
	foreignJournal := *journal
	foreignJournal.org = uuid.MustParse("0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a02")
	wantHeadRefused("another organization", w.Advance(foreignJournal.signedHead(), foreignJournal.proveExtension), "is of organization 0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a02")
	changedHead := bytes.Replace(journal.signedHead(), []byte("\n18\n"), []byte("\n19\n"), 1)
	wantHeadRefused("a head that was changed", w.Advance(changedHead, journal.proveExtension), "signature")
	if err := w.Advance(journal.signedHead(), journal.proveExtension); err != nil {
		t.Errorf("the true one afterwards: %v", err)
	}
}

func TestWatchWithoutAProofKeepsItsHead(t *testing.T) {
	j := newJournal(t, 3)
	w := j.watch()
	j.appendEvents(1, "settle")
	errNoAnswer := errors.New("no answer")
	if err := w.Advance(j.signedHead(), func(_, _ int64) (tlog.TreeProof, error) { return nil, errNoAnswer }); !errors.Is(err, errNoAnswer) {
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
		for _, flip := range flippedBits {
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
