package directory

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

// countUses counts the events that store a key's last use, in the organization's journal.
func (f *fixture) countUses(org ledger.ID) (n int) {
	f.t.Helper()
	f.Runtime.Quiesce()
	for _, event := range f.events(org) {
		if event == "k:use" {
			n++
		}
	}
	return n
}

func (f *fixture) lastUsed(org ledger.ID) time.Time {
	f.t.Helper()
	keys, _, err := f.ListAPIKeys(org, Page{})
	if err != nil || len(keys) != 1 {
		f.t.Fatal(keys, err)
	}
	return keys[0].LastUsedAt.Time()
}

func TestLastUseOfAKeySurvivesARestart(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	_, value := f.issueKey(f.newPartner(org.ID, "one"))
	wantStoredUses := func(uses int) {
		t.Helper()
		if _, _, ok := f.Authenticate(org.ID, value); !ok {
			t.Fatal("the key is not accepted")
		}
		if got := f.countUses(org.ID); got != uses {
			t.Errorf("at %v: %d uses, want %d", f.Clock.Now(), got, uses)
		}
	}
	wantStoredUses(1)
	f.advance(time.Hour - time.Microsecond)
	wantStoredUses(1)
	if got := f.lastUsed(org.ID); !got.Equal(f.Clock.Now()) {
		t.Errorf("last used %v by memory, want %v", got, f.Clock.Now())
	}
	f.restart()
	if got := f.lastUsed(org.ID); !got.Equal(startTime) {
		t.Errorf("last used %v by the store, want %v", got, startTime)
	}
	f.advance(time.Microsecond)
	wantStoredUses(2)
	f.restart()
	if got := f.lastUsed(org.ID); !got.Equal(startTime.Add(time.Hour)) {
		t.Errorf("last used %v by the store, want %v", got, startTime.Add(time.Hour))
	}
}

func TestUseOfARefusedKeyIsNotStored(t *testing.T) {
	f := open(t)
	o := f.newOrganization("One")
	k, value := f.issueKey(f.newPartner(o.ID, "one"))
	must(f.RevokeAPIKey(t.Context(), o.ID, k.ID))
	f.Authenticate(o.ID, value)
	f.APIKeyInForce(o.ID, value)
	if got := f.countUses(o.ID); got != 0 {
		t.Errorf("%d uses", got)
	}
}

// If the write of a key's use is refused, the next use tries again.
func TestRefusedWriteOfAUseIsTriedAgain(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	key, value := f.issueKey(f.newPartner(org.ID, "one"))
	// The key is changed in the store but not in the view in memory, so the view's version is stale.
	usedKey, event := key.RecordUse(1)
	if err := f.commit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{stepWithoutSecrets(directory.APIKeys, org.ID, 1, usedKey, event)}}); err != nil {
		t.Fatal(err)
	}
	f.Authenticate(org.ID, value)
	if got := f.countUses(org.ID); got != 1 {
		t.Fatalf("%d uses: the stale one was not refused", got)
	}
	if n := f.pendingUses.reserved.Load(); n != 0 {
		t.Fatalf("%d places are taken by nothing", n)
	}
	f.Authenticate(org.ID, value) // this use makes the actor reload the view
	f.Runtime.Quiesce()
	f.Authenticate(org.ID, value)
	if got := f.countUses(org.ID); got != 2 {
		t.Errorf("%d uses, want 2", got)
	}
}

func TestPendingUsesAreBounded(t *testing.T) {
	n := newPendingUses()
	flags := make([]atomic.Bool, maxPendingUses+1)
	for i := range maxPendingUses {
		if !n.begin(&flags[i]) {
			t.Fatalf("no place for use %d", i+1)
		}
		if n.begin(&flags[i]) {
			t.Fatal("two uses of one key are under way")
		}
	}
	if n.begin(&flags[maxPendingUses]) || flags[maxPendingUses].Load() {
		t.Error("one too many is under way")
	}
	n.reserved.Add(-1)
	if !n.begin(&flags[maxPendingUses]) {
		t.Error("no place though there is one")
	}
}

// While many keys are used for the first time at once, commands are carried out. In the end every key's
// use is stored.
func TestManyFirstUsesDelayNoCommand(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	const keys = 300
	merchant := must(f.AddMerchants(t.Context(), org.ID, MerchantsDraft{Partners: 1, Keys: keys}))[0]
	var running sync.WaitGroup
	for _, value := range merchant.Keys {
		running.Go(func() { f.Authenticate(org.ID, []byte(value)) })
	}
	for range 32 {
		running.Go(func() {
			name := "Renamed"
			if _, err := f.PatchPartner(t.Context(), org.ID, merchant.Number, func(r *directory.Partner, _ *schema.Faults) { r.Name = name }); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	for round := 0; f.countUses(org.ID) < keys; round++ {
		if round > keys {
			t.Fatalf("%d of %d keys are noted", f.countUses(org.ID), keys)
		}
		for _, value := range merchant.Keys {
			f.Authenticate(org.ID, []byte(value))
		}
	}
	if got := f.countUses(org.ID); got != keys || f.pendingUses.reserved.Load() != 0 {
		t.Errorf("%d uses of %d keys, %d under way", got, keys, f.pendingUses.reserved.Load())
	}
}

// If the directory cannot be read, uses are dropped, so that the actor does not get messages forever.
func TestNotesAreDroppedIfTheDirectoryCannotBeRead(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	_, value := f.issueKey(f.newPartner(org.ID, "one"))
	savedSlots := f.orgs.slots.Swap(nil)
	f.queueUse(org.ID, pendingUse{new(atomic.Bool), func(*organization) (publishableStep, bool) { t.Error("asked"); return publishableStep{}, false }})
	f.pendingUses.reserved.Add(1)
	f.Runtime.Quiesce()
	f.orgs.slots.Store(savedSlots)
	if f.pendingUses.reserved.Load() != 0 || len(f.pendingUses.queued) != 0 || len(f.pendingUses.writing) != 0 {
		t.Errorf("%d places are reserved, %d queues are left, %d actors have a message", f.pendingUses.reserved.Load(), len(f.pendingUses.queued), len(f.pendingUses.writing))
	}
	f.Authenticate(org.ID, value)
	if got := f.countUses(org.ID); got != 1 {
		t.Errorf("%d uses, want 1", got)
	}
}

// While the organization's actor is busy, requests continue, and up to maxPendingUses uses wait for it.
func TestNoRequestWaitsForANote(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	const keys = maxPendingUses + 36
	merchant := must(f.AddMerchants(t.Context(), org.ID, MerchantsDraft{Partners: 1, Keys: keys}))[0]
	started, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- f.run(t.Context(), org.ID, "test", func(ledger.Micros) (*posting.Change, error) {
			close(started)
			<-release
			return nil, nil
		}, nil)
	}()
	<-started
	for range 3 {
		for _, value := range merchant.Keys {
			if _, _, ok := f.Authenticate(org.ID, []byte(value)); !ok {
				t.Fatal("the key is not accepted")
			}
		}
	}
	if got := f.pendingUses.reserved.Load(); got != maxPendingUses {
		t.Errorf("%d uses wait, want %d", got, maxPendingUses)
	}
	close(release)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := f.countUses(org.ID); got != maxPendingUses || f.pendingUses.reserved.Load() != 0 {
		t.Errorf("%d uses, %d under way", got, f.pendingUses.reserved.Load())
	}
	for _, value := range merchant.Keys {
		f.Authenticate(org.ID, []byte(value))
	}
	if got := f.countUses(org.ID); got != keys {
		t.Errorf("%d uses after the next use, want %d", got, keys)
	}
}
