package directory

import (
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// heapStats returns the live heap and the total ever allocated.
func heapStats() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC() // frees the objects that the first collection's sweep has found
	runtime.ReadMemStats(&m)
	return m
}

// A server with a hundred thousand keys must start within seconds and with a few hundred MiB of memory.
// The test bounds the objects and bytes per record, so it measures no time.
func TestManyMerchantsAreLoadedInABoundedNumberOfObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector, which the short run is for, has objects of its own")
	}
	f := open(t)
	org := f.newOrganization("Many")
	draft := MerchantsDraft{Partners: 2_000, Terminals: 3, Keys: 20_000}
	records := uint64(draft.Partners*(1+draft.Terminals) + draft.Keys)
	merchants := must(f.AddMerchants(t.Context(), org.ID, draft))
	f.restart()

	before := heapStats()
	loaded := must(Start(f.Runtime, f.sealer))
	after := heapStats()
	for what, c := range map[string]struct{ perRecord, limit uint64 }{
		"bytes that stay in memory":   {(after.HeapAlloc - before.HeapAlloc) / records, 700},
		"objects that stay in memory": {(after.HeapObjects - before.HeapObjects) / records, 5},
		"allocations":                 {(after.Mallocs - before.Mallocs) / records, 30},
		"bytes allocated":             {(after.TotalAlloc - before.TotalAlloc) / records, 4_000},
	} {
		t.Logf("%s of a record: %d", what, c.perRecord)
		if c.perRecord > c.limit {
			t.Errorf("%s of a record: %d, want at most %d", what, c.perRecord, c.limit)
		}
	}
	for _, m := range merchants {
		for _, value := range m.Keys {
			if _, p, ok := loaded.Authenticate(org.ID, text(value)); !ok || p.Number != m.Number {
				t.Fatalf("a key of partner %d: %v, %v", m.Number, p, ok)
			}
		}
	}
}

func TestMerchantsEqualThoseCreatedOneByOne(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	f.newPartner(org.ID, "before")
	eventsBefore := len(f.events(org.ID)) // events of the organization and the partner
	merchants := must(f.AddMerchants(t.Context(), org.ID, MerchantsDraft{Partners: 150, Terminals: 5, Keys: 301}))
	if len(merchants) != 150 {
		t.Fatalf("%d merchants", len(merchants))
	}
	if events := f.events(org.ID); len(events) != eventsBefore+150*6+301 { // events also checks each event against its state machine
		t.Errorf("%d events", len(events)-eventsBefore)
	}
	check := func() {
		t.Helper()
		for i, m := range merchants {
			p, found := f.Partner(org.ID, m.Number)
			if !found || m.Number != int64(i+2) || !p.Active || p.PassHash != "" {
				t.Fatalf("partner %d: %+v, %v", m.Number, p, found)
			}
			want := 2
			if i == 0 {
				want = 3 // the remainder of the division goes to the first partner
			}
			if len(m.Keys) != want {
				t.Errorf("partner %d has %d keys, want %d", m.Number, len(m.Keys), want)
			}
			types := map[string]int{}
			for _, terminal := range f.Terminals(org.ID, m.Number) {
				types[string(terminal.Type)+" "+terminal.Env.String()]++
			}
			if types["payment prod"] != 2 || types["payout prod"] != 1 || types["payment test"] != 1 || types["payout test"] != 1 {
				t.Fatalf("partner %d has terminals %v", m.Number, types)
			}
			for _, value := range m.Keys {
				if _, owner, ok := f.Authenticate(org.ID, text(value)); !ok || owner.Number != m.Number {
					t.Fatalf("a key of partner %d is not taken", m.Number)
				}
			}
		}
	}
	check()
	f.restart()
	check()
	if next := f.newPartner(org.ID, "after"); next.Number != 152 {
		t.Errorf("the next partner is %d, want 152", next.Number)
	}
}

