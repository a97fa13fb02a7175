package directory

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

// sessionsOf commits many sessions of a user without the service.
func (h *fixture) sessionsOf(u *directory.User, many int) {
	h.t.Helper()
	const each = 500
	for many > 0 {
		change := new(posting.Change)
		for range min(many, each) {
			id := uuid.New()
			n, event := u.Begin(id, secret.HashToken(id[:]), ledger.MicrosOf(h.clock.Now()))
			change.Steps = append(change.Steps, plainStep(directory.Sessions, u.Org, 0, n, event))
			change.Claims = append(change.Claims, hashClaim(u.Org, n.Hash, n.ID))
			many--
		}
		if err := h.commit(change); err != nil {
			h.t.Fatal(err)
		}
	}
}

// The number of finished sessions grows every day, so a start, and a reload after a panic, must
// drop them while reading, for whatever reason they are over.
func TestSessionsThatAreOverAreNotCollectedAtAStart(t *testing.T) {
	h := open(t)
	o := h.organization("One")
	anna, boris := h.userOf(o.ID, "anna", "client"), h.userOf(o.ID, "boris", "client")
	h.sessionsOf(anna, 2_000)
	h.passes(31 * time.Minute) // they expire by inactivity
	h.sessionsOf(boris, 20)
	off := false
	must(h.PatchUser(t.Context(), o.ID, boris.ID, func(r *directory.User, _ *schema.Faults) { r.Active = off }, nil))
	must(0, h.LogOut(t.Context(), h.sessionsByOwner(o.ID, h.in(o.ID, "anna", goodPass))))
	var live [][]byte
	for range 3 {
		h.passes(time.Second)
		live = append(live, h.in(o.ID, "anna", goodPass))
	}
	collected := func() (stamps []string) {
		v := h.journal.View()
		defer v.Close()
		part, _ := h.org(o.ID)
		for _, n := range must(part.readSessions(v, ledger.MicrosOf(h.clock.Now()))) {
			stamps = append(stamps, fmt.Sprint(n.record.User == anna.ID, n.stamp.Started.Time().Sub(h.clock.Now())))
		}
		return stamps
	}
	want := "[true -2s true -1s true 0s]" // in the order of creation
	if got := fmt.Sprint(collected()); got != want {
		t.Errorf("collected %v, want %s", got, want)
	}
	h.restart()
	for _, token := range live {
		h.wantLive("a live one after a restart", o.ID, token, true)
	}
	h.passes(31 * time.Minute)
	if got := collected(); len(got) != 0 {
		t.Errorf("collected %v", got)
	}
}
