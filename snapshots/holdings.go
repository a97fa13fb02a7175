package snapshots

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
)

// checkContract compares a contract's record with its events and with its accounts.
func (c *checker) checkContract(r *record) {
	p, err := contract.ReadRecord(r.source.ID, r.payload)
	if err != nil {
		c.faulty(r, "can't be read: %v", err)
		return
	}
	c.checkState(r, string(p.Status))
	o := r.organization
	l := o.lifeOf(r.history)
	l.payload = maphash.Bytes(o.histories.seed, r.payload)
	if l.own = faceOf(p); l.faces&l.own == 0 {
		c.faulty(r, "is of a product and a reading whose machine its events do not follow")
	}
	if l.asset != 0 && l.asset != assetHash(o.histories, p.Asset) {
		c.faulty(r, "has moved another asset than it says")
	}
	if !guarded(func() {
		c.checkHoldings(r, p)
		c.checkTallies(r, p, l)
		c.checkWaiting(r, p)
		c.enlist(r, p, l)
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
func (c *checker) checkHoldings(r *record, p *contract.Record) {
	over := slices.Contains(ended, p.Status)
	for _, h := range p.Product.Holdings(p) {
		at := ledger.Account{Path: h.Account, Asset: p.Asset}
		var totals ledger.Totals
		if a := r.organization.books.accounts[at]; a != nil {
			a.explained = true
			totals = a.totals
		}
		if got := totals.Balance(h.Account.NormalSide()); got != h.Balance() {
			c.faulty(r, "says that account %s holds %v, and by its entries that is %v", h.Account, h.Balance(), got)
		}
		stem, _, _ := strings.Cut(string(h.Account), ":"+r.source.ID.String())
		if over && !h.Amount.IsZero() && !slices.Contains(staysOpen, stem) {
			c.faulty(r, "is %q and still holds %v on account %s", p.Status, h.Amount, h.Account)
		}
	}
}

// checkWaiting compares when time has something to do with a contract, and whether it
// has ended, with what its product says.
func (c *checker) checkWaiting(r *record, p *contract.Record) {
	var due ledger.Micros
	if p.Product.Due != nil {
		if on, _ := p.Product.Due(p); on != 0 {
			due = max(ledger.MicrosOf(on.Time()), r.stamp.Updated)
		}
	}
	if r.stamp.Due != due {
		c.faulty(r, "is to be woken at %d, and by its columns at %d", r.stamp.Due, due)
	}
	var finished ledger.Micros
	if p.Product.Machine(p.Reading).Final(p.Status) {
		finished = r.stamp.Updated
	}
	if r.stamp.Finished != finished {
		c.faulty(r, "is %q, and was finished at %d", p.Status, r.stamp.Finished)
	}
}

// peopleAccounts are the names of accounts of whom a contract is with: they go on
// when it has ended.
var peopleAccounts = []string{"customer", "partner_receivable"}

// ownerContract is the contract whose own account it may be.
func ownerContract(path ledger.Path) (id ledger.ID, ok bool) {
	parts := strings.Split(string(path), ":")
	const length = 36 // as a contract's id is written
	if len(parts) < 3 || len(parts[2]) != length || slices.Contains(peopleAccounts, parts[1]) {
		return id, false
	}
	id, err := uuid.Parse(parts[2])
	return id, err == nil
}

// checkUnexplained looks for accounts of contracts that hold what no contract's
// columns speak of.
func (c *checker) checkUnexplained(o *organization) {
	for at, a := range o.books.accounts {
		if a.explained || a.totals.DebitsPosted == a.totals.CreditsPosted {
			continue
		}
		id, own := ownerContract(at.Path)
		if !own || o.histories.find(ledger.Source{Kind: ledger.Contract, ID: id}) == nil {
			continue
		}
		c.report.breach(ruleStates, "organization %v: account %s %v holds %v, of which contract %v says nothing",
			o.id, at.Path, at.Asset, a.totals.Balance(at.Path.NormalSide()), id)
	}
}
