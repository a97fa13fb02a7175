package contract

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Some actions, such as a distribution, concern all holders of a certificate issue (names that begin with ci). One ledger
// entry has room for a bounded number of holders. If the issue has at most maxAtOnce holders, the action's decision books
// all its entries. Otherwise that decision only declares the action: it changes the status and credits the whole sum to the
// contract's account L:distributions. Each later decision books one batch of holders and debits the batch's part from
// L:distributions, until the account is zero. The record's column progress says how many holders are booked, so the batches
// continue after a restart. Until the last batch is booked, the contract accepts no other action.

const (
	// maxAtOnce is the largest number of holders that one decision books. The rows of more holders would not fit into one
	// group (the Changes that become durable with one sync).
	maxAtOnce = 1_500

	// maxSubscriptions is the largest number of subscriptions of an issue.
	maxSubscriptions = 10_000_000

	// holdersPerBooking is the number of holders that are booked in one call of book. Each holder needs at most two lines,
	// and up to three more lines are common to the call.
	holdersPerBooking = 64
)

// Batch is the name of the event that books one batch of holders. The event does not change the state, so no state machine
// contains it.
const Batch Action = "batch"

// holdersPerBatch returns the number of holders in a batch. The lines of a batch fill one entry. A profit needs one line
// for each holder, and other actions need two. Up to three more lines are common to the batch.
func holdersPerBatch(action Action) int64 {
	const commonLines = 3
	if action == Profit {
		return ledger.MaxPostings - commonLines
	}
	return (ledger.MaxPostings - commonLines) / 2
}

// Batches returns the number of batches in which an action is booked for a number of holders. It returns 0 if the action's
// own decision books all holders.
func Batches(action Action, holders int64) int64 {
	if holders <= maxAtOnce {
		return 0
	}
	return (holders + holdersPerBatch(action) - 1) / holdersPerBatch(action)
}

// The columns of the row that records the progress of an action in batches.
var (
	ciProgressAction      = schema.Text(1, "action", schema.Help("name of the action")) // the action's name in the contract's reading
	ciProgressDone        = schema.DerivedInteger(2, "done", schema.Help("number of holders for whom it is carried out"))
	ciProgressTotal       = schema.DerivedInteger(3, "total", schema.Help("number of holders"))
	ciProgressActionCode  = schema.Text(4, "doing", schema.NotShown)        // the action's name in this package
	ciProgressEffectiveOn = schema.Date(5, "effective_on", schema.NotShown) // the effective date of all entries of the action
	ciProgressDeclaredOn  = schema.Date(6, "declared_on", schema.NotShown)  // the clock's day when the action was declared
	ciProgressTable       = schema.NewTable(nil, ciProgressAction, ciProgressDone, ciProgressTotal, ciProgressActionCode, ciProgressEffectiveOn, ciProgressDeclaredOn)
)

// Progress tells how far an action in batches has come.
type Progress struct {
	Doing       Action
	Done, Total int64       // the number of holders who are booked, and of all holders
	On          ledger.Date // the effective date of the action's entries
}

// Progress returns the progress of the action that is being carried out in batches. If there is no such action, underWay is
// false.
func (r *Record) Progress() (p Progress, underWay bool) {
	if r.Product.RegisterQuery == nil {
		return p, false
	}
	row := ciUnderWay(r.Values)
	if row == nil {
		return p, false
	}
	return Progress{Action(ciProgressActionCode.Get(row)), ciProgressDone.Get(row), ciProgressTotal.Get(row), ciProgressEffectiveOn.Get(row)}, true
}

// ciUnderWay returns the row with the progress of the action that is being carried out in batches, or nil if there is no
// such action.
func ciUnderWay(v schema.Row) schema.Row {
	if rows := ciProgress.Get(v); len(rows) > 0 {
		return rows[0]
	}
	return nil
}

// ciRegisterQuery returns which part of the register of holders an action needs.
func ciRegisterQuery(r *Record, name Action, request schema.Input) RegisterQuery {
	v := r.Values
	switch name {
	case Subscribe:
		body := r.Product.Handler(Subscribe).input(request, r, new(schema.Faults)) // the faults are ignored here, because Act reports them
		return RegisterQuery{Investor: ciInInvestor.Get(body)}
	case Activate, Profit, Redeem, RedeemEarly, Default:
		if n := ciHolders.Get(v); n <= maxAtOnce {
			return RegisterQuery{From: 1, MaxHolders: int(n)}
		}
	case Batch:
		if p, underWay := r.Progress(); underWay {
			return RegisterQuery{From: p.Done + 1, MaxHolders: int(min(holdersPerBatch(p.Doing), p.Total-p.Done))}
		}
	}
	return RegisterQuery{}
}

// ciDue returns the timer that books the next batch. Every batch is due on the day on which the action was declared, that
// is, at once.
func ciDue(r *Record) (ledger.Date, Action) {
	if row := ciUnderWay(r.Values); row != nil {
		return ciProgressDeclaredOn.Get(row), Batch
	}
	return 0, ""
}

