package directory

import (
	"crypto/rand"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

func adminKey(text string) actors.Key { return actors.Key{Scope: actors.AdminKeyScope, Text: text} }

// rename changes a partner's name with an idempotency key; the reply's text is body.
func (f *fixture) rename(p *directory.Partner, key actors.Key, name, body string) error {
	f.t.Helper()
	ctx := WithCachedReply(f.t.Context(), key, func(any) CachedReply { return CachedReply{Status: 200, Body: []byte(body)} })
	_, err := f.PatchPartner(ctx, p.Org, p.Number, func(r *directory.Partner, _ *schema.Faults) { r.Name = name })
	return err
}

func TestReplyHasTheTimeOfItsEvent(t *testing.T) {
	f := open(t)
	p := f.newPartner(f.newOrganization("One").ID, "one")
	if _, found, err := f.FindCachedReply(adminKey("k")); found || err != nil {
		t.Fatal(found, err)
	}
	if err := f.rename(p, adminKey("k"), "two", "the body"); err != nil {
		t.Fatal(err)
	}
	o, _ := f.org(p.Org)
	inView, _ := o.partner(p.Number)
	booked := inView.current.Load().header.UpdatedAt
	if err := f.rename(p, adminKey("later"), "three", ""); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a, found, err := f.FindCachedReply(adminKey("k"))
		if !found || err != nil || a.Status != 200 || string(a.Body) != "the body" || a.Booked != booked {
			t.Errorf("%+v %v (%v), want one booked at %d", a, found, err, booked)
		}
		f.restart()
	}
	other := adminKey("k")
	other.Hash[0]++
	_, _, err := f.FindCachedReply(other)
	wantCode(t, "another request", err, ledger.Conflict, "")
}

// The reply is made from the record as it will be stored, but without the times that the journal sets.
func TestReplyIsMadeFromTheWrittenRecord(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	p := f.newPartner(org.ID, "one")
	var written any
	ctx := WithCachedReply(t.Context(), adminKey("k"), func(made any) CachedReply { written = made; return CachedReply{Status: 201} })
	k := must(f.CreateAPIKey(ctx, org.ID, directory.APIKey{Partner: p.Number, Name: "key"}))
	if issued, ok := written.(*directory.APIKey); !ok || issued.CreatedAt != 0 || !equalExcept(*issued, *k, func(k *directory.APIKey) { k.CreatedAt, k.FirstSeq = 0, 0 }) || k.Value == "" {
		t.Errorf("%T", written)
	}
	f.putRate(org.ID, "USD", "RUB", "1")
	ctx = WithCachedReply(t.Context(), adminKey("r"), func(made any) CachedReply {
		r := made.(*directory.Rate)
		written = [2]ledger.Micros{r.CreatedAt, r.UpdatedAt}
		return CachedReply{Status: 200}
	})
	r := must(f.PutRate(ctx, org.ID, directory.Rate{From: "USD", To: "RUB", Value: testRate}))
	if written != [2]ledger.Micros{r.CreatedAt, 0} || r.CreatedAt == 0 || r.UpdatedAt == 0 {
		t.Errorf("%v of %+v", written, r)
	}
}

// equalExcept tells whether two records are equal, apart from the fields that clearFields clears.
func equalExcept[R comparable](a, b R, clearFields func(*R)) bool {
	clearFields(&a)
	clearFields(&b)
	return a == b
}

func TestOnlyAWriteThatChangesSomethingClaimsItsKey(t *testing.T) {
	f := open(t)
	partner := f.newPartner(f.newOrganization("One").ID, "one")
	before := len(f.events(partner.Org))
	wantCode(t, "too long an answer", f.rename(partner, adminKey("k"), "two", strings.Repeat("x", posting.MaxRecord)), ledger.Invalid, "")
	if err := f.rename(partner, adminKey("k"), "one", ""); err != nil { // the partner already has this name
		t.Fatal(err)
	}
	if err := f.rename(partner, actors.Key{Scope: actors.AdminKeyScope}, " ", ""); err == nil {
		t.Error("an empty name was accepted")
	}
	if _, found, err := f.FindCachedReply(adminKey("k")); found || err != nil || len(f.events(partner.Org)) != before {
		t.Errorf("found %v (%v) after nothing was changed", found, err)
	}
	if err := f.rename(partner, adminKey("k"), "two", ""); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a key that is taken", f.rename(partner, adminKey("k"), "three", ""), ledger.ClaimTaken, "")
	wantCode(t, "a key that is taken, and nothing to do", f.rename(partner, adminKey("k"), "two", ""), ledger.Conflict, "")
	if now, _ := f.Partner(partner.Org, partner.Number); now.Name != "two" {
		t.Errorf("it is called %s", now.Name)
	}
	if got := f.events(partner.Org)[before:]; len(got) != 2 || got[0] != "p:update" || got[1] != "a:give" {
		t.Errorf("journal %v", got)
	}
}

// A repeated request reserves a partner number and does not use it. The number goes to the next partner.
func TestRepetitionUsesNoPartnerNumber(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			ctx := WithCachedReply(t.Context(), adminKey("k"), func(any) CachedReply { return CachedReply{Status: 201} })
			_, err := f.CreatePartner(ctx, org.ID, directory.Partner{Name: "one", Login: "one", Active: true}, []byte("nine-Lions-paint"))
			if err != nil && !ledger.IsRefusal(err, ledger.Conflict) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if rows, _, err := f.ListPartners(org.ID, Page{}); err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	next := f.platform.Load().record.NextPartner
	for n := int64(2); n < next; n++ {
		f.newPartner(org.ID, strings.Repeat("x", int(n)))
	}
	if after := f.platform.Load().record.NextPartner; after != next {
		t.Errorf("the next number is %d, was %d", after, next)
	}
}

func TestReplyOpensWithItsKeyringAndRecordOnly(t *testing.T) {
	f := open(t)
	partner := f.newPartner(f.newOrganization("One").ID, "one")
	for _, key := range []string{"k", "other"} {
		if err := f.rename(partner, adminKey(key), key, "the body of "+key); err != nil {
			t.Fatal(err)
		}
	}
	sealer := f.Service.sealer
	f.Service.sealer = must(secret.CreateKeyring(filepath.Join(t.TempDir(), "keyring"), rand.Reader))
	_, found, err := f.FindCachedReply(adminKey("k"))
	wantCode(t, "another keyring", err, ledger.Conflict, "")
	f.Service.sealer = sealer
	source := func(key string) ledger.Source {
		k := adminKey(key)
		return ledger.Source{Kind: ledger.AdminReply, ID: directory.CachedReplyID(k.ClaimKey())}
	}
	v := f.Journal.View()
	otherReply, _, _ := v.Record(partner.Org, source("other"))
	v.Close()
	event := ledger.Event{Source: source("k"), Name: "give", From: "given", To: "given"}
	if err := f.commit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{Org: partner.Org, Source: source("k"), Expect: 1, Record: otherReply.Payload, Events: []ledger.Event{event}}}}); err != nil {
		t.Fatal(err)
	}
	_, foundOther, err := f.FindCachedReply(adminKey("k"))
	wantCode(t, "another answer in its place", err, ledger.Conflict, "")
	if found || foundOther {
		t.Error("an answer that does not open was found")
	}
}
