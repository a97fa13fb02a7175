package answers

import (
	"slices"
	"strconv"
	"strings"

	"mizan/ledger"
	"mizan/ledger/jsonform"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/snapshots/check/findings"
)

// For rule 1 of the checker (acknowledged responses), this file checks responses about entries. If a client requested
// an entry by the seq of its event (the event's number in the journal), the response must show the stored entry and
// the balances after the entry. An auditor sees all postings, a partner only the postings to the partner's own
// accounts.

const entriesPath = "/api/v1/ledger/entries"

// readEntry compares the journal with a response that shows one entry. This can be done at once, because an event never
// changes. rest is the part of the URL path after entriesPath.
func (c *Check) readEntry(lineNumber uint32, rest string, l *responseLine) bool {
	if l.Method != "GET" || *l.Status != 200 || rest == "" {
		return false
	}
	seq, err := strconv.ParseUint(rest, 10, 63)
	report := func(format string, args ...any) bool {
		c.Report.Breach(findings.RuleAnswers, "line %d: entry %d of organization %v "+format, append([]any{lineNumber, seq, l.org}, args...)...)
		return true
	}
	if err != nil {
		return report("is shown, but the path has no valid seq")
	}
	e, _, found, err := c.View.Event(l.org, seq)
	if err == nil && (!found || e.Entry == nil) {
		return report("is lost")
	}
	var totalsAfter [][]ledger.Totals
	if err == nil {
		totalsAfter, err = c.View.TotalsAfter(l.org, []ledger.Event{e}, func(ledger.Path) bool { return true })
	}
	if err != nil {
		return report("can't be read: %v", err)
	}
	if names := c.answers.entryDiffers(c.answers.membersOf(parseObject(l.data())), &e, totalsAfter[0]); names != nil {
		report("is stored with another %s", joinNames(names))
	}
	return true
}

// entryDiffers returns the names of the fields in which the response differs from the entry. An auditor and the entry's partners
// see different parts of the entry, so the response is compared with what each of them sees. entryDiffers returns the
// differences from the view that is most similar to the response.
func (r *receivedResponses) entryDiffers(shown members, e *ledger.Event, totalsAfter []ledger.Totals) (names []string) {
	owners := []string{""} // whose accounts are visible; "": all accounts
	for _, p := range e.Entry.Postings {
		if owner := ownerOf(p.Account); !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	for i, owner := range owners {
		balances := jsonform.Balances{After: make([]money.Signed, len(totalsAfter)), Shown: make([]bool, len(totalsAfter))}
		for k, p := range e.Entry.Postings {
			balances.After[k], balances.Shown[k] = totalsAfter[k].Balance(p.Account.NormalSide()), owner == "" || ownerOf(p.Account) == owner
		}
		form := r.membersWritten(func(out *schema.Encoder) { jsonform.AppendEntry(out, e, &balances) })
		if differing := r.differingNames(form, shown, nil); i == 0 || len(differing) < len(names) {
			names = differing
		}
	}
	return names
}

// ownerOf returns the number of the partner that owns the account. For an account of the platform it returns an empty
// text.
func ownerOf(path ledger.Path) string {
	parts := strings.Split(string(path), ":")
	if len(parts) >= 3 && (parts[1] == "partner" || parts[1] == "suspense") {
		return parts[2]
	}
	return ""
}
