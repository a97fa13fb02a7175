package contract

import (
	"encoding/hex"
	"fmt"
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Certificate is the product in which investors hold certificates of one asset and share the asset's income. The platform
// is the issuer and the paying agent. In the religious reading the product is called sukuk. Names that begin with ci
// (certificate issue) belong to this product.
var Certificate = define(&Product{
	Code: 'c',
	Variants: map[*Reading]*Variant{
		Secular: {Name: "certificate-issues", Prefix: "CI"},
		Religious: {Name: "sukuk", Prefix: "SUK", Reviews: boardReviews, Actions: map[string]Action{
			"approve": Approve, "reject": Reject, "start_offering": Offer, "subscribe": Subscribe, "close_subscription": CloseSubscription,
			"activate": Activate, "distribute_profit": Profit, "mature": Mature, "redeem": Redeem, "redeem_early": RedeemEarly, "default": Default,
		}},
	},
	Columns: schema.NewTable(baseColumns,
		ciName, ciBacking, ciAsset, ciAssetValue, ciTotalValue, ciFace, ciYield, ciTermMonths, ciMinSubscription, ciMaxSubscription, ciFrequency, ciRedemptionMode,
		ciEarlyAllowed, ciPenalty, ciWindowStart, ciWindowEnd, ciOriginator, ciVehicle, ciProduct, ciAssetType,
		ciCertificates, ciOutstanding, ciDistributions, ciTotalDistributed, ciActualYield, ciNextDistribution, ciCode, ciIssueDate, ciMaturity, ciSubscriptions,
		ciDefaultReason, ciRedemptionDate, ciUndistributed, ciSold, ciApplications, ciHolders, ciProgress,
	),
	States: []Status{Draft, UnderReview, ReviewPassed, Refused, Offering, Subscribed, Active, Matured, Redeemed, Defaulted},
	Steps: joinSteps(
		reviewSteps(Offer, Offering, "the window for subscriptions is set"),
		[]Step{
			{From: Offering, By: Subscribe, To: Offering, Why: "somebody subscribed"},
			{From: Offering, By: CloseSubscription, To: Subscribed, Why: "no more subscriptions are taken"},
			{From: Active, By: Profit, To: Active, Why: "income was distributed"},
			{From: Active, By: Mature, To: Matured, Why: "the maturity date has arrived"},
			{From: Matured, By: Redeem, To: Redeemed, Why: "the holders were paid their certificates' face"},
			{From: Active, By: RedeemEarly, To: Redeemed, Why: "the holders were paid before maturity"},
		},
		steps(Activate, Active, "the issue is placed", Offering, Subscribed),
		steps(Default, Defaulted, "the issuer does not pay", Active, Matured),
	),
	Handlers: withReview(
		&ActionHandler{Name: Offer, AfterReview: true, Body: schema.NewTable(nil, ciInWindowStart, ciInWindowEnd),
			RequiredUnlessSet: []RequiredUnlessSet{{ciInWindowStart.Column, ciWindowStart.Column}, {ciInWindowEnd.Column, ciWindowEnd.Column}}, Do: ciOffer},
		&ActionHandler{Name: Subscribe, Moves: Always, ChecksState: true, Body: schema.NewTable(nil, ciInInvestor, ciInCertificates),
			Needs: ciNeedsOffering, Bounds: ciSubscriptionBounds, Do: ciSubscribe},
		&ActionHandler{Name: CloseSubscription, Needs: ciNeedsSubscriptions, Do: func(*ActionContext) {}},
		&ActionHandler{Name: Activate, Moves: Always, Body: schema.NewTable(nil, ciInIssueDate), Needs: ciNeedsSubscriptions, Do: ciActivate},
		&ActionHandler{Name: Profit, Moves: Always, Body: schema.NewTable(nil, ciInProfit, ciInPeriodEnd), Needs: ciNeedsIssue, Do: ciDistribute},
		&ActionHandler{Name: Mature, Needs: func(c *ActionContext) { c.needPastDate(ciMaturity) }, Do: func(*ActionContext) {}},
		&ActionHandler{Name: Redeem, Moves: Always, Body: schema.NewTable(nil, ciInRedemptionDate), Do: func(c *ActionContext) { ciRepay(c, Redeem) }},
		&ActionHandler{Name: RedeemEarly, Moves: Always, Body: schema.NewTable(nil, ciInEarlyRedemptionDate), Needs: ciNeedsPermission, Do: func(c *ActionContext) { ciRepay(c, RedeemEarly) }},
		&ActionHandler{Name: Default, Moves: Always, Body: reasons, Do: ciDefault},
		&ActionHandler{Name: Batch, Moves: Always, Timer: true, Do: ciBatch},
	),
	Type: "backing_type",
	Open: ciOpen, Due: ciDue, RegisterQuery: ciRegisterQuery, Balances: ciBalances,
	ControlTotals:  []ControlTotal{{Account: Cash, By: Profit, Side: ledger.Debit, Column: ciTotalDistributed.Column}},
	OpenAfterEnd:   []string{"A:underlying_impaired", "Q:holders_defaulted"}, // not empty after a default
	MutableColumns: []*schema.Column{ciWindowStart.Column, ciWindowEnd.Column},
})

// States and actions that only this product has.
const (
	Offering   Status = "offering"
	Subscribed Status = "subscribed"
	Matured    Status = "matured"
	Redeemed   Status = "redeemed"
	Defaulted  Status = "defaulted"

	Offer             Action = "offering"
	Subscribe         Action = "subscribe"
	CloseSubscription Action = "close_subscription"
	Redeem            Action = "redeem"
	RedeemEarly       Action = "redeem_early"
	Default           Action = "default"
)

// The columns, in this order: fields that the request for an issue sets, fields that the service computes, columns of the
// rows in lists, and columns of the actions' request bodies (ciIn…).
var (
	ciName    = schema.Text(32, "name", schema.Required, schema.InShort, schema.Help("name of the issue"))
	ciBacking = schema.Enum(33, "backing_type", []string{"lease", "managed_investment", "partnership", "installment_sale", "manufacturing", "forward_purchase"}, schema.Required, schema.InShort,
		schema.Help("what the certificates finance"))
	ciAsset = schema.Text(34, "underlying_asset", schema.Required, schema.LongerThan(10), schema.AtMost(maxNote),
		schema.Help("description of the asset"))
	ciAssetValue = schema.Amount(35, "underlying_asset_value", schema.Required, schema.Help("value of the asset, at least total_value"))
	ciTotalValue = schema.Amount(36, "total_value", schema.Required, schema.InShort,
		schema.Help("face value of all certificates; a multiple of certificate_value"))
	ciFace            = schema.Amount(37, "certificate_value", schema.Required, schema.InShort, schema.Help("face value of a certificate"))
	ciYield           = schema.Percent(38, "expected_yield", 1, 50, schema.Required, schema.Help("expected yield in percent"))
	ciTermMonths      = schema.Integer(39, "maturity_months", 1, 360, schema.Required, schema.Help("term in months of 30 days"))
	ciMinSubscription = schema.Integer(40, "min_subscription", 1, maxCertificates, schema.Settable, schema.Help("smallest number of certificates in a subscription"))
	ciMaxSubscription = schema.Integer(41, "max_subscription", 1, maxCertificates, schema.Settable, schema.Help("greatest number of certificates that a holder may have"))
	ciFrequency       = schema.Enum(42, "profit_distribution_frequency", frequencies, schema.Settable, schema.Help("how often profit is distributed"))
	ciRedemptionMode  = schema.Enum(43, "redemption_mode", []string{"bullet", "amortizing", "callable"}, schema.Settable,
		schema.Help("how the certificates are redeemed"))
	ciEarlyAllowed = schema.Bool(44, "early_redemption_allowed", schema.DefaultTo(false), schema.Help("whether the certificates can be redeemed before maturity"))
	ciPenalty      = schema.Amount(45, "early_redemption_penalty", schema.Settable, schema.OrZero,
		schema.Help("total amount that the holders lose at an early redemption"))
	ciWindowStart = schema.Date(46, "subscription_start", schema.Settable, schema.Help("first day of the offering"))
	ciWindowEnd   = schema.Date(47, "subscription_end", schema.Settable, schema.Help("last day of the offering"))
	ciOriginator  = schema.ID(48, "originator_id", schema.Settable, schema.Help("who brings the asset into the issue"))
	ciVehicle     = schema.ID(49, "spv_id", schema.Settable, schema.Help("the special-purpose vehicle that owns the asset"))
	ciProduct     = schema.ID(50, "product_id", schema.Settable, schema.Help("id of the product in your own catalogue"))
	ciAssetType   = schema.Text(51, "underlying_asset_type", schema.Settable, schema.Help("type of the asset"))

	ciCertificates = schema.DerivedInteger(60, "certificates_total", schema.InShort, schema.Help("number of certificates of the issue"))
	ciOutstanding  = schema.DerivedInteger(61, "certificates_outstanding", schema.InShort,
		schema.Help("number of certificates that were sold and not redeemed"))
	ciDistributions    = schema.Rows(62, "profit_distributions", ciDistributionTable, schema.Help("the distributions of profit"))
	ciTotalDistributed = schema.Amount(63, "total_profit_distributed", schema.Help("sum of the distributed profit"))
	ciActualYield      = schema.Percent(64, "actual_yield", 0, 0, schema.Help("distributed profit in whole percent of total_value, rounded down"))
	ciNextDistribution = schema.Date(65, "next_distribution_date", schema.Help("when the next distribution is due"))
	ciCode             = schema.Text(66, "isin", schema.Help("an internal code of 16 characters, not an ISIN"))
	ciIssueDate        = schema.Date(67, "issue_date", schema.Help("day of the issue"))
	ciMaturity         = schema.Date(68, "maturity_date", schema.Help("end of the term"))
	ciSubscriptions    = schema.Rows(69, "subscriptions", ciSubscription, schema.OutOfLists, schema.Transient,
		schema.Help("the oldest 200 subscriptions, oldest first")) // Record.Show fills this column; it is not stored
	ciDefaultReason  = schema.Text(70, "default_reason", schema.InMetadata, schema.Help("why the issue defaulted"))
	ciRedemptionDate = schema.Date(71, "redemption_date", schema.Help("day of the redemption"))
	ciUndistributed  = schema.Amount(72, "undistributed", schema.NotShown)
	ciSold           = schema.DerivedInteger(73, "certificates_sold", schema.NotShown)
	ciApplications   = schema.DerivedInteger(74, "subscriptions_total", schema.OutOfLists, schema.Help("number of subscriptions"))
	ciHolders        = schema.DerivedInteger(75, "holders_total", schema.OutOfLists, schema.Help("number of holders"))
	ciProgress       = schema.Rows(76, "progress", ciProgressTable, schema.Single,
		schema.Help("progress of an action that is carried out in batches; null if no such action is under way"))

	ciInvestor     = schema.ID(1, "investor_id", schema.Help("the holder"))
	ciSubscribed   = schema.DerivedInteger(2, "certificates", schema.Help("number of certificates"))
	ciSubscribedOn = schema.Date(3, "date", schema.Help("day of the subscription"))
	ciSubscription = schema.NewTable(nil, ciInvestor, ciSubscribed, ciSubscribedOn)

	ciDistributedOn     = schema.Date(1, "date", schema.Help("day of the distribution"))
	ciDistributedSum    = schema.Amount(2, "total_profit", schema.Help("the distributed profit"))
	ciPerCertificate    = schema.Amount(3, "per_certificate", schema.Help("profit for each certificate"))
	ciOutstandingThen   = schema.DerivedInteger(4, "certificates_outstanding", schema.Help("number of outstanding certificates at that time"))
	ciDistributionTable = schema.NewTable(nil, ciDistributedOn, ciDistributedSum, ciPerCertificate, ciOutstandingThen)

	ciInWindowStart         = schema.Date(1, "subscription_start", schema.Settable, schema.Help("first day of the offering; required unless it was set at the creation"))
	ciInWindowEnd           = schema.Date(2, "subscription_end", schema.Settable, schema.Help("last day of the offering; required unless it was set at the creation"))
	ciInInvestor            = schema.ID(1, "investor_id", schema.Required, schema.Help("the holder"))
	ciInCertificates        = schema.Integer(2, "certificates", 1, maxCertificates, schema.Required, schema.Help("number of certificates"))
	ciInIssueDate           = schema.Date(1, "issue_date", schema.Settable, schema.Help("day of the issue; today if absent"))
	ciInProfit              = schema.Amount(1, "total_profit", schema.Required, schema.Help("the profit to distribute"))
	ciInPeriodEnd           = schema.Date(2, "period_end_date", schema.Settable, schema.Help("last day of the period; today if absent"))
	ciInRedemptionDate      = schema.Date(1, "redemption_date", schema.Required, schema.Help("day of the redemption"))
	ciInEarlyRedemptionDate = schema.Date(1, "redemption_date", schema.Required, schema.Help("day of the redemption"))
)

// maxCertificates is the largest number of certificates that an issue may have.
const maxCertificates = maxExact

func ciOpen(c *ActionContext) {
	v := c.values()
	total, face := ciTotalValue.Get(v), ciFace.Get(v)
	if ciAssetValue.Get(v).Less(total) {
		c.refuse(ciAssetValue.Name, "must be at least total_value")
	}
	certificates := must(total.DivFloor(face))
	n, fits := certificates.Uint64()
	switch {
	case must(certificates.Mul(face)) != total:
		c.refuse(ciTotalValue.Name, "must be divisible exactly by certificate_value")
		return
	case !fits || n > maxCertificates:
		c.refuse(ciFace.Name, "makes more than %d certificates", int64(maxCertificates))
		return
	case ciMinSubscription.Has(v) && ciMaxSubscription.Has(v) && ciMaxSubscription.Get(v) < ciMinSubscription.Get(v):
		c.refuse(ciMaxSubscription.Name, "is less than min_subscription")
		return
	case ciMinSubscription.Has(v) && uint64(ciMinSubscription.Get(v)) > n:
		c.refuse(ciMinSubscription.Name, "is more than the issue's %d certificates", n)
		return
	}
	ciCheckWindow(c)
	ciCertificates.Set(v, int64(n))
	for _, count := range []schema.TypedColumn[int64]{ciOutstanding, ciSold, ciApplications, ciHolders} {
		count.Set(v, 0)
	}
	ciTotalDistributed.Set(v, money.Amount{})
	ciCode.Set(v, internalCode(Region.Get(v), c.reading.CertificateMark, c.record.ID))
}

// ciCheckWindow refuses a subscription window that ends before it begins.
func ciCheckWindow(c *ActionContext) {
	if v := c.values(); ciWindowStart.Has(v) && ciWindowEnd.Has(v) && ciWindowEnd.Get(v) < ciWindowStart.Get(v) {
		c.refuse(ciWindowEnd.Name, "is before subscription_start")
	}
}

// internalCode returns the issue's internal code. It consists of the region, the mark of the contract's reading (secular or
// religious), ten hexadecimal digits of the contract's random id, and a check digit, which is computed like that of an ISIN
// (ISO 6166).
func internalCode(region, mark string, id ledger.ID) string {
	code := strings.ToUpper(region + mark + hex.EncodeToString(id[:5]))
	return code + string(rune('0'+checkDigit(code)))
}

// checkDigit returns the Luhn check digit of a code. A letter counts as two digits: A as 10, B as 11.
func checkDigit(code string) int {
	var digits []int
	for i := range len(code) {
		if c := code[i]; c >= 'A' {
			n := int(c-'A') + 10
			digits = append(digits, n/10, n%10)
		} else {
			digits = append(digits, int(c-'0'))
		}
	}
	sum := 0
	for i := range digits {
		d := digits[len(digits)-1-i]
		if i%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return (10 - sum%10) % 10
}

func ciOffer(c *ActionContext) {
	v := c.values()
	for _, day := range []struct {
		bodyColumn, column schema.TypedColumn[ledger.Date]
	}{{ciInWindowStart, ciWindowStart}, {ciInWindowEnd, ciWindowEnd}} {
		if day.bodyColumn.Has(c.input) {
			day.column.Set(v, day.bodyColumn.Get(c.input))
		}
	}
	ciCheckWindow(c)
}

// ciNeedsOffering refuses a subscription if the issue does not accept subscriptions today.
func ciNeedsOffering(c *ActionContext) {
	v := c.values()
	first, last := ciWindowStart.Get(v), ciWindowEnd.Get(v)
	switch {
	case c.record.Status != Offering:
		c.refuse("status", "the issue is not offered: it is %s", c.record.Status)
	case c.Today < first:
		c.refuse(ciWindowStart.Name, "subscriptions are taken from %v to %v", first, last)
	case c.Today > last:
		c.refuse(ciWindowEnd.Name, "subscriptions are taken from %v to %v", first, last)
	case ciApplications.Get(v) >= maxSubscriptions:
		c.refuse(ciInCertificates.Name, "the issue has %d subscriptions: no more are taken", int64(maxSubscriptions))
	}
}

// ciSubscriptionBounds are the bounds on the number of certificates of one subscription, checked in the order of the
// specification. The maximum for each investor includes the certificates that the investor already holds. Before there is a
// request (Record.Available), the investor is unknown and counts as holding no certificates.
var ciSubscriptionBounds = []BodyBound{
	{Column: ciInCertificates.Column, IsMinimum: true,
		Bound: func(c *ActionContext) (money.Amount, bool) {
			return amountOf(ciMinSubscription.Get(c.values())), ciMinSubscription.Has(c.values())
		},
		Message: func(_ *ActionContext, bound money.Amount) string { return fmt.Sprintf("must be at least %v", bound) }},
	{Column: ciInCertificates.Column,
		Bound: func(c *ActionContext) (money.Amount, bool) {
			return amountOf(max(0, ciMaxSubscription.Get(c.values())-c.register.InvestorPosition.Certificates)), ciMaxSubscription.Has(c.values())
		},
		Message: func(c *ActionContext, _ money.Amount) string {
			return fmt.Sprintf("would be more than %d together with the %d already held", ciMaxSubscription.Get(c.values()), c.register.InvestorPosition.Certificates)
		}},
	atMost(ciInCertificates.Column, func(r *Record) money.Amount { return amountOf(ciCertificates.Get(r.Values) - ciSold.Get(r.Values)) }, "only %v are left"),
}

// ciSubscribe books a subscription.
func ciSubscribe(c *ActionContext) {
	v := c.values()
	investor, n, position := ciInInvestor.Get(c.input), ciInCertificates.Get(c.input), c.register.InvestorPosition
	if position.Number == 0 {
		ciHolders.Set(v, ciHolders.Get(v)+1)
		position = Holder{Number: ciHolders.Get(v), Investor: investor}
		c.newParty = investor
	}
	position.Certificates += n
	ciApplications.Set(v, ciApplications.Get(v)+1)
	ciSold.Set(v, ciSold.Get(v)+n)
	c.holderPosition = position
	c.subscription = Subscription{Number: ciApplications.Get(v), Holder: position.Number, Investor: investor, Certificates: n, On: c.Today}
	c.move(c.record.cash(), c.record.accountFor("L:subscription", investor), times(ciFace.Get(v), n))
}

func ciNeedsSubscriptions(c *ActionContext) {
	if ciApplications.Get(c.values()) == 0 {
		c.refuse(ciSubscriptions.Name, "there is no subscription")
	}
}

func ciActivate(c *ActionContext) {
	v, r := c.values(), c.record
	issueDay := dateOrToday(c, ciInIssueDate)
	ciIssueDate.Set(v, issueDay)
	ciMaturity.Set(v, addMonths(issueDay, ciTermMonths.Get(v)))
	if ciFrequency.Has(v) {
		ciNextDistribution.Set(v, addMonths(issueDay, periodMonths(ciFrequency.Get(v))))
	}
	ciOutstanding.Set(v, ciSold.Get(v))
	c.setEffectiveDate(issueDay)
	ciForHolders(c, Activate, r.account("A:underlying"), times(ciFace.Get(v), ciSold.Get(v)))
}

// ciNeedsIssue refuses a distribution before the issue date. An activated issue may have an issue date in the future.
func ciNeedsIssue(c *ActionContext) {
	if c.needAfterPayIn(ciInPeriodEnd, c.Today, ciIssueDate); c.noFaults() {
		needsRoom(ciDistributions, ciInProfit.Column)(c)
	}
}

func ciDistribute(c *ActionContext) {
	v, r := c.values(), c.record
	day, accepted := periodEnd(c, ciInPeriodEnd, ciIssueDate)
	if !accepted {
		return
	}
	profit, outstanding := ciInProfit.Get(c.input), ciOutstanding.Get(v)
	perCertificate := portion(profit, 1, outstanding)
	row := ciDistributionTable.New()
	ciDistributedOn.Set(row, day)
	ciDistributedSum.Set(row, profit)
	ciPerCertificate.Set(row, perCertificate)
	ciOutstandingThen.Set(row, outstanding)
	c.addRow(ciDistributions, row)
	if !c.addToTotal(ciTotalDistributed, profit, ciInProfit.Name) {
		return
	}
	yield, exact := wholePercent(ciTotalDistributed.Get(v), ciTotalValue.Get(v))
	if !exact {
		c.refuse(ciInProfit.Name, "takes %s above %d", ciActualYield.Name, int64(maxExact))
		return
	}
	ciActualYield.Set(v, yield)
	if ciNextDistribution.Has(v) {
		c.advance(ciNextDistribution, periodMonths(ciFrequency.Get(v)))
	}
	c.setEffectiveDate(day)
	if perCertificate.IsZero() { // less than one minor unit per certificate: no holder gets anything
		c.book(ciPayProfit(c, r.cash(), nil, true)...)
		return
	}
	ciForHolders(c, Profit, r.cash(), profit)
}

func ciNeedsPermission(c *ActionContext) {
	if !ciEarlyAllowed.Get(c.values()) {
		c.refuse(ciEarlyAllowed.Name, "the issue does not allow it")
	}
}

// ciRepay redeems all certificates at their face value and closes every account of the issue. If the redemption is early,
// each holder's part of the penalty is deducted.
func ciRepay(c *ActionContext, action Action) {
	v, r := c.values(), c.record
	day := dateOrToday(c, ciInRedemptionDate)
	ciRedemptionDate.Set(v, day)
	c.setEffectiveDate(day)
	ciForHolders(c, action, r.cash(), times(ciFace.Get(v), ciSold.Get(v)))
	ciGiveRemaindersToCharity(c)
}

// ciGiveRemaindersToCharity gives to charity what the distributions could not divide equally among the certificates.
func ciGiveRemaindersToCharity(c *ActionContext) {
	v := c.values()
	c.move(c.record.account("L:undistributed"), "L:charity", ciUndistributed.Get(v))
	ciUndistributed.Set(v, money.Amount{})
	ciNextDistribution.Clear(v)
}

func ciDefault(c *ActionContext) {
	v := c.values()
	ciDefaultReason.Set(v, reason.Get(c.input))
	ciForHolders(c, Default, c.record.account("A:underlying_impaired"), times(ciFace.Get(v), ciSold.Get(v)))
	ciGiveRemaindersToCharity(c)
}
