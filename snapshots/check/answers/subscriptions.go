package answers

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/subscription"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 1, subscriptions. A subscription has the terms that answers show, has had the shown
// status, and has made at least as many renewals as answers show.

const subscriptionsPath = "/api/v1/subscriptions"

// The fields of a subscription: the terms never change, the standing does.
var (
	subscriptionTerms    = [...]string{"id", "initial_payment_id", "amount", "currency", "network", "env", "period_days", "metadata", "created_at"}
	subscriptionStanding = [...]string{"status", "next_renewal_at", "renewals", "failed_attempts", "last_transaction_id"}
)

// subscriptionAnswer is a subscription as one answer showed it.
type subscriptionAnswer struct {
	line     uint32
	at       scan.Place
	partner  int64 // the partner whose key was used; 0: the line names none
	terms    [len(subscriptionTerms)]uint32
	standing [len(subscriptionStanding)]uint32
	status   string
	renewals uint64
	last     ledger.ID // the nil UUID: none
	key      string
}

// noteSubscription records what an answer shows of a subscription; false if it shows none.
func (c *Check) noteSubscription(n uint32, l *answerLine, s object) bool {
	id, err := uuid.Parse(s.text("id"))
	renewals, counted := strconv.ParseUint(string(s["renewals"]), 10, 63)
	if err != nil || counted != nil {
		return false
	}
	a := &c.answers
	of := subscriptionAnswer{line: n, at: scan.Place{Org: l.org, ID: id}, partner: l.PartnerID, status: s.text("status"), renewals: renewals}
	a.hashesOf(of.terms[:], subscriptionTerms[:], s)
	a.hashesOf(of.standing[:], subscriptionStanding[:], s)
	if last := s["last_transaction_id"]; last.Kind() == '"' {
		if of.last, err = uuid.Parse(s.text("last_transaction_id")); err != nil {
			return false
		}
	}
	if l.Method == "POST" {
		of.key = l.IdempotencyKey
	}
	a.subscriptions = append(a.subscriptions, of)
	return true
}

// termsOfSubscription returns a stored subscription's terms as answers show them.
func termsOfSubscription(r *subscription.Record, started ledger.Micros) object {
	metadata := jsontext.Value("{}")
	if len(r.Metadata) > 0 {
		metadata = r.Metadata
	}
	network := quoted(string(r.Asset.Network))
	return object{
		"id": quoted(r.ID.String()), "initial_payment_id": quoted(r.Initial.String()), "amount": quoted(r.Amount.String()),
		"currency": quoted(string(r.Asset.Currency)), "network": network, "env": quoted(r.Asset.Env.String()),
		"period_days": jsontext.Value(strconv.Itoa(r.PeriodDays)), "metadata": metadata, "created_at": instant(started),
	}
}

// standingOf returns a stored subscription's standing as answers show it.
func standingOf(r *subscription.Record) object {
	s := object{
		"status": quoted(r.Status()), "next_renewal_at": jsontext.Value("null"), "last_transaction_id": jsontext.Value("null"),
		"renewals": number(r.Renewals), "failed_attempts": number(uint64(r.Failures)),
	}
	if next, waits := r.NextRenewal(); waits {
		s["next_renewal_at"] = instant(next)
	}
	if r.Number > 0 {
		s["last_transaction_id"] = quoted(r.Last.String())
	}
	return s
}

// checkSubscriptionAnswers compares answers about subscriptions with the store. The whole
// standing is compared if the subscription has had no event since its creation. Otherwise only
// the fields that never decrease are compared: they must not be below the shown values.
func (c *Check) checkSubscriptionAnswers() {
	a := &c.answers
	for i := range a.subscriptions {
		of := &a.subscriptions[i]
		o := c.Organizations[of.at.Org]
		var l *scan.SubscriptionHistory
		if o != nil {
			l = o.Histories.Subscriptions.Histories[of.at.ID]
		}
		if l == nil || l.Record == nil {
			c.Report.Breach(findings.RuleAnswers, "line %d: subscription %v of organization %v is lost", of.line, of.at.ID, of.at.Org)
			continue
		}
		c.compareSubscription(o, of, l.Record)
	}
}

func (c *Check) compareSubscription(o *scan.Organization, of *subscriptionAnswer, r *subscription.Record) {
	a := &c.answers
	h := o.Histories.Find(ledger.Source{Kind: ledger.Subscription, ID: r.ID})
	wrong := func(what string) {
		c.Report.Breach(findings.RuleAnswers, "line %d: subscription %v was answered with another %s than it has", of.line, r.ID, what)
	}
	var terms [len(subscriptionTerms)]uint32
	a.hashesOf(terms[:], subscriptionTerms[:], termsOfSubscription(r, h.Started))
	if names := differing(subscriptionTerms[:], terms[:], of.terms[:]); names != "" {
		wrong(names)
	}
	if of.partner != 0 && of.partner != r.Partner {
		wrong("partner")
	}
	if h.Version == 1 {
		var standing [len(subscriptionStanding)]uint32
		a.hashesOf(standing[:], subscriptionStanding[:], standingOf(r))
		if names := differing(subscriptionStanding[:], standing[:], of.standing[:]); names != "" {
			wrong(names)
		}
	}
	switch {
	case of.status == string(subscription.Cancelled) && r.Status() != of.status, !wasShownAs(o, h, of.status):
		wrong("status")
	case of.renewals > r.Renewals:
		wrong("number of renewals")
	case of.last != ledger.ID{} && o.Histories.Subscriptions.ByTransaction[of.last].Says.Subscription != r.ID:
		wrong("transaction of a renewal")
	}
	if of.key == "" {
		return
	}
	if made, found := c.keyOf(of.line, of.at.Org, r.Partner, of.key); !found || made.ID != r.ID {
		c.Report.Breach(findings.RuleAnswers, "line %d: the key that subscription %v was asked for with names it no more", of.line, r.ID)
	}
}

// wasShownAs tells whether a subscription has been in a state that answers show as the status.
// While a renewal is being retried the status is past_due, whatever the state.
func wasShownAs(o *scan.Organization, h *scan.History, status string) bool {
	states := o.Histories.StatesOf(ledger.Subscription)
	for _, state := range states.Names[1:] {
		standing := subscription.Standing{State: subscription.State(state)}
		again := standing
		again.Failures = 1
		if states.Was(h, state) && (standing.Status() == status || again.Status() == status) {
			return true
		}
	}
	return false
}
