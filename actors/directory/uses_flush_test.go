package directory

import (
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// changes counts the Changes that fn makes the writer commit.
func (h *fixture) changes(fn func()) uint64 {
	h.runtime.Quiesce()
	before := h.journal.Stats.Changes.Load()
	fn()
	h.runtime.Quiesce()
	return h.journal.Stats.Changes.Load() - before
}

func TestACleanStopKnowsTheLastUses(t *testing.T) {
	h := open(t)
	first, second := h.organization("One"), h.organization("Two")
	_, key := h.keyOf(h.partnerOf(first.ID, "one"))
	h.userOf(second.ID, "anna", "client")
	token := h.in(second.ID, "anna", goodPass)
	h.Authenticate(first.ID, key)
	h.passes(4 * time.Minute)
	h.Authenticate(first.ID, key)
	if !h.use(second.ID, token) {
		t.Fatal("not let in")
	}
	if got := h.uses(first.ID); got != 1 {
		t.Fatalf("%d notes of the key before the stop", got)
	}
	must(0, h.FlushUses(t.Context()))
	h.restart()
	if got := h.lastUsed(first.ID); !got.Equal(began.Add(4 * time.Minute)) {
		t.Errorf("last used %v, want %v", got, began.Add(4*time.Minute))
	}
	h.passes(30*time.Minute - time.Microsecond)
	h.wantLive("half an hour after the last use, less a microsecond", second.ID, token, true)
	h.passes(time.Microsecond)
	h.wantLive("half an hour after the last use", second.ID, token, false)
}

func TestAStopWithoutUsesWritesNothing(t *testing.T) {
	h := open(t)
	o := h.organization("One")
	p := h.partnerOf(o.ID, "one")
	_, key := h.keyOf(p)
	h.keyOf(p)                           // never used
	h.userOf(o.ID, "anna", "client")     // a login is noted by itself
	over := h.in(o.ID, "anna", goodPass) // used, and over
	h.in(o.ID, "anna", goodPass)         // never used
	must(0, h.LogOut(t.Context(), h.sessionsByOwner(o.ID, over)))
	h.Authenticate(o.ID, key)
	if n := h.changes(func() { must(0, h.FlushUses(t.Context())) }); n != 0 {
		t.Errorf("%d changes of uses that are noted", n)
	}
	h.passes(time.Minute)
	h.Authenticate(o.ID, key)
	for i, want := range []uint64{1, 0} {
		if n := h.changes(func() { must(0, h.FlushUses(t.Context())) }); n != want {
			t.Errorf("stop %d: %d changes, want %d", i+1, n, want)
		}
	}
}

// begun returns the session of a token.
func (h *fixture) sessionsByOwner(org ledger.ID, token []byte) *directory.Session {
	h.t.Helper()
	n, ok := h.SessionInForce(org, token)
	if !ok {
		h.t.Fatal("no session")
	}
	return n
}

func TestUsesAreNotedManyAtATime(t *testing.T) {
	h := open(t)
	o := h.organization("One")
	const keys = 3*notesAtOnce + 1
	for _, m := range must(h.AddMerchants(t.Context(), o.ID, MerchantsDraft{Partners: 7, Keys: keys})) {
		for _, value := range m.Keys {
			if _, _, ok := h.Authenticate(o.ID, []byte(value)); !ok {
				t.Fatal("not let in")
			}
		}
	}
	h.runtime.Quiesce()
	noted := h.uses(o.ID)
	left := (keys - noted + notesAtOnce - 1) / notesAtOnce
	if n := h.changes(func() { must(0, h.FlushUses(t.Context())) }); n != uint64(left) {
		t.Errorf("%d changes, want %d", n, left)
	}
	if got := h.uses(o.ID); got != keys {
		t.Errorf("%d of %d keys are noted", got, keys)
	}
}

func TestWhatAStopHasNoTimeForIsNotNoted(t *testing.T) {
	h := open(t)
	o := h.organization("One")
	_, key := h.keyOf(h.partnerOf(o.ID, "one"))
	h.Authenticate(o.ID, key)
	h.passes(time.Minute)
	h.Authenticate(o.ID, key)
	for range cap(h.commands.inside) {
		h.commands.inside <- struct{}{}
	}
	wantCode(t, "no time", h.FlushUses(canceled(t)), ledger.Unavailable, "")
	for range cap(h.commands.inside) {
		<-h.commands.inside
	}
	if got := h.uses(o.ID); got != 1 {
		t.Errorf("%d notes", got)
	}
}

// If one organization's notes are refused, another organization's are still written.
func TestARefusedNoteOfOneOrganizationIsOnlyIts(t *testing.T) {
	h := open(t)
	stale, o := h.organization("One"), h.organization("Two")
	k, old := h.keyOf(h.partnerOf(stale.ID, "one"))
	_, key := h.keyOf(h.partnerOf(o.ID, "two"))
	h.Authenticate(stale.ID, old)
	h.Authenticate(o.ID, key)
	h.runtime.Quiesce()
	moved, event := must2(h.APIKey(stale.ID, k.ID)).Note(ledger.MicrosOf(began.Add(time.Hour)))
	must(0, h.commit(&posting.Change{Steps: []posting.Step{plainStep(directory.APIKeys, stale.ID, 2, moved, event)}}))
	h.passes(time.Minute)
	h.Authenticate(stale.ID, old)
	h.Authenticate(o.ID, key)
	if err := h.FlushUses(t.Context()); codeOf(err) != ledger.StaleVersion {
		t.Errorf("the stale one: %v", err)
	}
	if got := h.uses(o.ID); got != 2 {
		t.Errorf("%d notes of the other one, want 2", got)
	}
}
