package contracts

import (
	"hash/maphash"
	"math/big"
	"slices"
	"strings"

	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/schema"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 3 of the checker (states of records), this file checks registers of holders. An issue of certificates has a
// register, which is a set of rows: the subscriptions and the holders of the certificates. These rows must agree with
// the entries of the subscriptions. If there are many holders, an action for all of them is carried out in batches. A
// batch is an event that carries out the action for some of the holders. The number of batches must agree with the
// number of holders, and with the progress of the action according to the record. Each holder must have been paid the
// holder's part of the distributions and of the redemption.

// register summarizes what the events of an issue of certificates say about its register of holders. The stored rows of the
// register can be checked against these events, because every subscription is an event whose entry names the investor's account
// and the price of the certificates.
type register struct {
	subscriptions  int64
	hashSum        uint64                    // sum of the hashes of all subscriptions (subscriptionHash)
	paidSum        scan.Fingerprint          // fingerprint of all postings on the holders' current accounts
	batches        int64                     // number of batches since the last action
	effectiveDay   ledger.Date               // the day on which the last action takes effect
	earlierActions map[holderAction]struct{} // the actions for all holders before the last action
	requiredRows   uint64                    // number of rows that the register must have according to the contract's record
	rowsRead       uint64                    // number of stored rows that were read
}

// holderAction is an action for all holders, with the number of its batches.
type holderAction struct {
	action     contract.Action
	batches    int64
	paidNobody bool // whether the action is a distribution that paid nobody
}

// actionsForHolders are the actions that concern all holders.
var actionsForHolders = map[contract.Action]bool{
	contract.Activate: true, contract.Profit: true, contract.Redeem: true, contract.RedeemEarly: true, contract.Default: true,
}

// batchSize returns the number of holders in a batch of an action. The numbers are written here by hand: the check must
// not import them from the code that it checks.
func batchSize(action contract.Action) int64 {
	if action == contract.Profit {
		return 253
	}
	return 126
}

// fewHolders is the largest number of holders for which an action needs no batches. Like the numbers of batchSize, it
// is not imported from the checked code.
const fewHolders = 1_500

// batchesOf returns the number of batches that an action takes.
func batchesOf(action contract.Action, holders int64) int64 {
	if holders <= fewHolders {
		return 0
	}
	size := batchSize(action)
	return (holders + size - 1) / size
}

// registerOf returns a contract's register. It returns nil if the contract has no subscription.
func (c *Check) registerOf(id ledger.ID) *register { return c.registers[id] }

// Prefixes of the account paths that the checks of registers look for.
const (
	subscriptionPrefix = "L:subscription:"
	currentPrefix      = "L:customer:"
	distributionPrefix = "L:distributions:"
)

// beginAction is called with an event that begins an action, which means that it is neither a batch nor a continuation.
// If the contract has a register, beginAction records how many batches the previous action had. The first subscription
// creates the register.
func (c *Check) beginAction(l *Lifecycle, e *ledger.Event) {
	r := c.registerOf(e.Source.ID)
	if r == nil && e.Name == string(contract.Subscribe) {
		r = &register{earlierActions: make(map[holderAction]struct{})}
		c.registers[e.Source.ID] = r
	}
	if r == nil {
		return
	}
	if actionsForHolders[l.LastAction] {
		r.earlierActions[holderAction{l.LastAction, r.batches, l.paidNobody}] = struct{}{}
	}
	r.batches, r.effectiveDay, l.paidNobody = 0, 0, paysNobody(e)
	if e.Entry != nil {
		r.effectiveDay = e.Entry.Effective
	}
}

// followBatch adds a batch to the register. It returns what is wrong with the batch, or an empty string if nothing is wrong.
func (c *Check) followBatch(l *Lifecycle, e *ledger.Event) string {
	r := c.registerOf(e.Source.ID)
	if r == nil || !actionsForHolders[l.LastAction] || l.paidNobody || e.Entry == nil || e.From != e.To {
		return "it is a batch, and no action for all holders is under way"
	}
	r.batches++
	if e.Entry.Effective != r.effectiveDay {
		return "it takes effect on another day than the action that it carries out"
	}
	return ""
}

// followRegister adds the postings of an entry to the contract's register, if the contract has one.
func (c *Check) followRegister(l *Lifecycle, e *ledger.Event) {
	o := c.organization
	r := c.registerOf(e.Source.ID)
	if r == nil {
		return
	}
	for i := range e.Entry.Postings {
		p := &e.Entry.Postings[i]
		if strings.HasPrefix(string(p.Account), currentPrefix) {
			r.paidSum = r.paidSum.Plus(o.Histories.Fingerprint(e.Entry.Postings[i : i+1]))
		}
		if l.LastAction == contract.Subscribe && strings.HasPrefix(string(p.Account), subscriptionPrefix) {
			r.subscriptions++
			r.hashSum += subscriptionHash(o.Histories, r.subscriptions, string(p.Account), scan.BigAmount(p.Amount), e.Entry.Effective)
		}
	}
}

// paysNobody tells whether the event is a distribution that pays nobody: its entry credits neither a
// holder nor the account from which batches are paid.
func paysNobody(e *ledger.Event) bool {
	if e.Name != string(contract.Profit) || e.Entry == nil {
		return false
	}
	for i := range e.Entry.Postings {
		if account := string(e.Entry.Postings[i].Account); strings.HasPrefix(account, currentPrefix) || strings.HasPrefix(account, distributionPrefix) {
			return false
		}
	}
	return true
}

// subscriptionHash returns the hash of a subscription and its number. For a subscription on the last day of a month,
// that day and the next day give the same hash: if the month is closed before the subscription's entry is booked, the
// entry is dated one day later.
func subscriptionHash(h *scan.Histories, number int64, account string, price *big.Int, day ledger.Date) uint64 {
	if (day + 1).Time().Day() == 1 {
		day++
	}
	return maphash.Comparable(h.Seed, struct {
		number         int64
		account, price string
		day            ledger.Date
	}{number, account, price.String(), day})
}

// checkRegister compares a contract's register rows with its events and its record. It also adds the holders to the
// decoded record, for the checks that need the holders.
func (c *Check) checkRegister(r *scan.Record, p *contract.Record) {
	subscriptions, holders, hasRegister := p.Registered()
	if !hasRegister {
		return
	}
	o := r.Organization
	fromEvents := c.registerOf(p.ID)
	if fromEvents == nil {
		fromEvents = new(register)
		c.registers[p.ID] = fromEvents
	}
	fromEvents.requiredRows = uint64(subscriptions + 2*holders)
	err := contractactor.Holders(c.View, o.ID, p.ID, 1, func(h contract.Holder) (bool, error) {
		p.Register.Holders = append(p.Register.Holders, h)
		return true, c.Interrupted()
	})
	if err != nil {
		c.Fault(r, "%v", err)
		return
	}
	if n := int64(len(p.Register.Holders)); n != holders {
		c.Fault(r, "has %d holders, and its register %d", holders, n)
		return
	}
	c.checkSubscriptions(r, p, fromEvents)
	c.checkInvestors(r, p)
	c.checkBatches(r, p, fromEvents)
	c.checkPaid(r, p, fromEvents)
}

// checkSubscriptions compares the stored subscriptions with the contract's events. It also compares each holder's
// number of certificates with the holder's subscriptions.
func (c *Check) checkSubscriptions(r *scan.Record, p *contract.Record, fromEvents *register) {
	o, faceValue := r.Organization, amountOf(p, "certificate_value")
	certificates := make([]int64, len(p.Register.Holders))
	count, newestHolder, hashSum, mismatch := int64(0), int64(0), uint64(0), false
	err := contractactor.Subscriptions(c.View, o.ID, p.ID, 1, func(subscription contract.Subscription) (bool, error) {
		count++
		switch {
		case subscription.Holder > newestHolder+1 || subscription.Holder > int64(len(certificates)) || p.Register.Holders[subscription.Holder-1].Investor != subscription.Investor:
			mismatch = true
			return true, c.Interrupted()
		case subscription.Holder == newestHolder+1:
			newestHolder++
		}
		certificates[subscription.Holder-1] += subscription.Certificates
		price := new(big.Int).Mul(faceValue, big.NewInt(subscription.Certificates))
		account := subscriptionPrefix + p.ID.String() + ":" + subscription.Investor.String()
		hashSum += subscriptionHash(o.Histories, subscription.Number, account, price, subscription.On)
		return true, c.Interrupted()
	})
	if err != nil {
		c.Fault(r, "%v", err)
		return
	}
	for i := range certificates {
		mismatch = mismatch || certificates[i] != p.Register.Holders[i].Certificates
	}
	if mismatch {
		c.Fault(r, "has a register whose holders are not those of its subscriptions")
	}
	if total, _, _ := p.Registered(); count != total || count != fromEvents.subscriptions || hashSum != fromEvents.hashSum {
		c.Fault(r, "says %d subscriptions, its register has %d, and its events %d, or others", total, count, fromEvents.subscriptions)
	}
}

// checkInvestors checks that a search by an investor's id finds the investor's row in the register.
func (c *Check) checkInvestors(r *scan.Record, p *contract.Record) {
	for _, h := range p.Register.Holders {
		position, found, err := contractactor.Position(c.View, r.Organization.ID, p.ID, h.Investor)
		if err != nil || !found || position != h {
			c.Fault(r, "does not find holder %d by the investor's id", h.Number)
		}
		if err := c.Interrupted(); err != nil {
			return
		}
	}
}

// checkBatches checks that each action for all holders had the right number of batches. If an action is not finished,
// its progress according to the record must agree with the number of batches so far.
func (c *Check) checkBatches(r *scan.Record, p *contract.Record, fromEvents *register) {
	holders := int64(len(p.Register.Holders))
	for earlier := range fromEvents.earlierActions {
		if want := batchesOf(earlier.action, holders); earlier.batches != want && !(earlier.paidNobody && earlier.batches == 0) {
			c.Fault(r, "has %d batches after %s, which takes %d", earlier.batches, earlier.action, want)
		}
	}
	l := c.LifecycleOf(r.History)
	progress, isUnderWay := p.Progress()
	want := int64(0)
	if actionsForHolders[l.LastAction] && !l.paidNobody {
		want = batchesOf(l.LastAction, holders)
	}
	switch {
	case !isUnderWay && fromEvents.batches != want:
		c.Fault(r, "has %d batches after %s, which takes %d, and that action has ended", fromEvents.batches, l.LastAction, want)
	case isUnderWay && (progress.Doing != l.LastAction || fromEvents.batches >= want || progress.Done != fromEvents.batches*batchSize(l.LastAction) || progress.Total != holders || progress.On != fromEvents.effectiveDay):
		c.Fault(r, "says that it is at holder %d of %d of %s, and its events have %d batches of %s", progress.Done, progress.Total, progress.Doing, fromEvents.batches, l.LastAction)
	}
	if isUnderWay {
		c.contractCounts[counterKey(ledger.BatchedActionsKey, "")]++
	}
}

// checkPaid compares what each holder was paid with the holder's part of the distributions and of the redemption, which
// it computes to the minor unit.
func (c *Check) checkPaid(r *scan.Record, p *contract.Record, fromEvents *register) {
	l := c.LifecycleOf(r.History)
	faceValue, penalty, issuedCount := amountOf(p, "certificate_value"), new(big.Int), new(big.Int)
	if l.LastAction == contract.RedeemEarly {
		penalty = amountOf(p, "early_redemption_penalty")
	}
	perCertificate, lastPerCertificate := new(big.Int), new(big.Int) // amounts per certificate: of all distributions, and of the last one
	distributions := columnNamed(p.Product.Columns, "profit_distributions")
	rows, _ := distributions.Value(p.Values).([]schema.Row)
	for _, row := range rows {
		lastPerCertificate = columnAmount(columnNamed(distributions.Nested, "per_certificate").Value(row))
		perCertificate.Add(perCertificate, lastPerCertificate)
	}
	for _, holder := range p.Register.Holders {
		issuedCount.Add(issuedCount, big.NewInt(holder.Certificates))
	}
	progress, isUnderWay := p.Progress()
	var lines []scan.Line
	for _, holder := range p.Register.Holders {
		isUnpaid := isUnderWay && holder.Number > progress.Done
		certificates := big.NewInt(holder.Certificates)
		expected := new(big.Int).Mul(perCertificate, certificates)
		if isUnpaid && progress.Doing == contract.Profit {
			expected.Sub(expected, new(big.Int).Mul(lastPerCertificate, certificates))
		}
		if p.Status == contract.Redeemed && !isUnpaid {
			faceAmount := new(big.Int).Mul(faceValue, certificates)
			reduction := new(big.Int).Mul(penalty, certificates)
			if reduction.Quo(reduction, issuedCount); reduction.Cmp(faceAmount) > 0 {
				reduction = faceAmount
			}
			expected.Add(expected, new(big.Int).Sub(faceAmount, reduction))
		}
		lines = append(lines, scan.Credit(ledger.Path(currentPrefix+holder.Investor.String()+":current"), p.Asset, expected))
	}
	if fromEvents.paidSum != r.Organization.Histories.ExpectedFingerprint(lines) {
		c.Fault(r, "has paid its holders something else than their parts")
	}
}

// columnAmount converts the value of a column to an integer. If the column has no value, columnAmount returns zero.
func columnAmount(value any) *big.Int {
	if sum, ok := value.(interface{ String() string }); ok {
		if n, valid := new(big.Int).SetString(sum.String(), 10); valid {
			return n
		}
	}
	return new(big.Int)
}

// amountOf returns the amount in the record's column with this name.
func amountOf(p *contract.Record, name string) *big.Int {
	return columnAmount(columnNamed(p.Product.Columns, name).Value(p.Values))
}

// CountRow counts a key-value row that belongs to a register. If the row does not belong to a register, CountRow returns false.
// It does not read the row's content, because checkRegister has already compared the content with the contract's record.
func (c *Check) CountRow(key []byte) bool {
	if !isRegister(key) {
		return false
	}
	id, _, ok := contractactor.ParseRegisterKey(key)
	r := c.registers[id]
	if !ok || r == nil {
		c.Report.Breach(findings.RuleStates, "organization %v: a row of a register of holders with key %x, of no contract", c.organization.ID, key)
		return true
	}
	r.rowsRead++
	return true
}

// EndRows compares the number of stored rows of each register with the number that the contract's record requires.
func (c *Check) EndRows() {
	for id, r := range c.registers {
		if r.rowsRead != r.requiredRows {
			c.Report.Breach(findings.RuleStates, "organization %v: contract %v has %d rows in its register of holders, and should have %d", c.organization.ID, id, r.rowsRead, r.requiredRows)
		}
	}
}

// isRegister tells whether a key-value row with this key belongs to a register.
func isRegister(key []byte) bool { return key[0] == contractactor.RegisterRows }

// columnNamed returns the table's column with this name, which must exist.
func columnNamed(table *schema.Table, name string) *schema.Column {
	return table.Columns[slices.IndexFunc(table.Columns, func(c *schema.Column) bool { return c.Name == name })]
}
