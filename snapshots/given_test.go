package snapshots_test

import (
	"testing"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/actors/directory"
	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/posting/store"
	"mizan/snapshots"
)

// administered is a town in which two writes of the administration came with
// keys: one made an organization, the other changed the first partner.
func administered(t *testing.T) (w *town, made ledger.ID) {
	t.Helper()
	w = settle(t)
	h := open(t, w)
	defer h.close()
	with := func(key string) (actors.Key, func(any) directory.Answer) {
		return actors.Key{Scope: actors.KeyOfAdmin, Text: key}, func(any) directory.Answer {
			return directory.Answer{Status: 200, Body: []byte("{}")}
		}
	}
	key, answer := with("make")
	o, err := h.directory.CreateOrganization(directory.Once(t.Context(), key, answer), words.OrganizationDraft{Name: "Made"})
	if err != nil {
		t.Fatal(err)
	}
	key, answer = with("change")
	name := "Changed"
	if _, err := h.directory.PatchPartner(directory.Once(t.Context(), key, answer), w.first.Org, w.first.Partner, words.PartnerPatch{Name: &name}); err != nil {
		t.Fatal(err)
	}
	return w, o.ID
}

func answerTo(key string) ledger.Source {
	return ledger.Source{Kind: ledger.Answer, ID: words.AnswerID(key)}
}

func TestAnswersThatAreKeptAreSomeKeys(t *testing.T) {
	claim := func(key string) []byte { return store.KeyClaim(nil, words.PlatformOrg, ledger.ClaimIdempotency, key) }
	for name, c := range map[string]struct {
		broken []int
		says   string
		plant  func(w *town, made ledger.ID, p *planter)
	}{
		"none":                      {},
		"an answer without its key": {[]int{4}, "is no key's", func(_ *town, _ ledger.ID, p *planter) { p.group.Delete(claim("admin/change")) }},
		"an answer of another's key": {[]int{4}, "", func(w *town, _ ledger.ID, p *planter) {
			p.group.Delete(claim("admin/make"))
			p.claimed(w, "admin/other")
		}},
		"a key that made a partner of another organization": {[]int{4}, "", func(_ *town, made ledger.ID, p *planter) {
			_, rows := p.rows(claim("admin/change"))
			p.group.Set(claim("admin/change"), append(rows[0][:len(rows[0])-len(made)], made[:]...))
		}},
		"an answer that is gone": {[]int{3, 4}, "", func(w *town, _ ledger.ID, p *planter) {
			p.group.Delete(store.KeyRecord(nil, w.first.Org, answerTo("admin/change")))
		}},
		"an answer that can't be read": {[]int{3}, "can't be read", func(_ *town, made ledger.ID, p *planter) {
			p.record(made, answerTo("admin/make"), func(_ *store.Envelope, _ []byte) []byte { return []byte{9} })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, made := administered(t)
			if c.plant != nil {
				w.plant(t, func(p *planter) { c.plant(w, made, p) })
			}
			report := w.check(t, snapshots.Inputs{})
			wantBroken(t, report, c.broken...)
			wantSaid(t, report, c.says)
		})
	}
}

// claimed plants the claim of a key that made what is not there.
func (p *planter) claimed(w *town, key string) {
	owner := append(ownerOf(ledger.Partner, uuid.New()), w.first.Org[:]...)
	p.group.Set(store.KeyClaim(nil, words.PlatformOrg, ledger.ClaimIdempotency, key), owner)
}
