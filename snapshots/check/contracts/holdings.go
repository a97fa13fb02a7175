package contracts

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/snapshots/check/scan"
)

// Rule 3, contracts and their accounts. The columns say what each account that belongs to
// the contract holds: nothing once it has ended, but for what POSTINGS leaves open. A
// contract is woken when its product says, and finished where nothing leads further.

// CheckContract compares a contract's record with its events and with its accounts. It calls
// shown with the record, for the rule about what was answered.
func (c *Check) CheckContract(r *scan.Record, shown func(*contract.Record)) {
	p, err := contract.ReadRecord(r.Source.ID, r.Payload)
	if err != nil {
		c.Fault(r, "can't be read: %v", err)
		return
	}
	c.CheckState(r, string(p.Status))
	o := r.Organization
	l := c.LifecycleOf(r.History)
	l.payload = maphash.Bytes(o.Histories.Seed, r.Payload)
	if l.own = variantOf(p); l.variants&l.own == 0 {
		c.Fault(r, "is of a product and a reading whose machine its events do not follow")
	}
	if l.asset != 0 && l.asset != assetHash(o.Histories, p.Asset) {
		c.Fault(r, "has moved another asset than it says")
	}
	if !guarded(func() {
		c.checkRegister(r, p)
		c.checkHoldings(r, p, l)
		c.checkTallies(r, p, l)
		c.checkWaiting(r, p)
		c.enlist(r, p, l)
		shown(p)
	}) {
		c.Fault(r, "has columns that contradict each other")
	}
	c.countContract(r, p)
	if s := contract.ScreeningID.Of(p.Values); s != (ledger.ID{}) && o.Histories.Find(ledger.Source{Kind: ledger.Screening, ID: s}) == nil {
		c.Fault(r, "rests on screening %v, which is not there", s)
	}
}

// assetHash stands for an asset; never 0.
func assetHash(h *scan.Histories, asset money.Asset) uint32 {
	return uint32(maphash.Comparable(h.Seed, asset)) | 1
}

// guarded runs what a product says of a record. Where columns contradict each other
// it ends in an assertion, which in a server is a mistake of the program and here is
// what is looked for.
func guarded(fn func()) (well bool) {
	defer func() { well = recover() == nil }()
	fn()
	return true
}

// ended are the statuses behind which a contract holds nothing, and staysOpen what
// some hold there all the same (POSTINGS, "Lease", "payment", and "Certificate
// issue", "default").
var (
	ended = []contract.Status{
		contract.Refused, contract.Redeemed, contract.Defaulted, contract.Completed, contract.Dissolved, contract.Terminated,
		contract.Liquidated, contract.Withdrawn, contract.Closed, contract.Cancelled,
	}
	staysOpen = []string{"A:rent_receivable", "A:underlying_impaired", "Q:holders_defaulted"}
)

// checkHoldings compares what a contract's columns say of its own accounts with what
// the entries have left on these.
func (c *Check) checkHoldings(r *scan.Record, p *contract.Record, l *Lifecycle) {
	_, under := p.Progress()
	over := slices.Contains(ended, p.Status) && !under
	holdings := p.Product.Holdings(p)
	var lines []scan.Line
	for _, h := range holdings {
		if balance := scan.BigSigned(h.Balance()); h.Account.NormalSide() == ledger.Debit {
			lines = append(lines, scan.Debit(h.Account, p.Asset, balance))
		} else {
			lines = append(lines, scan.Credit(h.Account, p.Asset, balance))
		}
		stem, _, _ := strings.Cut(string(h.Account), ":"+r.Source.ID.String())
		if over && !h.Amount.IsZero() && !slices.Contains(staysOpen, stem) {
			c.Fault(r, "is %q and still holds %v on account %s", p.Status, h.Amount, h.Account)
		}
	}
	o := r.Organization
	if l.kept.Plus(c.strays[r.Source.ID]) != o.Histories.ExpectedFingerprint(lines) {
		c.explainHoldings(r, p, holdings)
	}
}

// explainHoldings says which of a contract's own accounts hold something else than its
// columns say, by reading its events once more.
func (c *Check) explainHoldings(r *scan.Record, p *contract.Record, holdings []contract.Holding) {
	kept := make(map[ledger.Account]*ledger.Totals)
	err := c.View.EventsAscending(r.Organization.ID, 1, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Entry == nil {
			return true, c.Interrupted()
		}
		for i := range e.Entry.Postings {
			posting := &e.Entry.Postings[i]
			if id, own := scan.OwnerContract(posting.Account); own && id == r.Source.ID {
				at := ledger.Account{Path: posting.Account, Asset: posting.Asset}
				if kept[at] == nil {
					kept[at] = new(ledger.Totals)
				}
				_ = kept[at].Post(posting.Side, posting.Amount) // out of range is a breach by itself
			}
		}
		return true, c.Interrupted()
	})
	if err != nil {
		c.Fault(r, "has events that can't be read: %v", err)
	}
	for _, h := range holdings {
		at := ledger.Account{Path: h.Account, Asset: p.Asset}
		var totals ledger.Totals
		if found := kept[at]; found != nil {
			totals = *found
			delete(kept, at)
		}
		if got := totals.Balance(h.Account.NormalSide()); got != h.Balance() {
			c.Fault(r, "says that account %s holds %v, and by its entries that is %v", h.Account, h.Balance(), got)
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(kept), scan.ByPath) {
		if totals := kept[at]; totals.DebitsPosted != totals.CreditsPosted {
			c.Fault(r, "says nothing of account %s %v, which holds %v", at.Path, at.Asset, totals.Balance(at.Path.NormalSide()))
		}
	}
}

// checkWaiting compares when time has something to do with a contract, and whether it
// has ended, with what its product says.
func (c *Check) checkWaiting(r *scan.Record, p *contract.Record) {
	var due, latest ledger.Micros // what is overdue is due at once: by the clock, which events may be ahead of
	if p.Product.Due != nil {
		if on, _ := p.Product.Due(p); on != 0 {
			due = ledger.MicrosOf(on.Time())
			latest = max(due, r.Stamp.Updated)
		}
	}
	if r.Stamp.Due < due || r.Stamp.Due > latest {
		c.Fault(r, "is to be woken at %d, and by its columns at %d", r.Stamp.Due, due)
	}
	var finished ledger.Micros
	if p.Ended() {
		finished = r.Stamp.Updated
	}
	if r.Stamp.Finished != finished {
		c.Fault(r, "is %q, and was finished at %d", p.Status, r.Stamp.Finished)
	}
}

// FollowOwnAccounts follows what an event's entry puts on contracts' own accounts.
func (j *Check) FollowOwnAccounts(e *ledger.Event) {
	if e.Entry == nil {
		return
	}
	o := j.organization
	for i := range e.Entry.Postings {
		p := &e.Entry.Postings[i]
		id, own := scan.OwnerContract(p.Account)
		switch {
		case !own:
		case e.Source.Kind == ledger.Contract && e.Source.ID == id:
			l := j.LifecycleOf(o.Histories.FindOrAdd(e.Source))
			l.kept = l.kept.Plus(o.Histories.Fingerprint(e.Entry.Postings[i : i+1]))
		case e.Entry.Phase == ledger.Posted || e.Entry.Phase == ledger.Capture:
			if m := j.strays[id].Plus(o.Histories.Fingerprint(e.Entry.Postings[i : i+1])); m != 0 {
				j.strays[id] = m
			} else {
				delete(j.strays, id)
			}
		}
	}
}
