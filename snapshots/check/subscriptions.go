package check

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"mizan/actors"
	recurring "mizan/actors/subscription"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/subscription"
)

// followSubscription counts a subscription's renewals: one at a time, each an
// intent before what became of it.
func (j *transactionsCheck) followSubscription(e *ledger.Event) {
	l := j.organization.histories.subscribed.of(e.Source.ID)
	switch subscription.Event(e.Name) {
	case subscription.Renew:
		l.begun++
	case subscription.Renewed:
		l.paid++
	case subscription.Unpaid:
		l.unpaid++
	}
	if over := l.paid + l.unpaid; over > l.begun || l.begun > over+1 {
		j.wrongEvent(j.organization.id, e, "renewals are begun and end one after the other")
	}
}

// checkSubscription compares a subscription's payload with its events.
func (c *transactionsCheck) checkSubscription(r *record) *subscription.Record {
	p, err := recurring.Decode(r.source.ID, r.payload)
	if err != nil {
		c.faulty(r, "can't be read: %v", err)
		return nil
	}
	c.checkState(r, string(p.State))
	histories := r.organization.histories
	l := histories.subscribed.of(p.ID)
	l.record = p
	under := p.State.UnderWay()
	waits := under || p.State == subscription.Active || p.State == subscription.PastDue
	switch {
	case p.Number != l.begun || p.Renewals != l.paid:
		c.faulty(r, "says %d renewals, %d of them paid; its events say %d and %d", p.Number, p.Renewals, l.begun, l.paid)
	case (p.Number > 0) != (p.Last != ledger.ID{}):
		c.faulty(r, "names no transaction of its last renewal, or one without a renewal")
	case p.State == subscription.PastDue && p.Failures == 0, p.State == subscription.Active && p.Failures != 0:
		c.faulty(r, "is %q after %d failures", p.State, p.Failures)
	case waits != (r.stamp.Due != 0):
		c.faulty(r, "is %q, and something will wake it: %v", p.State, r.stamp.Due != 0)
	case waits && !under && r.stamp.Due < p.Next:
		c.faulty(r, "is woken before its renewal is due")
	}
	r.history.list = histories.listOf(p.Partner, listOfSubscriptions|p.Asset.Env)
	return p
}

// meetRenewal notes what a transaction says that it renews, and the claim that it
// must have: its name, for ever.
func (c *transactionsCheck) meetRenewal(r *record, p *payment.Record) {
	if p.Renewal == nil {
		return
	}
	h, histories := r.history, r.organization.histories
	name := actors.Renewal{Subscription: p.Renewal.Subscription, Number: p.Renewal.Number}
	key := name.Key()
	h.claims, h.claim = ledger.ClaimIdempotency, histories.hash(byte(ledger.ClaimIdempotency), key.ClaimKey())
	paid, over := p.Standing()
	made := renewal{id: p.ID, says: *p.Renewal, amount: p.Amount, asset: p.Asset, paid: paid, over: over, owner: p.Partner}
	s := &histories.subscribed
	if s.made == nil {
		s.made = make(map[ledger.ID]renewal)
	}
	s.renewals, s.made[p.ID] = append(s.renewals, made), made
	switch {
	case p.TxID != "":
		c.faulty(r, "is a renewal and has a txid")
	case p.Type != payment.Payment || p.Method != payment.ProviderToken:
		c.faulty(r, "is a renewal and no payment by a provider's token")
	case p.Terminal != ledger.ID{} && p.Terminal != p.Renewal.Terminal:
		c.faulty(r, "is a renewal at another terminal than its initial payment")
	}
}

