package check

import (
	"strconv"
	"strings"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/money"
)

// usedKey is a claim on an idempotency key that names what is not in its own
// organization, as those of the administration do, which are the platform's.
type usedKey struct {
	org    ledger.ID
	made   ledger.Source
	place  ledger.ID // the organization of what was made
	answer ledger.ID // what was answered, kept there too; the nil UUID: nothing is
}

// madeElsewhere reads a claim of the administration on an idempotency key: the
// owner ends with the organization of what was made, where the answer lies too.
// Without one it is an organization that was made.
func madeElsewhere(org ledger.ID, made ledger.Source, key string, owner []byte) usedKey {
	const head = 32 + 1 + 16
	k := usedKey{org: org, made: made, place: made.ID}
	if len(owner) == head+len(k.place) {
		k.place, k.answer = ledger.ID(owner[head:]), words.AnswerID(key)
	}
	return k
}

// keyUsed checks that a claim on an idempotency key names something that exists
// and, where it is a partner's key for a transaction, that partner's.
func (c *orgCheck) keyUsed(key string, owner []byte) {
	o := c.organization
	if c.transactions.renewalKey(key, owner) || c.contracts.staffKey(key, owner) {
		return
	}
	made, ok := keyOwner(owner)
	scope, text, scoped := cutScope(key)
	if !ok || !scoped || text == "" {
		c.report.breach(ruleClaims, "organization %v: a claim (%c) of an unknown form", o.id, ledger.ClaimIdempotency)
		return
	}
	h := o.histories.find(made)
	if h == nil || h.marks&stored == 0 || o.id == words.PlatformOrg {
		c.keys = append(c.keys, madeElsewhere(o.id, made, key, owner))
		return
	}
	if made.Kind == ledger.Subscription && scope != 0 {
		c.transactions.subscriptionKey(key, scope, made, owner)
	}
	if made.Kind != ledger.Transaction || scope == 0 {
		return
	}
	c.replies.keys[placed{o.id, paymentactor.ReplyID(o.id, key)}] = made.ID
	if h.list != o.histories.listOf(scope, money.Prod) && h.list != o.histories.listOf(scope, money.Test) {
		c.report.breach(ruleClaims, "organization %v: a key of partner %d was used for %s, which is another's", o.id, scope, named(made))
	}
}

// checkReply checks that what somebody was answered with is an earlier picture of a
// transaction, or of a contract, that is there.
func (c *orgCheck) checkReply(r *record) {
	c.checkState(r, string(words.StateGiven))
	switch {
	case actors.ContractReply.Has(r.payload):
		c.contracts.checkContractReply(r)
	case !actors.PaymentReply.Has(r.payload):
		c.faulty(r, "is of an unknown form")
	case c.keyring == nil:
		c.replies.shown[placed{r.organization.id, r.source.ID}] = ledger.ID{}
	default:
		c.checkPaymentReply(r)
	}
}

func (c *orgCheck) checkPaymentReply(r *record) {
	reply, err := paymentactor.OpenReply(c.keyring, r.organization.id, r.source.ID, r.payload)
	if err != nil {
		c.faulty(r, "can't be read: %v", err)
		return
	}
	h := r.organization.histories.find(ledger.Source{Kind: ledger.Transaction, ID: reply.Record.ID})
	if h == nil || uint64(h.version) < reply.Stamp.Version || h.last < reply.Stamp.LastSeq || h.started != reply.Stamp.Started {
		c.faulty(r, "shows transaction %v as it never was", reply.Record.ID)
	}
	c.replies.shown[placed{r.organization.id, r.source.ID}] = reply.Record.ID
}

// checkAnswer opens what a write of the administration was answered with.
func (c *orgCheck) checkAnswer(r *record) {
	if c.keyring == nil {
		return
	}
	if _, err := directoryactor.OpenAnswer(c.keyring, r.organization.id, r.source.ID, r.payload); err != nil {
		c.faulty(r, "can't be read: %v", err)
	}
}

// cutScope takes a key apart: whose it is, the administration's being 0, and
// what was sent.
func cutScope(key string) (partner int64, text string, ok bool) {
	if text, ok = strings.CutPrefix(key, actors.KeyOfAdmin+"/"); ok {
		return 0, text, true
	}
	rest, ok := strings.CutPrefix(key, "partner/")
	if !ok {
		return 0, "", false
	}
	digits, text, ok := strings.Cut(rest, "/")
	partner, err := strconv.ParseInt(digits, 10, 64)
	return partner, text, ok && err == nil && partner > 0
}

// checkKeys looks again for what keys name beyond their organization, and that
// every answer that is kept is some key's.
func (c *checker) checkKeys() error {
	for at, shown := range c.replies.shown {
		if used, found := c.replies.keys[at]; !found || used != shown && shown != (ledger.ID{}) {
			c.report.breach(ruleClaims, "organization %v: %s is no key's", at.org, named(ledger.Source{Kind: ledger.Reply, ID: at.id}))
		}
	}
	kept := make(map[placed]bool)
	for _, k := range c.keys {
		if made := c.storedIn(k.place, k.made); made == nil || k.answer == (ledger.ID{}) && k.made.Kind != ledger.Organization {
			c.report.breach(ruleClaims, "organization %v: a claim (%c) names %s, which is not there", k.org, ledger.ClaimIdempotency, named(k.made))
			continue
		}
		if k.answer == (ledger.ID{}) {
			continue
		}
		answer := ledger.Source{Kind: ledger.Answer, ID: k.answer}
		if c.storedIn(k.place, answer) == nil {
			c.report.breach(ruleClaims, "organization %v: a claim (%c) has %s, which is not there", k.org, ledger.ClaimIdempotency, named(answer))
			continue
		}
		kept[placed{k.place, k.answer}] = true
	}
	for _, a := range c.given {
		if !kept[a] {
			c.report.breach(ruleClaims, "organization %v: %s is no key's", a.org, named(ledger.Source{Kind: ledger.Answer, ID: a.id}))
		}
	}
	return nil
}
