package check

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
)

// checkContract compares a contract's record with its events and with its accounts. It calls
// shown with the record, for the rule about what was answered.
func (c *contractsCheck) checkContract(r *record, shown func(*contract.Record)) {
	p, err := contract.ReadRecord(r.source.ID, r.payload)
	if err != nil {
		c.faulty(r, "can't be read: %v", err)
		return
	}
	c.checkState(r, string(p.Status))
	o := r.organization
	l := c.lifeOf(r.history)
	l.payload = maphash.Bytes(o.histories.seed, r.payload)
	if l.own = variantOf(p); l.variants&l.own == 0 {
		c.faulty(r, "is of a product and a reading whose machine its events do not follow")
	}
	if l.asset != 0 && l.asset != assetHash(o.histories, p.Asset) {
		c.faulty(r, "has moved another asset than it says")
	}
	if !guarded(func() {
		c.checkRegister(r, p)
		c.checkHoldings(r, p, l)
		c.checkTallies(r, p, l)
		c.checkWaiting(r, p)
		c.enlist(r, p, l)
		shown(p)
	}) {
		c.faulty(r, "has columns that contradict each other")
	}
	c.countContract(r, p)
	if s := contract.ScreeningID.Of(p.Values); s != (ledger.ID{}) && o.histories.find(ledger.Source{Kind: ledger.Screening, ID: s}) == nil {
		c.faulty(r, "rests on screening %v, which is not there", s)
	}
}

// assetHash stands for an asset; never 0.
func assetHash(h *histories, asset money.Asset) uint32 {
	return uint32(maphash.Comparable(h.seed, asset)) | 1
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
func (c *contractsCheck) checkHoldings(r *record, p *contract.Record, l *life) {
	_, under := p.Progress()
	over := slices.Contains(ended, p.Status) && !under
	holdings := p.Product.Holdings(p)
	var lines []line
	for _, h := range holdings {
		if balance := largeSigned(h.Balance()); h.Account.NormalSide() == ledger.Debit {
			lines = append(lines, debit(h.Account, p.Asset, balance))
		} else {
			lines = append(lines, credit(h.Account, p.Asset, balance))
		}
		stem, _, _ := strings.Cut(string(h.Account), ":"+r.source.ID.String())
		if over && !h.Amount.IsZero() && !slices.Contains(staysOpen, stem) {
			c.faulty(r, "is %q and still holds %v on account %s", p.Status, h.Amount, h.Account)
		}
	}
	o := r.organization
	if l.kept.plus(c.strays[r.source.ID]) != o.histories.meant(lines) {
		c.explainHoldings(r, p, holdings)
	}
}

// explainHoldings says which of a contract's own accounts hold something else than its
// columns say, by reading its events once more.
func (c *contractsCheck) explainHoldings(r *record, p *contract.Record, holdings []contract.Holding) {
	kept := make(map[ledger.Account]*ledger.Totals)
	err := c.view.EventsAscending(r.organization.id, 1, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Entry == nil {
			return true, c.alive()
		}
		for i := range e.Entry.Postings {
			posting := &e.Entry.Postings[i]
			if id, own := ownerContract(posting.Account); own && id == r.source.ID {
				at := ledger.Account{Path: posting.Account, Asset: posting.Asset}
				if kept[at] == nil {
					kept[at] = new(ledger.Totals)
				}
				_ = kept[at].Post(posting.Side, posting.Amount) // out of range is a breach by itself
			}
		}
		return true, c.alive()
	})
	if err != nil {
		c.faulty(r, "has events that can't be read: %v", err)
	}
	for _, h := range holdings {
		at := ledger.Account{Path: h.Account, Asset: p.Asset}
		var totals ledger.Totals
		if found := kept[at]; found != nil {
			totals = *found
			delete(kept, at)
		}
		if got := totals.Balance(h.Account.NormalSide()); got != h.Balance() {
			c.faulty(r, "says that account %s holds %v, and by its entries that is %v", h.Account, h.Balance(), got)
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(kept), byPath) {
		if totals := kept[at]; totals.DebitsPosted != totals.CreditsPosted {
			c.faulty(r, "says nothing of account %s %v, which holds %v", at.Path, at.Asset, totals.Balance(at.Path.NormalSide()))
		}
	}
}

// checkWaiting compares when time has something to do with a contract, and whether it
// has ended, with what its product says.
func (c *contractsCheck) checkWaiting(r *record, p *contract.Record) {
	var due, latest ledger.Micros // what is overdue is due at once: by the clock, which events may be ahead of
	if p.Product.Due != nil {
		if on, _ := p.Product.Due(p); on != 0 {
			due = ledger.MicrosOf(on.Time())
			latest = max(due, r.stamp.Updated)
		}
	}
	if r.stamp.Due < due || r.stamp.Due > latest {
		c.faulty(r, "is to be woken at %d, and by its columns at %d", r.stamp.Due, due)
	}
	var finished ledger.Micros
	if p.Ended() {
		finished = r.stamp.Updated
	}
	if r.stamp.Finished != finished {
		c.faulty(r, "is %q, and was finished at %d", p.Status, r.stamp.Finished)
	}
}

// keep follows what an event's entry puts on contracts' own accounts.
func (j *contractsCheck) keep(e *ledger.Event) {
	if e.Entry == nil {
		return
	}
	o := j.organization
	for i := range e.Entry.Postings {
		p := &e.Entry.Postings[i]
		id, own := ownerContract(p.Account)
		switch {
		case !own:
		case e.Source.Kind == ledger.Contract && e.Source.ID == id:
			l := j.lifeOf(o.histories.findOrAdd(e.Source))
			l.kept = l.kept.plus(o.histories.meaning(e.Entry.Postings[i : i+1]))
		case e.Entry.Phase == ledger.Posted || e.Entry.Phase == ledger.Capture:
			if m := j.strays[id].plus(o.histories.meaning(e.Entry.Postings[i : i+1])); m != 0 {
				j.strays[id] = m
			} else {
				delete(j.strays, id)
			}
		}
	}
}
