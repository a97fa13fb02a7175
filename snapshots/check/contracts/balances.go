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

// For rule 3 of the checker (states of records), this file checks contracts and their accounts. The columns of a
// contract determine the balances of its own accounts. When a contract has ended, these accounts are empty, except
// those that the product lets stay open (Product.HoldsNothing). The product computes when a contract's timer is due. A
// contract is finished when its status has no further transition.

// CheckContract compares a contract's record with its events and accounts. It passes the decoded record to onRecord,
// because rule 1 needs the record.
func (c *Check) CheckContract(r *scan.Record, onRecord func(*contract.Record)) {
	contractRecord, err := contract.ReadRecord(r.Source.ID, r.Payload)
	if err != nil {
		c.Fault(r, "can't be read: %v", err)
		return
	}
	c.CheckState(r, string(contractRecord.Status))
	o := r.Organization
	lifecycle := c.LifecycleOf(r.History)
	lifecycle.payloadHash = maphash.Bytes(o.Histories.Seed, r.Payload)
	if lifecycle.recordVariant = variantOf(contractRecord); lifecycle.variants&lifecycle.recordVariant == 0 {
		c.Fault(r, "is of a product and a reading whose machine its events do not follow")
	}
	if lifecycle.assetHash != 0 && lifecycle.assetHash != assetHash(o.Histories, contractRecord.Asset) {
		c.Fault(r, "has moved another asset than it says")
	}
	if !withoutPanic(func() {
		c.checkRegister(r, contractRecord)
		c.checkBalances(r, contractRecord, lifecycle)
		c.checkControlTotals(r, contractRecord, lifecycle)
		c.checkTimer(r, contractRecord)
		c.expectLists(r, contractRecord, lifecycle)
		onRecord(contractRecord)
	}) {
		c.Fault(r, "has columns that contradict each other")
	}
	c.countContract(r, contractRecord)
	if s := contract.ScreeningID.Get(contractRecord.Values); s != (ledger.ID{}) && o.Histories.Find(ledger.Source{Kind: ledger.Screening, ID: s}) == nil {
		c.Fault(r, "names screening %v, which does not exist", s)
	}
}

// assetHash returns a short hash of an asset. The hash is never 0.
func assetHash(h *scan.Histories, asset money.Asset) uint32 {
	return uint32(maphash.Comparable(h.Seed, asset)) | 1
}

// withoutPanic calls fn and tells whether fn returned normally. fn calls functions of a product on a record. If the
// columns of the record contradict each other, an assertion in such a function panics. In a server the panic is a bug;
// here it is a finding.
func withoutPanic(fn func()) (valid bool) {
	defer func() { valid = recover() == nil }()
	fn()
	return true
}

// checkBalances compares the balances that a contract's columns require with the sums of the entries on
// its accounts.
func (c *Check) checkBalances(r *scan.Record, p *contract.Record, lifecycle *Lifecycle) {
	_, isUnderWay := p.Progress()
	holdsNothing := emptyStatuses[variantStatus{p.Product, p.Reading, p.Status}] && !isUnderWay
	balances := p.Product.Balances(p)
	var lines []scan.Line
	for _, accountBalance := range balances {
		if balance := scan.BigSigned(accountBalance.Signed()); accountBalance.Account.NormalSide() == ledger.Debit {
			lines = append(lines, scan.Debit(accountBalance.Account, p.Asset, balance))
		} else {
			lines = append(lines, scan.Credit(accountBalance.Account, p.Asset, balance))
		}
		stem, _, _ := strings.Cut(string(accountBalance.Account), ":"+r.Source.ID.String())
		if holdsNothing && !accountBalance.Amount.IsZero() && !slices.Contains(p.Product.OpenAfterEnd, stem) {
			c.Fault(r, "is %q and still holds %v on account %s", p.Status, accountBalance.Amount, accountBalance.Account)
		}
	}
	o := r.Organization
	if lifecycle.ownSum.Plus(c.foreignEntries[r.Source.ID]) != o.Histories.ExpectedFingerprint(lines) {
		c.explainBalances(r, p, balances)
	}
}

