package answers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mizan/actors"
	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/jsonform"
	"mizan/ledger/schema"
	"mizan/posting"
	"mizan/snapshots/check/contracts"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 1, contracts, in the secular and the religious family of paths. The contract entered the
// shown status at the shown instant, by the requested action; and the shown sums are those that
// its entries had moved by then. If no event has followed, its JSON form is equal to the answer.
// Otherwise the members that an event may set are not compared, unless the request has a cached
// reply: then the JSON form of the reply is equal to the answer.

// The two path families that create contracts and act on them.
const (
	secularContracts   = "/api/v1/pfp/"
	religiousContracts = "/api/v1/baas/islamic-banking/"
)

// addressed is what a path names: a contract, or the contracts of a product.
type addressed struct {
	variant contracts.Variant
	id      string // empty: the path names the list
	action  string // an action, or the part of the contract that is read
}

// contractAddress parses a contract's path; false if the path is of another kind.
func contractAddress(path string) (to addressed, ok bool) {
	to.variant.Reading = contract.Secular
	rest, ok := strings.CutPrefix(path, secularContracts)
	if !ok {
		to.variant.Reading = contract.Religious
		if rest, ok = strings.CutPrefix(path, religiousContracts); !ok {
			return to, false
		}
	}
	name, rest, _ := strings.Cut(rest, "/")
	to.id, to.action, _ = strings.Cut(rest, "/")
	to.variant.Product = contract.Find(to.variant.Reading, name)
	return to, to.variant.Product != nil && !strings.Contains(to.action, "/")
}

// shownContract is a contract as one answer showed it.
type shownContract struct {
	line    uint32
	listed  bool             // by an answer that is a list: sums and sent are not set
	at      ledger.Micros    // time of the last change
	did     contract.Action  // the requested action; empty: the request only read
	sums    scan.Fingerprint // of the columns that show moved amounts (control totals)
	sent    uint32           // hash of the metadata without the keys that the service adds
	members members
}

// readContract reads an answer about contracts, or a request without an answer.
func (c *Check) readContract(n uint32, to addressed, l *answerLine) bool {
	keyed := l.Method == "POST" && c.noteKey(n, l, actors.KeyOfStaff, 0)
	switch {
	case *l.Status == 404 && to.id != "":
		return c.answers.contracts.noteUnknown(c, n, l, to.id, to.variant) || keyed
	case !l.succeeded(to.id == ""), l.Method == "GET" && to.action != "":
		return keyed
	}
	list := to.id == "" && l.Method == "GET"
	records, ok := l.shown(list)
	for _, s := range records {
		ok = c.noteContract(n, to, l, s, list) && ok
	}
	if !ok {
		c.Report.Breach(findings.RuleAnswers, "line %d: the answer shows no contract, or another one than was asked for", n)
	}
	return !ok || len(records) > 0
}

// noteContract records a contract that an answer shows; false if it shows none, or not the one
// that the path names.
func (c *Check) noteContract(n uint32, to addressed, l *answerLine, s object, listed bool) bool {
	a := &c.answers
	at, dated := instantOf(s.text("updated_at"))
	if !dated || to.id != "" && s.text("id") != to.id {
		return false
	}
	of := a.contracts.note(c, n, l, s, to.variant)
	if of == nil {
		return false
	}
	product, now := to.variant.Product, shownContract{line: n, listed: listed, at: at, members: a.membersOf(s)}
	if !listed {
		now.sent = a.hashOf(withoutOwn(product, s[contract.Sent.Name]))
		now.sums = contracts.ShownTotals(c.OrganizationOf(l.org).Histories, product, l.data())
	}
	if l.Method == "POST" {
		known := true
		if now.did = contract.Create; to.action != "" {
			now.did, known = product.Action(to.variant.Reading, to.action)
		}
		if !known {
			c.Report.Breach(findings.RuleAnswers, "line %d: an action was done that there is not", n)
		}
	}
	of.shown = append(of.shown, now)
	return true
}

// instantOf parses a time as answers write it.
func instantOf(text string) (ledger.Micros, bool) {
	at, err := time.Parse(schema.InstantLayout, text)
	return ledger.MicrosOf(at), err == nil
}

// withoutOwn returns metadata as the client sent it, without the keys that the service adds.
func withoutOwn(p *contract.Product, metadata jsontext.Value) jsontext.Value {
	sent := parseObject(metadata)
	for _, c := range p.Columns.Columns {
		if c.Place == schema.Metadata {
			delete(sent, c.Name)
		}
	}
	if len(sent) == 0 {
		return nil
	}
	return asJSON(sent)
}