func TestInvalidMerchantsDraftsAreRefused(t *testing.T) {
	f := open(t)
	o := f.newOrganization("One")
	for field, d := range map[string]MerchantsDraft{
		"partners":  {Terminals: 1},
		"terminals": {Partners: 1, Terminals: -1},
		"keys":      {Partners: 1, Keys: MaxMerchantRecords, Terminals: 1},
	} {
		_, err := f.AddMerchants(t.Context(), o.ID, d)
		wantCode(t, field, err, ledger.Invalid, field)
	}
	if made := must(f.AddMerchants(t.Context(), o.ID, MerchantsDraft{Partners: 2, Terminals: 0, Keys: 2 * MaxMerchantRecords})); len(made) != 2 {
		t.Errorf("%d merchants", len(made))
	}
	_, err := f.AddMerchants(t.Context(), uuid.New(), MerchantsDraft{Partners: 1})
	wantCode(t, "an unknown organization", err, ledger.NotFound, "")
}

// After a key's last use is stored, its lookups do not read the store. The test closes the store, so that
// reading it would end the process.
func TestAuthenticationDoesNotReadTheStore(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	p := f.newPartner(org.ID, "one")
	_, value := f.issueKey(p)
	revoked, revokedKey := f.issueKey(p)
	must(f.RevokeAPIKey(t.Context(), org.ID, revoked.ID))
	if _, _, ok := f.Authenticate(org.ID, value); !ok {
		t.Fatal("a new key isn't taken")
	}
	f.Runtime.Quiesce()
	f.Close()
	for range 1_000 {
		if _, owner, ok := f.Authenticate(org.ID, value); !ok || owner.Number != p.Number {
			t.Fatal("the key isn't taken")
		}
		if _, _, ok := f.Authenticate(org.ID, revokedKey); ok {
			t.Fatal("the revoked key is taken")
		}
		if _, _, ok := f.Authenticate(uuid.New(), value); ok {
			t.Fatal("the key is taken in another organization")
		}
	}
	if err := f.start(); err != nil { // the test's clean-up closes the store again
		t.Fatal(err)
	}
}

// All refusals take the same steps, which allocate nothing. Extra work for some of the keys would show as
// allocations.
func TestEveryRejectedKeyTakesTheSameTime(t *testing.T) {
	f := open(t)
	org, other, inactive := f.newOrganization("One"), f.newOrganization("Two"), f.newOrganization("Three")
	p := f.newPartner(org.ID, "one")
	_, value := f.issueKey(p)
	revoked, revokedKey := f.issueKey(p)
	must(f.RevokeAPIKey(t.Context(), org.ID, revoked.ID))
	expiredKey := must(f.CreateAPIKey(t.Context(), org.ID, directory.APIKey{Partner: p.Number, Name: "past", ExpiresAt: ledger.MicrosOf(startTime) + 1})).Value
	if err := f.Clock.Set(startTime.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	_, inactiveKey := f.issueKey(f.newPartner(inactive.ID, "sleeps"))
	status := directory.Maintenance
	must(f.PatchOrganization(t.Context(), inactive.ID, func(r *directory.Organization, _ *schema.Faults) { r.Status = status }))
	unknown := append([]byte(nil), value...)
	unknown[len(unknown)-1] ^= 1
	for name, c := range map[string]struct {
		orgID ledger.ID
		key   []byte
	}{
		"unknown key":           {org.ID, unknown},
		"wrong organization":    {other.ID, value},
		"unknown organization":  {uuid.New(), value},
		"no organization":       {ledger.ID{}, value},
		"expired":               {org.ID, []byte(expiredKey)},
		"revoked":               {org.ID, revokedKey},
		"inactive organization": {inactive.ID, inactiveKey},
	} {
		accepted := false
		allocations := testing.AllocsPerRun(1_000, func() {
			_, _, ok := f.Authenticate(c.orgID, c.key)
			accepted = accepted || ok
		})
		if accepted || allocations != 0 {
			t.Errorf("%s: taken: %v, %v allocations, want none", name, accepted, allocations)
		}
	}
}
