package check_test

import (
	"testing"

	"github.com/google/uuid"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// storeWithAdminKeys returns a store after two administration requests with idempotency keys: one created an
// organization, the other changed the first partner.
func storeWithAdminKeys(t *testing.T) (w *fixture.Store, organization ledger.ID) {
	t.Helper()
	w = fixture.Copy(t)
	server := fixture.Start(t, w)
	defer server.Close()
	keyAndAnswer := func(key string) (actors.Key, func(any) directoryactor.CachedReply) {
		return actors.Key{Scope: actors.AdminKeyScope, Text: key}, func(any) directoryactor.CachedReply {
			return directoryactor.CachedReply{Status: 200, Body: []byte("{}")}
		}
	}
	key, answer := keyAndAnswer("make")
	o, err := server.Directory.CreateOrganization(directoryactor.WithCachedReply(t.Context(), key, answer), directory.Organization{Name: "Made", Type: directory.Merchant, Status: directory.Active})
	if err != nil {
		t.Fatal(err)
	}
	key, answer = keyAndAnswer("change")
	name := "Changed"
	if _, err := server.Directory.PatchPartner(directoryactor.WithCachedReply(t.Context(), key, answer), w.FirstDemo.Org, w.FirstDemo.Partner, func(r *directory.Partner, _ *schema.Faults) { r.Name = name }); err != nil {
		t.Fatal(err)
	}
	return w, o.ID
}

// adminReplySource returns the source (kind and id) of the cached reply to the administration request with this idempotency key.
func adminReplySource(key string) ledger.Source {
	return ledger.Source{Kind: ledger.AdminReply, ID: directory.CachedReplyID(key)}
}

func TestFaultsInCachedAdminRepliesAreFound(t *testing.T) {
	claim := func(key string) []byte {
		return store.KeyClaim(nil, directory.PlatformOrg, ledger.ClaimIdempotency, key)
	}
	for name, c := range map[string]struct {
		brokenRules []int
		wantText    string
		corrupt     func(w *fixture.Store, organization ledger.ID, p *fixture.Corrupter)
	}{
		"no fault":                {},
		"a reply without its key": {[]int{4}, "belongs to no idempotency key", func(_ *fixture.Store, _ ledger.ID, p *fixture.Corrupter) { p.Group.Delete(claim("admin/change")) }},
		"a reply of another key": {[]int{4}, "", func(w *fixture.Store, _ ledger.ID, p *fixture.Corrupter) {
			p.Group.Delete(claim("admin/make"))
			addClaim(p, w, "admin/other")
		}},
		"a key that made a partner of another organization": {[]int{4}, "", func(_ *fixture.Store, organization ledger.ID, p *fixture.Corrupter) {
			_, rows := p.Rows(claim("admin/change"))
			p.Group.Set(claim("admin/change"), append(rows[0][:len(rows[0])-len(organization)], organization[:]...))
		}},
		"a reply that is gone": {[]int{3, 4}, "", func(w *fixture.Store, _ ledger.ID, p *fixture.Corrupter) {
			p.Group.Delete(store.KeyRecord(nil, w.FirstDemo.Org, adminReplySource("admin/change")))
		}},
		"a reply that can't be read": {[]int{3}, "can't be read", func(_ *fixture.Store, organization ledger.ID, p *fixture.Corrupter) {
			p.ChangeRecord(organization, adminReplySource("admin/make"), func(_ *store.RecordHeader, _ []byte) []byte { return []byte{9} })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, organization := storeWithAdminKeys(t)
			if c.corrupt != nil {
				w.Corrupt(t, func(p *fixture.Corrupter) { c.corrupt(w, organization, p) })
			}
			report := w.Check(t, check.Inputs{})
			fixture.WantBroken(t, report, c.brokenRules...)
			wantDetail(t, report, c.wantText)
		})
	}
}

// addClaim adds a claim (the row that makes a key unique) on an idempotency key of the administration. The claim names a record
// that does not exist.
func addClaim(p *fixture.Corrupter, w *fixture.Store, key string) {
	owner := append(ownerOf(ledger.Partner, uuid.New()), w.FirstDemo.Org[:]...)
	p.Group.Set(store.KeyClaim(nil, directory.PlatformOrg, ledger.ClaimIdempotency, key), owner)
}
