package transactions

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"mizan/actors"
	subscriptionactor "mizan/actors/subscription"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/subscription"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rules 3 and 4 of the checker (states of records, claims), this file checks subscriptions. Each numbered renewal
// of a subscription is one transaction with the subscription's amount and terminal. The subscription's number of paid
// renewals equals the number of its settled transactions. The name of every renewal has a claim, which makes the name
// unique.

// FollowSubscription counts a subscription's renewals. It checks that they do not overlap: each renewal begins after
// the previous renewal has ended.
func (c *Check) FollowSubscription(e *ledger.Event) {
	history := c.organization.Histories.Subscriptions.HistoryOf(e.Source.ID)
	switch subscription.Event(e.Name) {
	case subscription.Renew:
		history.Begun++
	case subscription.Renewed:
		history.Paid++
	case subscription.Unpaid:
		history.Unpaid++
	}
	if ended := history.Paid + history.Unpaid; ended > history.Begun || history.Begun > ended+1 {
		c.EventFault(c.organization.ID, e, "its renewals do not begin and end one after the other")
	}
}

// CheckSubscription compares a subscription's payload with the subscription's events. It returns the decoded payload,
// or nil if the payload can't be read.
func (c *Check) CheckSubscription(r *scan.Record) *subscription.Record {
	p, err := subscriptionactor.Decode(r.Source.ID, r.Payload)
	if err != nil {
		c.Fault(r, "can't be read: %v", err)
		return nil
	}
	c.CheckState(r, string(p.State))
	histories := r.Organization.Histories
	history := histories.Subscriptions.HistoryOf(p.ID)
	history.Record = p
	isUnderWay := p.State.IsRenewing()
	needsTimer := isUnderWay || p.State == subscription.Active || p.State == subscription.PastDue
	switch {
	case p.RenewalsBegun != history.Begun || p.Renewals != history.Paid:
		c.Fault(r, "says %d renewals, %d of them paid; its events say %d and %d", p.RenewalsBegun, p.Renewals, history.Begun, history.Paid)
	case (p.RenewalsBegun > 0) != (p.LastTransaction != ledger.ID{}):
		c.Fault(r, "names no transaction of its last renewal, or one without a renewal")
	case p.State == subscription.PastDue && p.Failures == 0, p.State == subscription.Active && p.Failures != 0:
		c.Fault(r, "is %q after %d failures", p.State, p.Failures)
	case needsTimer != (r.Header.Due != 0):
		c.Fault(r, "is %q, and it has a timer: %v", p.State, r.Header.Due != 0)
	case needsTimer && !isUnderWay && r.Header.Due < p.NextCharge:
		c.Fault(r, "has a timer before its renewal is due")
	}
	first, further := subscription.Lists.Of(p)
	histories.ExpectLists(r.History, first, further...)
	return p
}

// noteRenewal records a transaction if it is a renewal. It also records that such a transaction must have a claim on
// the renewal's name.
func (c *Check) noteRenewal(r *scan.Record, p *payment.Record) {
	if p.Renewal == nil {
		return
	}
	h, histories := r.History, r.Organization.Histories
	name := actors.Renewal{Subscription: p.Renewal.Subscription, Number: p.Renewal.Number}
	key := name.Key()
	h.ClaimKind, h.ClaimHash = ledger.ClaimIdempotency, histories.Hash(byte(ledger.ClaimIdempotency), key.ClaimKey())
	paid, ended := p.ChargeProgress()
	renewal := scan.Renewal{ID: p.ID, Details: *p.Renewal, Amount: p.Amount, Asset: p.Asset, IsPaid: paid, HasEnded: ended, Partner: p.Partner}
	s := &histories.Subscriptions
	if s.ByTransaction == nil {
		s.ByTransaction = make(map[ledger.ID]scan.Renewal)
	}
	s.Renewals, s.ByTransaction[p.ID] = append(s.Renewals, renewal), renewal
	switch {
	case p.TxID != "":
		c.Fault(r, "is a renewal and has a txid")
	case p.Type != payment.Payment || p.Method != payment.ProviderToken:
		c.Fault(r, "is a renewal and no payment by a provider's token")
	case p.Terminal != ledger.ID{} && p.Terminal != p.Renewal.Terminal:
		c.Fault(r, "is a renewal at another terminal than its initial payment")
	}
}

