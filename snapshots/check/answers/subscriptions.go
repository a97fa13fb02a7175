package answers

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/jsonform"
	"mizan/ledger/schema"
	"mizan/ledger/subscription"
	"mizan/snapshots/check/contracts"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 1, subscriptions. A subscription's JSON form is equal to an answer, if it has had no event
// since its creation. Otherwise its standing has changed: it has had the shown status, and has
// made at least as many renewals as the answer shows.

const subscriptionsPath = "/api/v1/subscriptions"

// standing lists the fields of a subscription that change.
var standing = []string{"status", "next_renewal_at", "renewals", "failed_attempts", "last_transaction_id"}

// shownSubscription is a subscription as one answer showed it.
type shownSubscription struct {
	line     uint32
	members  members
	status   string
	renewals uint64
	last     string // the last renewal's transaction; empty: none
}

// readSubscriptions reads an answer about subscriptions; rest follows subscriptionsPath.
func (c *Check) readSubscriptions(n uint32, rest string, l *answerLine) bool {
	id, move, _ := strings.Cut(rest, "/")
	ok, known := true, true
	switch status := *l.Status; {
	case l.Method == "POST" && (id == "" && status == 201 || move != "" && status == 200), l.Method == "GET" && id != "" && status == 200:
		s := parseObject(l.data())
		ok = c.noteSubscription(n, l, s) && (id == "" || s.text("id") == id)
	case l.Method == "GET" && id == "" && status == 200:
		var list []object
		list, ok = l.rows()
		for _, s := range list {
			ok = c.noteSubscription(n, l, s) && ok
		}
		known = !ok || len(list) > 0
	case status == 404:
		return c.answers.subscriptions.noteUnknown(c, n, l, id, contracts.Variant{})
	default:
		return false
	}
	if !ok {
		c.Report.Breach(findings.RuleAnswers, "line %d: the answer shows no subscription, or another one than was asked for", n)
	}
	return known
}

// noteSubscription records what an answer shows of a subscription; false if it shows none.
func (c *Check) noteSubscription(n uint32, l *answerLine, s object) bool {
	renewals, err := strconv.ParseUint(string(s["renewals"]), 10, 63)
	if err != nil {
		return false
	}
	of := c.answers.subscriptions.note(c, n, l, s, contracts.Variant{})
	if of == nil {
		return false
	}
	of.shown = append(of.shown, shownSubscription{n, c.answers.membersOf(s), s.text("status"), renewals, s.text("last_transaction_id")})
	return true
}

// compareSubscriptions compares the stored subscriptions with the answers about them, after all
// transactions have been read.
func (c *Check) compareSubscriptions() {
	for place := range c.answers.subscriptions.index {
		o := c.Organizations[place.Org]
		if o == nil || o.Histories.Subscriptions.Histories[place.ID] == nil {
			continue
		}
		r := o.Histories.Subscriptions.Histories[place.ID].Record
		if r == nil {
			continue
		}
		of := c.answers.subscriptions.compare(c, place.Org, place.ID, r.Partner)
		for i := range of.shown {
			if names := c.subscriptionDiffers(o, r, &of.shown[i]); names != nil {
				c.Report.Breach(findings.RuleAnswers, "line %d: subscription %v was answered with another %s than it has", of.shown[i].line, r.ID, joined(names))
			}
		}
	}
}

// subscriptionDiffers names the fields in which an answer differs from the stored subscription.
func (c *Check) subscriptionDiffers(o *scan.Organization, r *subscription.Record, shown *shownSubscription) []string {
	a, h := &c.answers, o.Histories.Find(ledger.Source{Kind: ledger.Subscription, ID: r.ID})
	except := standing
	if h.Version == 1 {
		except = nil
	}
	names := a.differing(a.formOf(func(e *schema.Encoder) { jsonform.AppendSubscription(e, r, h.Started) }), shown.members, except)
	last, err := uuid.Parse(shown.last)
	switch {
	case shown.status == string(subscription.Cancelled) && r.Status() != shown.status, !wasShownAs(o, h, shown.status):
		names = append(names, "status")
	case shown.renewals > r.Renewals:
		names = append(names, "number of renewals")
	case shown.last != "" && (err != nil || o.Histories.Subscriptions.ByTransaction[last].Says.Subscription != r.ID):
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
