package contract

import (
	"encoding/hex"
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Certificate is an issue of certificates in one asset, whose income its holders
// share. The platform is issuer and paying agent. Its religious counterpart is
// sukuk.
var Certificate = define(&Product{
	Code: 'c',
	Faces: map[*Reading]*Face{
		Secular: {Name: "certificate-issues", Prefix: "CI"},
		Religious: {Name: "sukuk", Prefix: "SUK", Reviews: boardReviews, Actions: map[string]Action{
			"approve": Pass, "reject": Reject, "start_offering": Offer, "subscribe": Subscribe, "close_subscription": CloseSubscription,
			"activate": Activate, "distribute_profit": Profit, "mature": Mature, "redeem": Redeem, "redeem_early": RedeemEarly, "default": Default,
		}},
	},
	Columns: columns(base,
		ciName, ciBacking, ciAsset, ciAssetValue, ciTotal, ciFace, ciYield, ciMonths, ciLeast, ciMost, ciFrequency, ciMode,
		ciEarly, ciPenalty, ciFrom, ciUntil, ciOriginator, ciVehicle, ciProduct, ciAssetType,
		ciCertificates, ciOutstanding, ciDistributions, ciDistributed, ciActual, ciNext, ciCode, ciIssued, ciMaturity, ciSubscriptions,
		ciDefault, ciRedeemed, ciUndistributed,
	),
	States: []Status{Draft, UnderReview, ReviewPassed, Refused, Offering, Subscribed, Active, Matured, Redeemed, Defaulted},
	Steps: concat(
		reviewed(Offer, Offering, "the window for subscriptions is set"),
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
	Deeds: withReview(
		&Deed{Name: Offer, Moves: true, Body: columns(nil, ciInFrom, ciInUntil), Do: ciOffer},
		&Deed{Name: Subscribe, Moves: true, Free: true, Body: columns(nil, ciInInvestor, ciInCertificates), Do: ciSubscribe},
		&Deed{Name: CloseSubscription, Do: ciNeedsSubscriptions},
		&Deed{Name: Activate, Moves: true, Body: columns(nil, ciInIssued), Do: ciActivate},
		&Deed{Name: Profit, Moves: true, Body: columns(nil, ciInProfit, ciInPeriodEnd), Do: ciDistribute},
		&Deed{Name: Mature, Do: ciMature},
		&Deed{Name: Redeem, Moves: true, Body: columns(nil, ciInRedeemed), Do: func(c *Case) { ciRepay(c, money.Amount{}) }},
		&Deed{Name: RedeemEarly, Moves: true, Body: columns(nil, ciInRedeemedEarly), Do: ciRedeemEarly},
		&Deed{Name: Default, Moves: true, Body: reasons, Do: ciGiveUp},
	),
	Type: "backing_type",
	Holders: func(r *Record) (who []ledger.ID) {
		for _, h := range ciHolders(r.Values) {
			who = append(who, h.who)
		}
		return who
	},
	Open: ciOpen, Holdings: ciHoldings,
})

// Its own states and actions.
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

// maxSubscriptions bounds an issue's subscriptions: each is in its record, and what is
// done for all holders at once has to fit into one group of the writer.
const maxSubscriptions = 1_500

var (
	ciName       = text(32, "name", required, short)
	ciBacking    = enum(33, "backing_type", []string{"lease", "managed_investment", "partnership", "installment_sale", "manufacturing", "forward_purchase"}, required, short)
	ciAsset      = text(34, "underlying_asset", required, longerThan(10), atMost(maxNote))
	ciAssetValue = amount(35, "underlying_asset_value", required)
	ciTotal      = amount(36, "total_value", required, short)
	ciFace       = amount(37, "certificate_value", required, short)
	ciYield      = percent(38, "expected_yield", 1, 50, required)
	ciMonths     = integer(39, "maturity_months", 1, 360, required)
	ciLeast      = integer(40, "min_subscription", 1, maxCertificates, asked)
	ciMost       = integer(41, "max_subscription", 1, maxCertificates, asked)
	ciFrequency  = enum(42, "profit_distribution_frequency", frequencies, asked)
	ciMode       = enum(43, "redemption_mode", []string{"bullet", "amortizing", "callable"}, asked)
	ciEarly      = boolean(44, "early_redemption_allowed", otherwise(false))
	ciPenalty    = amount(45, "early_redemption_penalty", asked, orZero)
	ciFrom       = date(46, "subscription_start", asked)
	ciUntil      = date(47, "subscription_end", asked)
	ciOriginator = id(48, "originator_id", asked)
	ciVehicle    = id(49, "spv_id", asked)
	ciProduct    = id(50, "product_id", asked)
	ciAssetType  = text(51, "underlying_asset_type", asked)

	ciCertificates  = derived(60, "certificates_total", short)
	ciOutstanding   = derived(61, "certificates_outstanding", short)
	ciDistributions = rows(62, "profit_distributions", ciDistribution)
	ciDistributed   = amount(63, "total_profit_distributed")
	ciActual        = percent(64, "actual_yield", 0, 0)
	ciNext          = date(65, "next_distribution_date")
	ciCode          = text(66, "isin")
	ciIssued        = date(67, "issue_date")
	ciMaturity      = date(68, "maturity_date")
	ciSubscriptions = rows(69, "subscriptions", ciSubscription, deep)
	ciDefault       = text(70, "default_reason", inMetadata)
	ciRedeemed      = date(71, "redemption_date")
	ciUndistributed = amount(72, "undistributed", hidden)

	ciInvestor     = id(1, "investor_id")
	ciHeld         = derived(2, "certificates")
	ciOn           = date(3, "date")
	ciSubscription = columns(nil, ciInvestor, ciHeld, ciOn)

	ciDistributedOn  = date(1, "date")
	ciDistributedSum = amount(2, "total_profit")
	ciEach           = amount(3, "per_certificate")
	ciThen           = derived(4, "certificates_outstanding")
	ciDistribution   = columns(nil, ciDistributedOn, ciDistributedSum, ciEach, ciThen)

	ciInFrom          = date(1, "subscription_start", asked)
	ciInUntil         = date(2, "subscription_end", asked)
	ciInInvestor      = id(1, "investor_id", required)
	ciInCertificates  = integer(2, "certificates", 1, maxCertificates, required)
	ciInIssued        = date(1, "issue_date", asked)
	ciInProfit        = amount(1, "total_profit", required)
	ciInPeriodEnd     = date(2, "period_end_date", asked)
	ciInRedeemed      = date(1, "redemption_date", required)
	ciInRedeemedEarly = date(1, "redemption_date", required)
)

// maxCertificates bounds how many certificates an issue has.
const maxCertificates = maxExact

func ciOpen(c *Case) {
	v := c.v()
	total, face := ciTotal.Of(v), ciFace.Of(v)
	if ciAssetValue.Of(v).Less(total) {
		c.refuse(ciAssetValue.Name, "must be at least total_value")
	}
	certificates := must(total.DivFloor(face))
	n, fits := certificates.Uint64()
	switch {
	case must(certificates.Mul(face)) != total:
		c.refuse(ciTotal.Name, "must be divisible exactly by certificate_value")
		return
	case !fits || n > maxCertificates:
		c.refuse(ciFace.Name, "makes more than %d certificates", int64(maxCertificates))
		return
	case ciLeast.Has(v) && ciMost.Has(v) && ciMost.Of(v) < ciLeast.Of(v):
		c.refuse(ciMost.Name, "is less than min_subscription")
		return
	case ciLeast.Has(v) && uint64(ciLeast.Of(v)) > n:
		c.refuse(ciLeast.Name, "is more than the %d certificates that there are", n)
		return
	}
	ciWindow(c)
	ciCertificates.Set(v, int64(n))
	ciOutstanding.Set(v, 0)
	ciDistributed.Set(v, money.Amount{})
	ciCode.Set(v, code(Region.Of(v), c.reading.CertificateMark, c.r.ID))
}

// ciWindow refuses a window that ends before it begins.
func ciWindow(c *Case) {
	if v := c.v(); ciFrom.Has(v) && ciUntil.Has(v) && ciUntil.Of(v) < ciFrom.Of(v) {
		c.refuse(ciUntil.Name, "is before subscription_start")
	}
}

// code is the internal code: the region, the reading's mark, ten hexadecimal
// digits of its random id, and a check digit by the rule of ISO 6166.
func code(region, mark string, id ledger.ID) string {
	body := strings.ToUpper(region + mark + hex.EncodeToString(id[:5]))
	return body + string(rune('0'+checkDigit(body)))
}

// checkDigit is Luhn's, over letters as two digits: A is 10.
func checkDigit(body string) int {
	var digits []int
	for i := range len(body) {
		if c := body[i]; c >= 'A' {
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

func ciOffer(c *Case) {
	v := c.v()
	for _, day := range []struct{ sent, kept Cell[ledger.Date] }{{ciInFrom, ciFrom}, {ciInUntil, ciUntil}} {
		if day.sent.Has(c.in) {
			day.kept.Set(v, day.sent.Of(c.in))
		}
		if !day.kept.Has(v) {
			c.refuse(day.kept.Name, "is required")
		}
	}
	ciWindow(c)
}

// ciSubscribe makes its checks in the specification's order.
func ciSubscribe(c *Case) {
	v := c.v()
	investor, n := ciInInvestor.Of(c.in), ciInCertificates.Of(c.in)
	held, sold := ciPosition(v, investor), ciSold(v)
	left := ciCertificates.Of(v) - sold
	switch {
	case c.r.Status != Offering:
		c.refuse("status", "the issue is not offered: it is %s", c.r.Status)
	case c.Today < ciFrom.Of(v):
		c.refuse(ciFrom.Name, "subscriptions are taken from %v to %v", ciFrom.Of(v), ciUntil.Of(v))
	case c.Today > ciUntil.Of(v):
		c.refuse(ciUntil.Name, "subscriptions are taken from %v to %v", ciFrom.Of(v), ciUntil.Of(v))
	case ciLeast.Has(v) && n < ciLeast.Of(v):
		c.refuse(ciInCertificates.Name, "must be at least %d", ciLeast.Of(v))
	case ciMost.Has(v) && (n > ciMost.Of(v) || held > ciMost.Of(v)-n):
		c.refuse(ciInCertificates.Name, "would be more than %d together with the %d already held", ciMost.Of(v), held)
	case n > left:
		c.refuse(ciInCertificates.Name, "only %d are left", left)
	case len(ciSubscriptions.Of(v)) >= maxSubscriptions:
		c.refuse(ciInCertificates.Name, "the issue has %d subscriptions: no more are taken", maxSubscriptions)
	default:
		if held == 0 {
			c.joined = investor
		}
		row := ciSubscription.New()
		ciInvestor.Set(row, investor)
		ciHeld.Set(row, n)
		ciOn.Set(row, c.Today)
		ciSubscriptions.Set(v, added(ciSubscriptions.Of(v), row))
		c.move(c.r.cash(), c.r.accountOf("L:subscription", investor), times(ciFace.Of(v), n))
	}
}

func ciSold(v Row) (n int64) {
	for _, s := range ciSubscriptions.Of(v) {
		n += ciHeld.Of(s)
	}
	return n
}

func ciPosition(v Row, investor ledger.ID) (n int64) {
	for _, s := range ciSubscriptions.Of(v) {
		if ciInvestor.Of(s) == investor {
			n += ciHeld.Of(s)
		}
	}
	return n
}

// holder is somebody's whole position.
type holder struct {
	who ledger.ID
	n   int64
}

// ciHolders are all positions, in the order of first subscriptions.
func ciHolders(v Row) (holders []holder) {
	at := make(map[ledger.ID]int)
	for _, s := range ciSubscriptions.Of(v) {
		who := ciInvestor.Of(s)
		i, known := at[who]
		if !known {
			i = len(holders)
			at[who] = i
			holders = append(holders, holder{who: who})
		}
		holders[i].n += ciHeld.Of(s)
	}
	return holders
}

// ciChunk is how many holders' lines one entry takes: of each two at most, and three
// for all of them together.
const ciChunk = 64

// ciEachHolders calls fn with the holders, as many at a time as one entry takes, and
// with how many certificates these hold.
func ciEachHolders(v Row, fn func(some []holder, certificates int64, last bool)) {
	holders := ciHolders(v)
	for len(holders) > 0 {
		n := min(len(holders), ciChunk)
		certificates := int64(0)
		for _, h := range holders[:n] {
			certificates += h.n
		}
		fn(holders[:n], certificates, n == len(holders))
		holders = holders[n:]
	}
}

func ciNeedsSubscriptions(c *Case) {
	if len(ciSubscriptions.Of(c.v())) == 0 {
		c.refuse(ciSubscriptions.Name, "there is no subscription")
	}
}

func ciActivate(c *Case) {
	if ciNeedsSubscriptions(c); !c.fine() {
		return
	}
	v, r := c.v(), c.r
	issued := orToday(c, ciInIssued)
	ciIssued.Set(v, issued)
	ciMaturity.Set(v, after(issued, ciMonths.Of(v)))
	if ciFrequency.Has(v) {
		ciNext.Set(v, after(issued, periodMonths(ciFrequency.Of(v))))
	}
	ciOutstanding.Set(v, ciSold(v))
	c.effective(issued)
	ciMoveFaces(c, "L:subscription", "Q:holders", r.account("A:underlying"), r.cash())
}

// ciMoveFaces moves the face that each holder has on one account to another, and the
// sum of the faces between two more.
func ciMoveFaces(c *Case, from, to string, debit, credit ledger.Path) {
	v, r := c.v(), c.r
	ciEachHolders(v, func(some []holder, certificates int64, _ bool) {
		var lines []line
		for _, h := range some {
			face := times(ciFace.Of(v), h.n)
			lines = append(lines, dr(r.accountOf(from, h.who), face), cr(r.accountOf(to, h.who), face))
		}
		sum := times(ciFace.Of(v), certificates)
		c.book(append(lines, dr(debit, sum), cr(credit, sum))...)
	})
}

func ciDistribute(c *Case) {
	v, r := c.v(), c.r
	profit, outstanding := ciInProfit.Of(c.in), ciOutstanding.Of(v)
	each := part(profit, 1, outstanding)
	rest := minus(profit, times(each, outstanding))
	on := orToday(c, ciInPeriodEnd)
	row := ciDistribution.New()
	ciDistributedOn.Set(row, on)
	ciDistributedSum.Set(row, profit)
	ciEach.Set(row, each)
	ciThen.Set(row, outstanding)
	if !c.grow(ciDistributed, profit, ciInProfit.Name) || !c.keep(ciDistributions, row, ciInProfit.Name) {
		return
	}
	yield, exact := wholePercent(ciDistributed.Of(v), ciTotal.Of(v))
	if !exact {
		c.refuse(ciInProfit.Name, "takes %s above %d", ciActual.Name, int64(maxExact))
		return
	}
	ciActual.Set(v, yield)
	if ciNext.Has(v) {
		c.advance(ciNext, periodMonths(ciFrequency.Of(v)))
	}
	ciUndistributed.Set(v, plus(ciUndistributed.Of(v), rest))
	c.effective(on)
	ciEachHolders(v, func(some []holder, certificates int64, last bool) {
		paid := times(each, certificates)
		var lines []line
		for _, h := range some {
			lines = append(lines, cr(current(h.who), times(each, h.n)))
		}
		if last {
			paid = plus(paid, rest)
			lines = append(lines, cr(r.account("L:undistributed"), rest))
		}
		c.book(append([]line{dr(r.cash(), paid)}, lines...)...)
	})
}

func ciMature(c *Case) {
	if maturity := ciMaturity.Of(c.v()); c.Today < maturity {
		c.refuse(ciMaturity.Name, "is %v, which has not arrived", maturity)
	}
}

func ciRedeemEarly(c *Case) {
	if !ciEarly.Of(c.v()) {
		c.refuse(ciEarly.Name, "the issue does not allow it")
		return
	}
	ciRepay(c, ciPenalty.Of(c.v()))
}

// ciRepay pays the holders their certificates' face, less their parts of a penalty,
// and closes every account of the issue.
func ciRepay(c *Case, penalty money.Amount) {
	v, r := c.v(), c.r
	on := orToday(c, ciInRedeemed)
	ciRedeemed.Set(v, on)
	c.effective(on)
	outstanding := ciOutstanding.Of(v)
	ciEachHolders(v, func(some []holder, certificates int64, _ bool) {
		sum := times(ciFace.Of(v), certificates)
		lines := []line{dr(r.cash(), sum), cr(r.account("A:underlying"), sum)}
		kept := money.Amount{}
		for _, h := range some {
			face := times(ciFace.Of(v), h.n)
			less := part(penalty, h.n, outstanding).Min(face)
			lines = append(lines, dr(r.accountOf("Q:holders", h.who), face), cr(current(h.who), minus(face, less)))
			kept = plus(kept, less)
		}
		c.book(append(lines, cr(c.reading.EarlyPenalty, kept))...)
	})
	ciGiveAway(c)
	ciOutstanding.Set(v, 0)
}

// ciGiveAway gives what could not be divided among the holders to charity.
func ciGiveAway(c *Case) {
	v := c.v()
	c.move(c.r.account("L:undistributed"), "L:charity", ciUndistributed.Of(v))
	ciUndistributed.Set(v, money.Amount{})
	ciNext.Clear(v)
}

func ciGiveUp(c *Case) {
	ciDefault.Set(c.v(), reason.Of(c.in))
	ciMoveFaces(c, "Q:holders", "Q:holders_defaulted", c.r.account("A:underlying_impaired"), c.r.account("A:underlying"))
	ciGiveAway(c)
}

func ciHoldings(r *Record) (all []Holding) {
	v := r.Values
	stem, underlying := "L:subscription", money.Amount{}
	switch r.Status {
	case Active, Matured:
		stem, underlying = "Q:holders", times(ciFace.Of(v), ciSold(v))
	case Defaulted:
		stem = "Q:holders_defaulted"
		all = append(all, Holding{r.account("A:underlying_impaired"), times(ciFace.Of(v), ciSold(v))})
	case Redeemed:
		stem = ""
	}
	all = append(all, Holding{r.account("A:underlying"), underlying}, Holding{r.account("L:undistributed"), ciUndistributed.Of(v)})
	for _, h := range ciHolders(v) {
		for _, of := range []string{"L:subscription", "Q:holders", "Q:holders_defaulted"} {
			held := money.Amount{}
			if of == stem {
				held = times(ciFace.Of(v), h.n)
			}
			all = append(all, Holding{r.accountOf(of, h.who), held})
		}
	}
	return all
}
