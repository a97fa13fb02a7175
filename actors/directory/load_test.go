package directory

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors/directory/logins"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

// commitSessions commits the given number of sessions of a user, without the service.
func (f *fixture) commitSessions(u *directory.User, count int) {
	f.t.Helper()
	const perChange = 500
	for count > 0 {
		change := &posting.Change{Author: ledger.BySystem.Author()}
		for range min(count, perChange) {
			id := uuid.New()
			n, event := u.BeginSession(directory.Session{ID: id, Hash: secret.HashToken(id[:])}, ledger.MicrosOf(f.Clock.Now()))
			change.Steps = append(change.Steps, stepWithoutSecrets(directory.Sessions, u.Org, 0, n, event))
			change.Claims = append(change.Claims, hashClaim(u.Org, n.Hash, n.ID))
			count--
		}
		if err := f.commit(change); err != nil {
			f.t.Fatal(err)
		}
	}
}

// The number of finished sessions grows every day, so a start, and a reload after a panic, must drop
// them while reading. The test has sessions that are over for each possible reason.
func TestFinishedSessionsAreNotLoadedAtStart(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	anna, boris := f.newUser(org.ID, "anna", "client"), f.newUser(org.ID, "boris", "client")
	f.commitSessions(anna, 2_000)
	f.advance(31 * time.Minute) // these sessions expire by inactivity
	f.commitSessions(boris, 20)
	must(f.PatchUser(t.Context(), org.ID, boris.ID, func(r *directory.User, _ *schema.Faults) { r.Active = false }, nil))
	must(0, f.LogOut(t.Context(), f.sessionOf(org.ID, f.mustLogIn(org.ID, "anna", goodPass))))
	var tokens [][]byte
	for range 3 {
		f.advance(time.Second)
		tokens = append(tokens, f.mustLogIn(org.ID, "anna", goodPass))
	}
	liveSessions := func() (found []string) {
		v := f.Journal.View()
		defer v.Close()
		orgView, _ := f.org(org.ID)
		for _, n := range must(orgView.readSessions(v, ledger.MicrosOf(f.Clock.Now()), new(logins.Newest))) {
			found = append(found, fmt.Sprint(n.record.User == anna.ID, n.header.StartedAt.Time().Sub(f.Clock.Now())))
		}
		return found
	}
	want := "[true -2s true -1s true 0s]" // the sessions in the order of creation
	if got := fmt.Sprint(liveSessions()); got != want {
		t.Errorf("live are %v, want %s", got, want)
	}
	f.restart()
	for _, token := range tokens {
		f.wantLive("a live one after a restart", org.ID, token, true)
	}
	f.advance(31 * time.Minute)
	if got := liveSessions(); len(got) != 0 {
		t.Errorf("live are %v", got)
	}
}
