package answers

import (
	"strings"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/jsonform"
	"mizan/ledger/schema"
	"mizan/ledger/subscription"
	"mizan/snapshots/check/contracts"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
	"mizan/snapshots/check/transactions"
)

// For rule 1 of the checker (acknowledged responses), this file checks responses about subscriptions. For each
// response there must be an event after which the subscription's JSON form was equal to the response. Events do not
// contain the instant of the next renewal. So this instant is compared only with the latest form, which is that of
// the stored subscription.

const subscriptionsPath = "/api/v1/subscriptions"

// shownSubscription is a subscription as one response showed it.
type shownSubscription struct {
	line            uint32
	lastTransaction ledger.ID // the transaction of the last renewal; zero if there is none
	members         members
}

// readSubscriptions reads a response about subscriptions. rest is the part of the URL path after subscriptionsPath.
func (c *Check) readSubscriptions(lineNumber uint32, rest string, l *responseLine) bool {
	id, _, _ := strings.Cut(rest, "/")
	if *l.Status == 404 {
		return c.answers.subscriptions.noteUnknown(c, lineNumber, l, id, contracts.Variant{})
	}
	if !l.succeeded(id == "") {
		return false
	}
	records, ok := l.shownObjects(id == "" && l.Method == "GET")
	for _, object := range records {
		ok = (id == "" || object.text("id") == id) && c.noteSubscription(lineNumber, l, object) && ok
	}
	if !ok {
		c.Report.Breach(findings.RuleAnswers, "line %d: the response shows no subscription, or another one than was asked for", lineNumber)
	}
	return !ok || len(records) > 0
}

// noteSubscription records a subscription as a response shows it. It returns false if the response shows no subscription.
func (c *Check) noteSubscription(lineNumber uint32, l *responseLine, object jsonObject) bool {
	record := c.answers.subscriptions.findOrAdd(c, lineNumber, l, object, contracts.Variant{})
	if record == nil {
		return false
	}
	lastTransaction, err := uuid.Parse(object.text("last_transaction_id"))
	if err != nil {
		lastTransaction = ledger.ID{} // there is no valid id, so the text names no transaction of the subscription
	}
	record.shown = append(record.shown, shownSubscription{lineNumber, lastTransaction, c.answers.membersOf(object)})
	return true
}

// compareSubscriptions compares the stored subscriptions with the responses about them, after all
// transactions have been read.
func (c *Check) compareSubscriptions() {
	for recordKey := range c.answers.subscriptions.index {
		o := c.Organizations[recordKey.Org]
		if o == nil || o.Histories.Subscriptions.Histories[recordKey.ID] == nil {
			continue
		}
		r := o.Histories.Subscriptions.Histories[recordKey.ID].Record
		if r == nil {
			continue
		}
		record := c.answers.subscriptions.markFound(c, recordKey.Org, recordKey.ID, r.Partner)
		pastRecords, err := transactions.SubscriptionHistory(c.Scan, o, r)
		if err != nil {
			c.Report.Breach(findings.RuleAnswers, "line %d: the events of subscription %v can't be read: %v", record.line, r.ID, err)
		}
		for i := range record.shown {
			if names := c.subscriptionDiffers(o, pastRecords, &record.shown[i]); names != nil {
				c.Report.Breach(findings.RuleAnswers, "line %d: subscription %v was answered with another %s than it had", record.shown[i].line, r.ID, joinNames(names))
			}
		}
	}
}

// subscriptionDiffers compares a response with all forms that the subscription had. It returns the names of the fields in which
// the response differs from the most similar form. If the response is equal to one of the forms, it returns no names.
func (c *Check) subscriptionDiffers(o *scan.Organization, pastRecords []subscription.Record, shown *shownSubscription) (names []string) {
	a, renewal := &c.answers, o.Histories.Subscriptions.ByTransaction[shown.lastTransaction].Details
	for i, past := range pastRecords {
		var excluded []string
		if i < len(pastRecords)-1 {
			if renewal.Subscription == past.ID && renewal.Number == past.RenewalsBegun {
				past.LastTransaction = shown.lastTransaction
			}
			if _, isWaiting := past.NextRenewal(); isWaiting {
				excluded = []string{"next_renewal_at"}
			}
		}
		started := o.Histories.Find(ledger.Source{Kind: ledger.Subscription, ID: past.ID}).StartedAt
		form := a.membersWritten(func(e *schema.Encoder) { jsonform.AppendSubscription(e, &past, started) })
		if differing := a.differingNames(form, shown.members, excluded); i == 0 || len(differing) < len(names) {
			names = differing
		}
	}
	return names
}