// CheckRenewals compares subscriptions with the transactions of their renewals. While a renewal is under way, its
// transaction may not exist yet.
func (c *Check) CheckRenewals() {
	o := c.organization
	s := &o.Histories.Subscriptions
	report := func(id ledger.ID, text string) {
		c.Report.Breach(findings.RuleStates, "organization %v: subscription %v: %s", o.ID, id, text)
	}
	type renewalCounts struct{ found, paid uint64 }
	countedRenewals := make(map[ledger.ID]renewalCounts)
	for i := range s.Renewals {
		renewal := &s.Renewals[i]
		history := s.Histories[renewal.Details.Subscription]
		if history == nil || history.Record == nil {
			report(renewal.Details.Subscription, "transaction "+renewal.ID.String()+" renews it, and it does not exist")
			continue
		}
		r := history.Record
		if renewal.Details.Number == 0 || renewal.Details.Number > history.Begun {
			report(r.ID, "transaction "+renewal.ID.String()+" is a renewal that was never begun")
		}
		if renewal.Amount != r.Amount || renewal.Asset.Currency != r.Asset.Currency || renewal.Asset.Env != r.Asset.Env || renewal.Partner != r.Partner ||
			renewal.Details.Initial != r.InitialPayment || renewal.Details.Terminal != r.Terminal {
			report(r.ID, "transaction "+renewal.ID.String()+" renews something else")
		}
		counted := countedRenewals[r.ID]
		if counted.found++; renewal.IsPaid {
			counted.paid++
		}
		countedRenewals[r.ID] = counted
	}
	for id, history := range s.Histories {
		if history.Record == nil {
			continue // the subscription's row is missing, which is reported elsewhere
		}
		counted := countedRenewals[id]
		var openRenewals uint64
		if history.Record.State.IsRenewing() {
			openRenewals = 1
		}
		last, found := s.ByTransaction[history.Record.LastTransaction]
		switch {
		case counted.found > history.Begun || counted.found+openRenewals < history.Begun:
			report(id, strconv.FormatUint(history.Begun, 10)+" renewals were begun, and "+strconv.FormatUint(counted.found, 10)+" are there")
		case counted.paid < history.Paid || counted.paid > history.Paid+openRenewals:
			report(id, strconv.FormatUint(history.Paid, 10)+" renewals are paid, and "+strconv.FormatUint(counted.paid, 10)+" have settled")
		case found && (last.Details.Subscription != id || last.Details.Number != history.Record.RenewalsBegun), !found && openRenewals == 0 && history.Begun > 0:
			report(id, "its last renewal is not the one that it names")
		case openRenewals == 0 && found && !last.HasEnded:
			report(id, "its last renewal is still under way")
		}
	}
}

// CheckRenewalKey checks a claim on the name of a renewal. The claim's owner must be the transaction of the renewal. If
// the key is not the name of a renewal, CheckRenewalKey returns false.
func (c *Check) CheckRenewalKey(key string, owner []byte) bool {
	o := c.organization
	renewalName, ok := strings.CutPrefix(key, "subscription/")
	if !ok {
		return false
	}
	source, ok := scan.KeyOwner(owner)
	subscriptionID, _, hasNumber := strings.Cut(renewalName, "/")
	if _, err := uuid.Parse(subscriptionID); !ok || !hasNumber || err != nil {
		c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) of an unknown form", o.ID, ledger.ClaimIdempotency)
		return true
	}
	h := o.Histories.Find(source)
	switch {
	case h == nil || h.Marks&scan.HasRow == 0:
		c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) names %s, which does not exist", o.ID, ledger.ClaimIdempotency, scan.NameOf(source))
	case h.ClaimKind != ledger.ClaimIdempotency || h.ClaimHash != o.Histories.Hash(byte(ledger.ClaimIdempotency), key):
		c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) names %s, which has another key", o.ID, ledger.ClaimIdempotency, scan.NameOf(source))
	default:
		h.Marks |= scan.HasClaim
	}
	return true
}

// CheckSubscriptionKey checks a partner's idempotency key for a subscription. The claim on the key must name a subscription of
// this partner, and contain a cached reply that shows the subscription.
func (c *Check) CheckSubscriptionKey(key string, partner int64, source ledger.Source, owner []byte) {
	o := c.organization
	h := o.Histories.Find(source)
	if !o.Histories.BelongsToPartner(subscription.All, partner, h) {
		c.Report.Breach(findings.RuleClaims, "organization %v: a key of partner %d was used for %s, which is another's", o.ID, partner, scan.NameOf(source))
	}
	const head = 32 + 1 + 16 // length of the owner's first part: the hash of the request, and the kind and the id of the record
	showsSubscription := actors.SubscriptionReply.Has(owner[head:])
	if showsSubscription && c.Keyring != nil {
		id, err := subscriptionactor.CheckReply(c.Keyring, o.ID, key, owner[head:])
		showsSubscription = err == nil && id == source.ID
	}
	if !showsSubscription {
		c.Report.Breach(findings.RuleClaims, "organization %v: a key of partner %d does not show %s", o.ID, partner, scan.NameOf(source))
	}
}
