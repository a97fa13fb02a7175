package check_test

import (
	"testing"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// storeWithKey returns a store in which a payment was created with an idempotency key, the payment's id, and the key.
func storeWithKey(t *testing.T) (w *fixture.Store, id ledger.ID, key actors.Key) {
	t.Helper()
	w = fixture.Copy(t)
	server := fixture.Start(t, w)
	defer server.Close()
	key = actors.Key{Scope: actors.PartnerKeyScope(w.FirstDemo.Partner), Text: "k", Hash: [32]byte{1}}
	owner, known := server.Directory.Partner(w.FirstDemo.Org, w.FirstDemo.Partner)
	if !known {
		t.Fatal("the partner is not there")
	}
	result, err := server.Payments.Create(paymentactor.Create{Author: ledger.ByPayer.Author(), Org: w.FirstDemo.Org, Partner: owner, Key: key, Request: payment.Request{
		Type: payment.Payment, Amount: money.FromUint64(5), Asset: fixture.USD, Method: "e_wallet", ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
	}})
	if err != nil {
		t.Fatal(err)
	}
	return w, result.Record.ID, key
}

// corruptSealedReply returns a function that changes the plaintext of a cached reply and seals the plaintext again.
func corruptSealedReply(change func(plaintext []byte) []byte) func(*fixture.Store, *fixture.Corrupter, []byte, ledger.Source) {
	return func(w *fixture.Store, p *fixture.Corrupter, _ []byte, reply ledger.Source) {
		keys := fixture.Keyring(p.T, w.Dir)
		p.ChangeRecord(w.FirstDemo.Org, reply, func(_ *store.RecordHeader, payload []byte) []byte {
			plaintext, err := actors.OpenReply(keys, actors.PaymentReply, w.FirstDemo.Org, reply.ID, payload)
			fixture.Must(p.T, err)
			sealed, err := actors.SealReply(keys, actors.PaymentReply, w.FirstDemo.Org, reply.ID, change(plaintext))
			fixture.Must(p.T, err)
			return sealed
		})
	}
}

func TestCachedRepliesBelongToKeysAndShowPastStates(t *testing.T) {
	for name, c := range map[string]struct {
		brokenRules []int
		wantText    string
		corrupt     func(w *fixture.Store, p *fixture.Corrupter, claim []byte, reply ledger.Source)
	}{
		"no fault":                {},
		"a reply without its key": {[]int{4}, "belongs to no idempotency key", func(_ *fixture.Store, p *fixture.Corrupter, claim []byte, _ ledger.Source) { p.Group.Delete(claim) }},
		"a reply of an unknown form": {[]int{3}, "is of an unknown form", func(w *fixture.Store, p *fixture.Corrupter, _ []byte, reply ledger.Source) {
			p.ChangeRecord(w.FirstDemo.Org, reply, func(*store.RecordHeader, []byte) []byte { return []byte{9} })
		}},
		"a reply that can't be read": {[]int{3}, "can't be read: reply", corruptSealedReply(func(plaintext []byte) []byte { return plaintext[:3] })},
		"a reply with a version that the transaction never had": {[]int{3}, "as it never was", corruptSealedReply(func(plaintext []byte) []byte {
			plaintext[0]++ // the first byte is the version, which is below 128
			return plaintext
		})},
		"a reply that does not open": {[]int{3}, "can't be read: the sealed text can't be opened", func(w *fixture.Store, p *fixture.Corrupter, _ []byte, reply ledger.Source) {
			p.ChangeRecord(w.FirstDemo.Org, reply, func(_ *store.RecordHeader, payload []byte) []byte {
				payload[len(payload)-1] ^= 1
				return payload
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, key := storeWithKey(t)
			reply := ledger.Source{Kind: ledger.Reply, ID: paymentactor.ReplyID(w.FirstDemo.Org, key.ClaimKey())}
			claim := store.KeyClaim(nil, w.FirstDemo.Org, ledger.ClaimIdempotency, key.ClaimKey())
			if c.corrupt != nil {
				w.Corrupt(t, func(p *fixture.Corrupter) { c.corrupt(w, p, claim, reply) })
			}
			report := w.Check(t, check.Inputs{})
			fixture.WantBroken(t, report, c.brokenRules...)
			wantDetail(t, report, c.wantText)
		})
	}
}
