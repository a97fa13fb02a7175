package answers

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mizan/ledger"
	"mizan/snapshots/check/findings"
)

// Rule 1, entries. An entry that a client requested by its seq is equal in everything except
// balances: an auditor sees all postings, a partner only the postings to its own accounts.

// entryFields are the fields of an entry that its event determines, except postings.
var entryFields = [...]string{"seq", "source", "event", "phase", "booked_at", "effective_date", "reverses", "closes"}

// shownPosting is a posting as an answer shows it.
type shownPosting struct {
	Account string     `json:"account"`
	Side    string     `json:"side"`
	Amount  string     `json:"amount"`
	Asset   shownAsset `json:"asset"`
}

type shownAsset struct {
	Currency string `json:"currency"`
	Network  string `json:"network"`
	Env      string `json:"env"`
}

// readEntry compares an answer that shows one entry with the journal immediately, because an
// event never changes.
func (c *Check) readEntry(n uint32, rest string, l *answerLine) {
	seq, err := strconv.ParseUint(rest, 10, 63)
	if err != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: an entry is shown for what is no seq", n)
		return
	}
	e, _, found, err := c.View.Event(l.org, seq)
	switch {
	case err != nil:
		c.Report.Breach(findings.RuleAnswers, "line %d: entry %d of organization %v can't be read: %v", n, seq, l.org, err)
		return
	case !found || e.Entry == nil:
		c.Report.Breach(findings.RuleAnswers, "line %d: entry %d of organization %v is lost", n, seq, l.org)
		return
	}
	var response struct {
		Data object `json:"data"`
	}
	if json.Unmarshal(embedded(l.Response), &response) != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: the answer shows no entry", n)
		return
	}
	if names := entryDiffers(response.Data, &e); names != "" {
		c.Report.Breach(findings.RuleAnswers, "line %d: entry %d of organization %v is stored with another %s", n, seq, l.org, names)
	}
}

// entryDiffers names the fields in which the answer differs from the event.
func entryDiffers(said object, e *ledger.Event) string {
	want := object{
		"seq": number(e.Seq), "source": quoted(e.Source.ID.String()), "event": quoted(e.Name),
		"phase": quoted(e.Entry.Phase.String()), "booked_at": instant(e.Booked),
		"effective_date": quoted(e.Entry.Effective.String()), "reverses": jsontext.Value("null"),
	}
	if e.Entry.Reverses != 0 {
		want["reverses"] = number(e.Entry.Reverses)
	}
	if e.Entry.Closes != 0 {
		want["closes"] = number(e.Entry.Closes)
	}
	var names []string
	for _, name := range entryFields {
		if canonical(said[name]) != canonical(want[name]) {
			names = append(names, name)
		}
	}
	var postings []shownPosting
	if json.Unmarshal(said["postings"], &postings) != nil || !isViewOf(postings, e.Entry.Postings) {
		names = append(names, "postings")
	}
	return strings.Join(names, ", ")
}

// isViewOf tells whether the shown postings are what some reader sees of the stored ones: an
// auditor sees all, a partner sees those to its own accounts.
func isViewOf(said []shownPosting, stored []ledger.Posting) bool {
	var all []shownPosting
	for i := range stored {
		p := &stored[i]
		all = append(all, shownPosting{
			Account: string(p.Account), Side: p.Side.String(), Amount: p.Amount.String(),
			Asset: shownAsset{string(p.Asset.Currency), string(p.Asset.Network), p.Asset.Env.String()},
		})
	}
	if slices.Equal(said, all) {
		return true
	}
	if len(said) == 0 {
		return false
	}
	partner := ownerOf(said[0].Account)
	own := slices.DeleteFunc(all, func(p shownPosting) bool { return ownerOf(p.Account) != partner })
	return partner != "" && slices.Equal(said, own)
}

// ownerOf returns the number of the partner that owns the account; empty for an account of the
// platform.
func ownerOf(path string) string {
	parts := strings.Split(path, ":")
	if len(parts) >= 3 && (parts[1] == "partner" || parts[1] == "suspense") {
		return parts[2]
	}
	return ""
}

func number(n uint64) jsontext.Value { return jsontext.Value(strconv.FormatUint(n, 10)) }