// explainBalances reads the contract's events again and names the accounts whose balance
// differs from what the columns require.
func (c *Check) explainBalances(r *scan.Record, p *contract.Record, columnBalances []contract.AccountBalance) {
	balances := make(map[ledger.Account]*ledger.Totals)
	err := c.View.EventsAscending(r.Organization.ID, 1, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Entry == nil {
			return true, c.Interrupted()
		}
		for i := range e.Entry.Postings {
			posting := &e.Entry.Postings[i]
			if id, belongsToContract := scan.OwnerContract(posting.Account); belongsToContract && id == r.Source.ID {
				accountID := ledger.Account{Path: posting.Account, Asset: posting.Asset}
				if balances[accountID] == nil {
					balances[accountID] = new(ledger.Totals)
				}
				_ = balances[accountID].Post(posting.Side, posting.Amount) // an error means that a total is out of range, which another check reports
			}
		}
		return true, c.Interrupted()
	})
	if err != nil {
		c.Fault(r, "has events that can't be read: %v", err)
	}
	for _, accountBalance := range columnBalances {
		accountID := ledger.Account{Path: accountBalance.Account, Asset: p.Asset}
		var totals ledger.Totals
		if found := balances[accountID]; found != nil {
			totals = *found
			delete(balances, accountID)
		}
		if got := totals.Balance(accountBalance.Account.NormalSide()); got != accountBalance.Signed() {
			c.Fault(r, "says that account %s holds %v, but its entries give %v", accountBalance.Account, accountBalance.Signed(), got)
		}
	}
	for _, accountID := range slices.SortedFunc(maps.Keys(balances), scan.ByPath) {
		if totals := balances[accountID]; totals.DebitsPosted != totals.CreditsPosted {
			c.Fault(r, "does not mention account %s %v, which has a balance of %v", accountID.Path, accountID.Asset, totals.Balance(accountID.Path.NormalSide()))
		}
	}
}

// checkTimer compares the due time of a contract's timer with the due time that the product computes. It also checks
// that the finish time of an ended contract is the time of the last event.
func (c *Check) checkTimer(r *scan.Record, p *contract.Record) {
	// If a timer is already overdue when it is set, the clock's time is stored as the due time. The clock's time is at most the
	// time of the record's last event.
	var requiredDue, latestDue ledger.Micros
	if p.Product.Due != nil {
		if day, _ := p.Product.Due(p); day != 0 {
			requiredDue = ledger.MicrosOf(day.Time())
			latestDue = max(requiredDue, r.Header.UpdatedAt)
		}
	}
	if r.Header.Due < requiredDue || r.Header.Due > latestDue {
		c.Fault(r, "has a timer at %d, and its columns require %d", r.Header.Due, requiredDue)
	}
	var requiredFinish ledger.Micros
	if p.Ended() {
		requiredFinish = r.Header.UpdatedAt
	}
	if r.Header.FinishedAt != requiredFinish {
		c.Fault(r, "is %q, and was finished at %d", p.Status, r.Header.FinishedAt)
	}
}

// FollowOwnAccounts reads an event's postings on accounts that belong to a single contract. It adds each posting to a
// sum of the account's contract: to ownSum if the event is an event of the same contract, and otherwise to
// foreignEntries.
func (c *Check) FollowOwnAccounts(e *ledger.Event) {
	if e.Entry == nil {
		return
	}
	o := c.organization
	for i := range e.Entry.Postings {
		p := &e.Entry.Postings[i]
		id, belongsToContract := scan.OwnerContract(p.Account)
		switch {
		case !belongsToContract:
		case e.Source.Kind == ledger.Contract && e.Source.ID == id:
			l := c.LifecycleOf(o.Histories.FindOrAdd(e.Source))
			l.ownSum = l.ownSum.Plus(o.Histories.Fingerprint(e.Entry.Postings[i : i+1]))
		case e.Entry.Phase == ledger.Posted || e.Entry.Phase == ledger.Capture:
			if sum := c.foreignEntries[id].Plus(o.Histories.Fingerprint(e.Entry.Postings[i : i+1])); sum != 0 {
				c.foreignEntries[id] = sum
			} else {
				delete(c.foreignEntries, id)
			}
		}
	}
}
