package answers

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/jsonform"
	"mizan/ledger/schema"
	"mizan/ledger/subscription"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 1, subscriptions. A subscription's JSON form is equal to an answer, if it has had no event
// since its creation. Otherwise its standing has changed: it has had the shown status, and has
// made at least as many renewals as the answer shows.

const subscriptionsPath = "/api/v1/subscriptions"

// standing lists the fields of a subscription that change.
var standing = []string{"status", "next_renewal_at", "renewals", "failed_attempts", "last_transaction_id"}

// subscriptionAnswer is a subscription as one answer showed it.
type subscriptionAnswer struct {
	line     uint32
	at       scan.Place
	partner  int64 // the partner whose key was used; 0: the line names none
	members  members
	status   string
	renewals uint64
	last     string // the last renewal's transaction; empty: none
	key      string
}

// readSubscriptions reads an answer about subscriptions.
func (c *Check) readSubscriptions(n uint32, rest string, l *answerLine) bool {
	id, move, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	switch status := *l.Status; {
	case l.Method == "POST" && id == "" && status == 201, l.Method == "POST" && move != "" && status == 200, l.Method == "GET" && id != "" && status == 200:
		s := parseObject(l.data())
		if !c.noteSubscription(n, l, s) || id != "" && s.text("id") != id {
			c.Report.Breach(findings.RuleAnswers, "line %d: the answer shows no subscription, or another one than was asked for", n)
		}
		return true
	case l.Method == "GET" && id == "" && status == 200:
		list, ok := l.rows()
		for _, s := range list {
			ok = c.noteSubscription(n, l, s) && ok
		}
		if !ok {
			c.Report.Breach(findings.RuleAnswers, "line %d: the answer is no list of subscriptions", n)
		}
		return !ok || len(list) > 0
	}
	return false
}

// noteSubscription records what an answer shows of a subscription; false if it shows none.
func (c *Check) noteSubscription(n uint32, l *answerLine, s object) bool {
	id, err := uuid.Parse(s.text("id"))
	renewals, counted := strconv.ParseUint(string(s["renewals"]), 10, 63)
	if err != nil || counted != nil {
		return false
	}
	of := subscriptionAnswer{
		line: n, at: scan.Place{Org: l.org, ID: id}, partner: l.PartnerID, members: c.answers.membersOf(s),
		status: s.text("status"), renewals: renewals, last: s.text("last_transaction_id"),
	}
	if l.Method == "POST" {
		of.key = l.IdempotencyKey
	}
	c.answers.subscriptions = append(c.answers.subscriptions, of)
	return true
}

// checkSubscriptionAnswers compares answers about subscriptions with the store.
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
		source := ledger.Source{Kind: ledger.Subscription, ID: of.at.ID}
		if names := c.subscriptionDiffers(o, of, l.Record, o.Histories.Find(source)); names != nil {
			c.Report.Breach(findings.RuleAnswers, "line %d: subscription %v was answered with another %s than it has", of.line, of.at.ID, joined(names))
		}
		if of.key != "" {
			c.checkKey(&keyedAnswer{of.line, of.at.Org, of.key, source}, actors.KeyOfPartner(l.Record.Partner))
		}
	}
}

// subscriptionDiffers names the fields in which an answer differs from the stored subscription.
func (c *Check) subscriptionDiffers(o *scan.Organization, of *subscriptionAnswer, r *subscription.Record, h *scan.History) []string {
	a, form := &c.answers, schema.Encoder{Buf: []byte{'{'}}
	jsonform.AppendSubscription(&form, r, h.Started)
	form.Close('}')
	except := standing
	if h.Version == 1 {
		except = nil
	}
	names := a.differing(a.membersOf(parseObject(form.Buf)), of.members, except)
	if of.partner != 0 && of.partner != r.Partner {
		names = append(names, "partner")
	}
	last, err := uuid.Parse(of.last)
	switch {
	case of.status == string(subscription.Cancelled) && r.Status() != of.status, !wasShownAs(o, h, of.status):
		names = append(names, "status")
	case of.renewals > r.Renewals:
		names = append(names, "number of renewals")
	case of.last != "" && (err != nil || o.Histories.Subscriptions.ByTransaction[last].Says.Subscription != r.ID):
		names = append(names, "transaction of a renewal")
	}
	return names
}

// wasShownAs tells whether a subscription has been in a state that answers show as the status.
// While a renewal is being retried the status is past_due, whatever the state.
func wasShownAs(o *scan.Organization, h *scan.History, status string) bool {
	states := o.Histories.StatesOf(ledger.Subscription)
	for _, state := range states.Names[1:] {
		first := subscription.Standing{State: subscription.State(state)}
		again := subscription.Standing{State: first.State, Failures: 1}
		if states.Was(h, state) && (first.Status() == status || again.Status() == status) {
			return true
		}
	}
	return false
}
