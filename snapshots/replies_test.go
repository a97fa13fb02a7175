package snapshots_test

import (
	"testing"

	"mizan/actors"
	live "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting/store"
	"mizan/snapshots"
)

// withKey is a town in which a payment came with a key.
func withKey(t *testing.T) (w *town, id ledger.ID, key actors.Key) {
	t.Helper()
	w = settle(t)
	h := open(t, w)
	defer h.close()
	key = actors.Key{Scope: actors.KeyOfPartner(w.first.Partner), Text: "k", Hash: [32]byte{1}}
	owner, known := h.directory.Partner(w.first.Org, w.first.Partner)
	if !known {
		t.Fatal("the partner is not there")
	}
	result, err := h.payments.Create(live.Create{Org: w.first.Org, Partner: owner, Key: key, Request: payment.Request{
		Type: payment.Payment, Amount: money.FromUint64(5), Asset: usd, Method: "e_wallet", ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
	}})
	if err != nil {
		t.Fatal(err)
	}
	return w, result.Record.ID, key
}

// resealedReply plants a reply with another plaintext.
func resealedReply(change func(plaintext []byte) []byte) func(*town, *planter, []byte, ledger.Source) {
	return func(w *town, p *planter, _ []byte, reply ledger.Source) {
		keys := keyring(p.t, w.dir)
		p.record(w.first.Org, reply, func(_ *store.Envelope, payload []byte) []byte {
			plaintext, err := actors.OpenReply(keys, actors.PaymentReply, w.first.Org, reply.ID, payload)
			must(p.t, err)
			sealed, err := actors.SealReply(keys, actors.PaymentReply, w.first.Org, reply.ID, change(plaintext))
			must(p.t, err)
			return sealed
		})
	}
}

func TestRepliesThatAreKeptAreSomeKeysAndShowWhatWas(t *testing.T) {
	for name, c := range map[string]struct {
		broken []int
		says   string
		plant  func(w *town, p *planter, claim []byte, reply ledger.Source)
	}{
		"none":                    {},
		"a reply without its key": {[]int{4}, "is no key's", func(_ *town, p *planter, claim []byte, _ ledger.Source) { p.group.Delete(claim) }},
		"a reply of no form": {[]int{3}, "is of an unknown form", func(w *town, p *planter, _ []byte, reply ledger.Source) {
			p.record(w.first.Org, reply, func(*store.Envelope, []byte) []byte { return []byte{9} })
		}},
		"a reply that can't be read": {[]int{3}, "can't be read: reply", resealedReply(func(plaintext []byte) []byte { return plaintext[:3] })},
		"a reply of a version that never was": {[]int{3}, "as it never was", resealedReply(func(plaintext []byte) []byte {
			plaintext[0]++ // the version, below 128
			return plaintext
		})},
		"a reply that does not open": {[]int{3}, "can't be read: the sealed text does not open", func(w *town, p *planter, _ []byte, reply ledger.Source) {
			p.record(w.first.Org, reply, func(_ *store.Envelope, payload []byte) []byte {
				payload[len(payload)-1] ^= 1
				return payload
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, key := withKey(t)
			reply := ledger.Source{Kind: ledger.Reply, ID: live.ReplyID(w.first.Org, key.ClaimKey())}
			claim := store.KeyClaim(nil, w.first.Org, ledger.ClaimIdempotency, key.ClaimKey())
			if c.plant != nil {
				w.plant(t, func(p *planter) { c.plant(w, p, claim, reply) })
			}
			report := w.check(t, snapshots.Inputs{})
			wantBroken(t, report, c.broken...)
			wantSaid(t, report, c.says)
		})
	}
}