// CompareContract compares a stored contract with the answers about it.
func (c *Check) CompareContract(r *scan.Record, p *contract.Record) {
	org := r.Organization.ID
	s := c.answers.contracts.compare(c, org, p.ID, 0)
	if s == nil {
		return
	}
	if s.variant != (contracts.Variant{Product: p.Product, Reading: p.Reading}) {
		c.Report.Breach(findings.RuleAnswers, "line %d: contract %v was answered as of another product or reading than it is of", s.line, p.ID)
		return
	}
	shown, err := c.asShown(org, p, r.Stamp.Started, r.Stamp.Updated)
	if err != nil {
		c.Report.Breach(findings.RuleStates, "organization %v: %v", org, err)
	}
	pastEvents, err := contracts.PastEvents(c.Scan, r)
	if err != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: the events of contract %v can't be read: %v", s.line, p.ID, err)
	}
	sent := c.answers.hashOf(withoutOwn(p.Product, contract.Sent.Of(p.Values)))
	for i := range s.shown {
		was := &s.shown[i]
		wrong := func(what string) {
			c.Report.Breach(findings.RuleAnswers, "line %d: contract %v was answered %s", was.line, p.ID, what)
		}
		at := slices.IndexFunc(pastEvents, func(e contracts.PastEvent) bool { return e.At == was.at })
		switch {
		case at < 0:
			wrong("at an instant at which nothing happened to it")
			continue
		case was.did != "" && !slices.ContainsFunc(pastEvents[:at+1], func(e contracts.PastEvent) bool { return e.By(p.Product, was.did) }):
			wrong("after an action that has not happened")
		case !was.listed && pastEvents[at].Moved != was.sums:
			wrong("with other sums than its entries had moved by then")
		case !was.listed && sent != was.sent:
			wrong("with other metadata than was sent")
		}
		then, except := *shown, contracts.NotStored
		if then.Status = pastEvents[at].To; was.at != r.Stamp.Updated {
			except = contracts.NotStoredBefore(p.Product)
		}
		if names := c.contractDiffers(org, &then, &r.Stamp, was, except); names != nil {
			wrong("with another " + joined(names) + " than it had")
		}
		if k := slices.IndexFunc(s.shown[:i], func(before shownContract) bool { return before.at == was.at && before.listed == was.listed }); k >= 0 {
			if names := c.answers.differing(s.shown[k].members, was.members, contracts.NotStored); names != nil {
				wrong(fmt.Sprintf("with another %s than line %d showed of the same instant", joined(names), s.shown[k].line))
			}
		}
	}
}

// asShown returns a contract as an answer at an instant shows it.
func (c *Check) asShown(org ledger.ID, p *contract.Record, first, at ledger.Micros) (*contract.Record, error) {
	shown := p.AsOf(first, at.Date())
	return shown, contractactor.Show(c.View, org, shown)
}

// contractDiffers names the members in which an answer differs from the JSON form of a contract.
func (c *Check) contractDiffers(org ledger.ID, p *contract.Record, stamp *posting.Stamp, was *shownContract, except []string) []string {
	view := jsonform.ContractView{Org: org, Started: stamp.Started, Updated: was.at, Number: stamp.Number, Listed: was.listed}
	form := c.answers.formOf(func(e *schema.Encoder) { jsonform.AppendContract(e, p, &view) })
	return c.answers.differing(form, was.members, except)
}

// compareReply compares an answer about a contract with the cached reply to the same request,
// which has all columns as they were then.
func (c *Check) compareReply(k *keyedAnswer, s *subject[shownContract]) {
	was := &s.shown[slices.IndexFunc(s.shown, func(one shownContract) bool { return one.line == k.line })] // a line with a key shows one contract
	reply := contractactor.ReplyID(k.org, actors.KeyOfStaff+"/"+k.key)
	kept, found, err := c.View.Record(k.org, ledger.Source{Kind: ledger.Reply, ID: reply})
	if err != nil || !found || !actors.ContractReply.Has(kept.Payload) {
		c.Report.Breach(findings.RuleAnswers, "line %d: what contract %v was answered with is not kept", k.line, k.made.ID)
		return
	}
	stored, found, err := c.View.Record(k.org, k.made)
	if c.Keyring == nil || !found || err != nil {
		return // a lost contract is reported once
	}
	id, payload, err := contractactor.OpenReply(c.Keyring, k.org, reply, kept.Payload)
	if err != nil || id != k.made.ID {
		return // rule 3 reports the reply
	}
	p, err := contract.ReadRecord(id, payload)
	if err != nil || s.variant != (contracts.Variant{Product: p.Product, Reading: p.Reading}) {
		return // rule 3 reports the reply
	}
	if p, err = c.asShown(k.org, p, stored.Stamp.Started, was.at); err != nil {
		return // rule 3 reports the register
	}
	if names := c.contractDiffers(k.org, p, &stored.Stamp, was, contracts.NotStored); names != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: contract %v was answered with another %s than is kept of the answer", was.line, id, joined(names))
	}
}