// ciForHolders books an action for all holders. If there are too many holders for one decision, it only declares the action
// (ciDeclare). In both cases the whole sum is debited to the account that debit names.
func ciForHolders(c *ActionContext, action Action, debit ledger.Path, sum money.Amount) {
	total := ciHolders.Get(c.values())
	if total > maxAtOnce {
		ciDeclare(c, action, debit, sum)
		return
	}
	holders := c.register.Holders
	assert.That(int64(len(holders)) == total, "contract: %d holders of %d were read", len(holders), total)
	for len(holders) > 0 {
		n := min(len(holders), holdersPerBooking)
		c.book(ciHolderLines(c, action, debit, holders[:n], n == len(holders))...)
		holders = holders[n:]
	}
}

// ciDeclare begins an action in batches. It records the action's progress and credits the whole sum to the account
// L:distributions, from which each batch debits its part.
func ciDeclare(c *ActionContext, action Action, debit ledger.Path, sum money.Amount) {
	c.move(debit, c.record.account(distributions), sum)
	day := c.effectiveDate
	if day == 0 {
		day = c.Today
	}
	row := ciProgressTable.New()
	ciProgressAction.Set(row, c.record.Product.ActionName(c.reading, action))
	ciProgressDone.Set(row, 0)
	ciProgressTotal.Set(row, ciHolders.Get(c.values()))
	ciProgressActionCode.Set(row, string(action))
	ciProgressEffectiveOn.Set(row, day)
	ciProgressDeclaredOn.Set(row, c.Today)
	ciProgress.Set(c.values(), []schema.Row{row})
	c.setReserve(sum)
	c.batchPhase = BatchBegins
}

// distributions is the stem (the path without the contract's id) of the account for the part of an action's sum that is not
// booked to holders yet. The account is zero when all batches are booked.
const distributions = "L:distributions"

// ciBatch books the next batch of holders.
func ciBatch(c *ActionContext) {
	v := c.values()
	p, underWay := c.record.Progress()
	holders := c.register.Holders
	remaining := p.Total - p.Done
	assert.That(underWay && int64(len(holders)) == min(remaining, holdersPerBatch(p.Doing)) && holders[0].Number == p.Done+1, "contract: a batch of %d holders at %d of %d", len(holders), p.Done, p.Total)
	isLast := int64(len(holders)) == remaining
	c.setEffectiveDate(p.On)
	c.book(ciHolderLines(c, p.Doing, c.record.account(distributions), holders, isLast)...)
	if isLast {
		ciProgress.Clear(v)
		c.batchPhase = BatchEnds
		return
	}
	row := append(schema.Row(nil), ciUnderWay(v)...)
	ciProgressDone.Set(row, p.Done+int64(len(holders)))
	ciProgress.Set(v, []schema.Row{row})
}

// ciHolderLines returns the lines of an action for some holders and updates the contract's columns. The lines balance.
// isLast tells whether these are the last holders of the issue.
func ciHolderLines(c *ActionContext, action Action, debit ledger.Path, holders []Holder, isLast bool) []line {
	switch action {
	case Activate:
		return ciMoveFaceValues(c, "L:subscription", "Q:holders", debit, c.record.cash(), holders)
	case Default:
		return ciMoveFaceValues(c, "Q:holders", "Q:holders_defaulted", debit, c.record.account("A:underlying"), holders)
	case Profit:
		return ciPayProfit(c, debit, holders, isLast)
	case Redeem:
		return ciPayFaceValues(c, debit, money.Amount{}, holders)
	case RedeemEarly:
		return ciPayFaceValues(c, debit, ciPenalty.Get(c.values()), holders)
	}
	panic("contract: " + string(action) + " is not for all holders")
}

// ciFaceValues returns the total face value of some holders' certificates.
func ciFaceValues(c *ActionContext, holders []Holder) money.Amount {
	certificates := int64(0)
	for i := range holders {
		certificates += holders[i].Certificates
	}
	return times(ciFace.Get(c.values()), certificates)
}

// ciMoveFaceValues moves the face value of each holder's certificates from one of the holder's accounts to another. It also
// books the sum of these face values on debit and credit, which are two accounts of the whole issue.
func ciMoveFaceValues(c *ActionContext, fromStem, toStem string, debit, credit ledger.Path, holders []Holder) (lines []line) {
	for _, h := range holders {
		face := times(ciFace.Get(c.values()), h.Certificates)
		lines = append(lines, dr(c.record.accountFor(fromStem, h.Investor), face), cr(c.record.accountFor(toStem, h.Investor), face))
	}
	sum := ciFaceValues(c, holders)
	return append(lines, dr(debit, sum), cr(credit, sum))
}

// ciPayProfit pays holders their parts of the latest distribution. For the last holders it also books the remainder that
// could not be divided equally among the certificates.
func ciPayProfit(c *ActionContext, debit ledger.Path, holders []Holder, isLast bool) []line {
	v, r := c.values(), c.record
	perCertificate, remainder := ciLastDistribution(v)
	paid, lines := money.Amount{}, []line(nil)
	for _, h := range holders {
		part := times(perCertificate, h.Certificates)
		paid = plus(paid, part)
		lines = append(lines, cr(currentAccount(h.Investor), part))
	}
	if isLast {
		paid = plus(paid, remainder)
		lines = append(lines, cr(r.account("L:undistributed"), remainder))
		ciUndistributed.Set(v, plus(ciUndistributed.Get(v), remainder))
	}
	return append([]line{dr(debit, paid)}, lines...)
}

