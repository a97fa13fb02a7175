package directory

import (
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// countChanges counts the Changes that fn makes the writer commit.
func (f *fixture) countChanges(fn func()) uint64 {
	f.Runtime.Quiesce()
	before := f.Journal.Stats.Changes.Load()
	fn()
	f.Runtime.Quiesce()
	return f.Journal.Stats.Changes.Load() - before
}

func TestCleanStopStoresTheLastUses(t *testing.T) {
	f := open(t)
	firstOrg, secondOrg := f.newOrganization("One"), f.newOrganization("Two")
	_, key := f.issueKey(f.newPartner(firstOrg.ID, "one"))
	f.newUser(secondOrg.ID, "anna", "client")
	token := f.mustLogIn(secondOrg.ID, "anna", goodPass)
	f.Authenticate(firstOrg.ID, key)
	f.advance(4 * time.Minute)
	f.Authenticate(firstOrg.ID, key)
	if !f.use(secondOrg.ID, token) {
		t.Fatal("the key is not accepted")
	}
	if got := f.countUses(firstOrg.ID); got != 1 {
		t.Fatalf("%d uses of the key before the stop", got)
	}
	must(0, f.FlushUses(t.Context()))
	f.restart()
	if got := f.lastUsed(firstOrg.ID); !got.Equal(startTime.Add(4 * time.Minute)) {
		t.Errorf("last used %v, want %v", got, startTime.Add(4*time.Minute))
	}
	f.advance(30*time.Minute - time.Microsecond)
	f.wantLive("half an hour after the last use, less a microsecond", secondOrg.ID, token, true)
	f.advance(time.Microsecond)
	f.wantLive("half an hour after the last use", secondOrg.ID, token, false)
}

func TestAStopWithoutUsesWritesNothing(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	p := f.newPartner(org.ID, "one")
	_, key := f.issueKey(p)
	f.issueKey(p)                                       // this key is never used
	f.newUser(org.ID, "anna", "client")                 // a login stores its own use
	endedToken := f.mustLogIn(org.ID, "anna", goodPass) // this session is logged out below
	f.mustLogIn(org.ID, "anna", goodPass)               // this session is never used
	must(0, f.LogOut(t.Context(), f.sessionOf(org.ID, endedToken)))
	f.Authenticate(org.ID, key)
	if n := f.countChanges(func() { must(0, f.FlushUses(t.Context())) }); n != 0 {
		t.Errorf("%d changes of uses that are noted", n)
	}
	f.advance(time.Minute)
	f.Authenticate(org.ID, key)
	for i, want := range []uint64{1, 0} {
		if n := f.countChanges(func() { must(0, f.FlushUses(t.Context())) }); n != want {
			t.Errorf("stop %d: %d changes, want %d", i+1, n, want)
		}
	}
}

// sessionOf returns the session of a token.
func (f *fixture) sessionOf(org ledger.ID, token []byte) *directory.Session {
	f.t.Helper()
	n, ok := f.SessionInForce(org, token)
	if !ok {
		f.t.Fatal("no session")
	}
	return n
}

func TestUsesAreStoredInBatches(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	const keys = 3*maxUsesPerChange + 1
	for _, m := range must(f.AddMerchants(t.Context(), org.ID, MerchantsDraft{Partners: 7, Keys: keys})) {
		for _, value := range m.Keys {
			if _, _, ok := f.Authenticate(org.ID, []byte(value)); !ok {
				t.Fatal("the key is not accepted")
			}
		}
	}
	f.Runtime.Quiesce()
	noted := f.countUses(org.ID)
	wantChanges := (keys - noted + maxUsesPerChange - 1) / maxUsesPerChange
	if n := f.countChanges(func() { must(0, f.FlushUses(t.Context())) }); n != uint64(wantChanges) {
		t.Errorf("%d changes, want %d", n, wantChanges)
	}
	if got := f.countUses(org.ID); got != keys {
		t.Errorf("%d of %d keys are noted", got, keys)
	}
}

func TestUsesBeyondTheStopsDeadlineAreLost(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	_, key := f.issueKey(f.newPartner(org.ID, "one"))
	f.Authenticate(org.ID, key)
	f.advance(time.Minute)
	f.Runtime.Quiesce() // otherwise what the clock has begun may write the next use
	f.Authenticate(org.ID, key)
	for range cap(f.commands.inside) {
		f.commands.inside <- struct{}{}
	}
	wantCode(t, "no time", f.FlushUses(canceledContext(t)), ledger.Unavailable, "")
	for range cap(f.commands.inside) {
		<-f.commands.inside
	}
	if got := f.countUses(org.ID); got != 1 {
		t.Errorf("%d uses", got)
	}
}

// If one organization's last uses are refused, another organization's last uses are still written.
func TestRefusedNotesOfOneOrganizationDoNotAffectOthers(t *testing.T) {
	f := open(t)
	staleOrg, org := f.newOrganization("One"), f.newOrganization("Two")
	staleKey, staleValue := f.issueKey(f.newPartner(staleOrg.ID, "one"))
	_, key := f.issueKey(f.newPartner(org.ID, "two"))
	f.Authenticate(staleOrg.ID, staleValue)
	f.Authenticate(org.ID, key)
	f.Runtime.Quiesce()
	// The key is changed in the store but not in the view in memory, so the view's version is stale.
	usedKey, event := mustFind(f.APIKey(staleOrg.ID, staleKey.ID)).RecordUse(ledger.MicrosOf(startTime.Add(time.Hour)))
	must(0, f.commit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{stepWithoutSecrets(directory.APIKeys, staleOrg.ID, 2, usedKey, event)}}))
	f.advance(time.Minute)
	f.Authenticate(staleOrg.ID, staleValue)
	f.Authenticate(org.ID, key)
	if err := f.FlushUses(t.Context()); !ledger.IsRefusal(err, ledger.StaleVersion) {
		t.Errorf("the stale one: %v", err)
	}
	if got := f.countUses(org.ID); got != 2 {
		t.Errorf("%d uses of the other one, want 2", got)
	}
}