// checkRenewals compares subscriptions with the transactions of their renewals:
// each number that was begun is one transaction, but for one that is under way and
// was not begun yet, and as many are paid as the subscription says.
func (c *transactionsCheck) checkRenewals() {
	o := c.organization
	s := &o.histories.subscribed
	wrong := func(id ledger.ID, what string) {
		c.report.breach(ruleStates, "organization %v: subscription %v: %s", o.id, id, what)
	}
	type sums struct{ made, paid uint64 }
	counted := make(map[ledger.ID]sums)
	for i := range s.renewals {
		m := &s.renewals[i]
		l := s.lived[m.says.Subscription]
		if l == nil || l.record == nil {
			wrong(m.says.Subscription, "transaction "+m.id.String()+" renews it, and it is not there")
			continue
		}
		r := l.record
		if m.says.Number == 0 || m.says.Number > l.begun {
			wrong(r.ID, "transaction "+m.id.String()+" is a renewal that was never begun")
		}
		if m.amount != r.Amount || m.asset.Currency != r.Asset.Currency || m.asset.Env != r.Asset.Env || m.owner != r.Partner ||
			m.says.Initial != r.Initial || m.says.Terminal != r.Terminal {
			wrong(r.ID, "transaction "+m.id.String()+" renews something else")
		}
		n := counted[r.ID]
		if n.made++; m.paid {
			n.paid++
		}
		counted[r.ID] = n
	}
	for id, l := range s.lived {
		if l.record == nil {
			continue // its row is missing, which is a breach by itself
		}
		n := counted[id]
		var open uint64
		if l.record.State.UnderWay() {
			open = 1
		}
		last, made := s.made[l.record.Last]
		switch {
		case n.made > l.begun || n.made+open < l.begun:
			wrong(id, strconv.FormatUint(l.begun, 10)+" renewals were begun, and "+strconv.FormatUint(n.made, 10)+" are there")
		case n.paid < l.paid || n.paid > l.paid+open:
			wrong(id, strconv.FormatUint(l.paid, 10)+" renewals are paid, and "+strconv.FormatUint(n.paid, 10)+" have settled")
		case made && (last.says.Subscription != id || last.says.Number != l.record.Number), !made && open == 0 && l.begun > 0:
			wrong(id, "its last renewal is another one than it says")
		case open == 0 && made && !last.over:
			wrong(id, "its last renewal is still under way")
		}
	}
}

// renewalKey looks at a claim on a renewal's name; false: it is another key's. The
// claim names the transaction that has the name, in its own organization.
func (c *transactionsCheck) renewalKey(key string, owner []byte) bool {
	o := c.organization
	rest, ok := strings.CutPrefix(key, "subscription/")
	if !ok {
		return false
	}
	made, ok := keyOwner(owner)
	subscribed, _, cut := strings.Cut(rest, "/")
	if _, err := uuid.Parse(subscribed); !ok || !cut || err != nil {
		c.report.breach(ruleClaims, "organization %v: a claim (%c) of an unknown form", o.id, ledger.ClaimIdempotency)
		return true
	}
	h := o.histories.find(made)
	switch {
	case h == nil || h.marks&stored == 0:
		c.report.breach(ruleClaims, "organization %v: a claim (%c) names %s, which is not there", o.id, ledger.ClaimIdempotency, named(made))
	case h.claims != ledger.ClaimIdempotency || h.claim != o.histories.hash(byte(ledger.ClaimIdempotency), key):
		c.report.breach(ruleClaims, "organization %v: a claim (%c) names %s, which has another key", o.id, ledger.ClaimIdempotency, named(made))
	default:
		h.marks |= claimed
	}
	return true
}

// subscriptionKey checks a partner's key that was used for a subscription: it is
// that partner's, and has what it was answered with, which is that subscription.
func (c *transactionsCheck) subscriptionKey(key string, partner int64, made ledger.Source, owner []byte) {
	o := c.organization
	h := o.histories.find(made)
	if h.list != o.histories.listOf(partner, listOfSubscriptions|money.Prod) && h.list != o.histories.listOf(partner, listOfSubscriptions|money.Test) {
		c.report.breach(ruleClaims, "organization %v: a key of partner %d was used for %s, which is another's", o.id, partner, named(made))
	}
	const head = 32 + 1 + 16
	shows := actors.SubscriptionReply.Has(owner[head:])
	if shows && c.keyring != nil {
		id, err := recurring.CheckReply(c.keyring, o.id, key, owner[head:])
		shows = err == nil && id == made.ID
	}
	if !shows {
		c.report.breach(ruleClaims, "organization %v: a key of partner %d shows nothing of %s", o.id, partner, named(made))
	}
}