// ciLastDistribution returns the latest distribution's amount per certificate, and the remainder that could not be divided
// equally among the certificates.
func ciLastDistribution(v schema.Row) (perCertificate, remainder money.Amount) {
	rows := ciDistributions.Get(v)
	row := rows[len(rows)-1]
	perCertificate = ciPerCertificate.Get(row)
	return perCertificate, minus(ciDistributedSum.Get(row), times(perCertificate, ciOutstandingThen.Get(row)))
}

// ciPayFaceValues returns the lines that pay each holder the face value of the holder's certificates, less a part of the
// penalty. The part of the penalty is rounded down and is at most the face value.
func ciPayFaceValues(c *ActionContext, debit ledger.Path, penalty money.Amount, holders []Holder) []line {
	v, r := c.values(), c.record
	sum, penalties := ciFaceValues(c, holders), money.Amount{}
	lines := []line{dr(debit, sum), cr(r.account("A:underlying"), sum)}
	for _, h := range holders {
		face := times(ciFace.Get(v), h.Certificates)
		penaltyPart := portion(penalty, h.Certificates, ciSold.Get(v)).Min(face)
		lines = append(lines, dr(r.accountFor("Q:holders", h.Investor), face), cr(currentAccount(h.Investor), minus(face, penaltyPart)))
		penalties = plus(penalties, penaltyPart)
		ciOutstanding.Set(v, ciOutstanding.Get(v)-h.Certificates)
	}
	return append(lines, cr(c.reading.EarlyPenalty, penalties))
}

// ciBalances computes the balances of the issue's own accounts from the record and the register of holders. Record.Register
// must contain the whole register.
func ciBalances(r *Record) (balances []AccountBalance) {
	v := r.Values
	stemBefore, stemAfter := ciStemIn(r.Status), ciStemIn(r.Status)
	p, underWay := r.Progress()
	done := p.Done
	if !underWay {
		done = ciHolders.Get(v)
	} else {
		stemBefore = ciStemBefore[p.Doing]
	}
	openFaceValue, bookedFaceValue := money.Amount{}, money.Amount{} // face value of the holders who are not booked yet, and of those who are
	for _, h := range r.Register.Holders {
		faceValue, stem := times(ciFace.Get(v), h.Certificates), stemAfter
		if h.Number > done {
			stem = stemBefore
			openFaceValue = plus(openFaceValue, faceValue)
		} else {
			bookedFaceValue = plus(bookedFaceValue, faceValue)
		}
		for _, accountStem := range []string{"L:subscription", "Q:holders", "Q:holders_defaulted"} {
			balance := money.Amount{}
			if accountStem == stem {
				balance = faceValue
			}
			balances = append(balances, AccountBalance{r.accountFor(accountStem, h.Investor), balance})
		}
	}
	return append(balances, ciCommonBalances(r, p, underWay, openFaceValue, bookedFaceValue)...)
}

// ciStemBefore maps an action to the stem (the path without ids) of the accounts on which the holders' face values are
// before the action.
var ciStemBefore = map[Action]string{
	Activate: "L:subscription", Profit: "Q:holders", Redeem: "Q:holders", RedeemEarly: "Q:holders", Default: "Q:holders",
}

// ciStemIn returns the stem (the path without ids) of the accounts on which the holders' face values are in a status. It
// returns an empty text if the certificates are redeemed.
func ciStemIn(status Status) string {
	switch status {
	case Active, Matured:
		return "Q:holders"
	case Defaulted:
		return "Q:holders_defaulted"
	case Redeemed:
		return ""
	}
	return "L:subscription"
}

// ciCommonBalances returns the balances of those accounts of an issue that all holders have in common.
func ciCommonBalances(r *Record, p Progress, underWay bool, openFaceValue, bookedFaceValue money.Amount) []AccountBalance {
	v := r.Values
	faces := plus(openFaceValue, bookedFaceValue)
	underlying, impaired, notYetBooked := money.Amount{}, money.Amount{}, money.Amount{}
	switch r.Status {
	case Active, Matured:
		underlying = faces
	case Defaulted:
		impaired = faces
	}
	if underWay {
		switch notYetBooked = openFaceValue; p.Doing {
		case Profit:
			perCertificate, remainder := ciLastDistribution(v)
			notYetBooked = remainder
			for _, h := range r.Register.Holders {
				if h.Number > p.Done {
					notYetBooked = plus(notYetBooked, times(perCertificate, h.Certificates))
				}
			}
		case Redeem, RedeemEarly, Default:
			underlying = openFaceValue
		}
	}
	return []AccountBalance{
		{r.account("A:underlying"), underlying}, {r.account("A:underlying_impaired"), impaired},
		{r.account("L:undistributed"), ciUndistributed.Get(v)}, {r.account(distributions), notYetBooked},
	}
}
