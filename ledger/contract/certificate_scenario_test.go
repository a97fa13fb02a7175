package contract

import (
	"testing"

	"mizan/ledger/schema"
)

// issueMoves returns the actions that TestActionsOfAnIssueInEveryState tries. The keys are the names of the actions in the
// test's grids and routes.
func issueMoves() map[string]gridMove {
	return map[string]gridMove{
		"submit": {name: Submit}, "reject": {name: Reject, input: input("reason", `"no"`)}, "review": {name: Approve, input: boardReview()},
		"no review": {name: Approve, input: input("approved_by", `"the board"`)},
		"offering":  {name: Offer}, "subscribe": {name: Subscribe, input: input("investor_id", someone, "certificates", "1")},
		"close_subscription": {name: CloseSubscription}, "activate": {name: Activate},
		"profit": {name: Profit, input: input("total_profit", `"1"`)}, "mature": {name: Mature, days: 60}, "too soon": {name: Mature},
		"redeem":       {name: Redeem, input: input("redemption_date", `"2026-03-02"`)},
		"redeem_early": {name: RedeemEarly, input: input("redemption_date", `"2026-03-02"`)},
		"default":      {name: Default, input: input("reason", `"enough"`)},
	}
}

// issueRoutes returns, for each state, the names of the actions that lead to it. The actions in start come before the
// offering.
func issueRoutes(start ...string) map[Status][]string {
	route := func(moves ...string) []string { return append(start[:len(start):len(start)], moves...) }
	return map[Status][]string{
		UnderReview: {"submit"}, ReviewPassed: {"submit", "review"}, Refused: {"submit", "reject"},
		Offering: route("offering", "subscribe"), Subscribed: route("offering", "subscribe", "close_subscription"),
		Active: route("offering", "subscribe", "activate"), Matured: route("offering", "subscribe", "activate", "mature"),
		Redeemed:  route("offering", "subscribe", "activate", "mature", "redeem"),
		Defaulted: route("offering", "subscribe", "activate", "default"),
	}
}

// A subscription to an issue that is not offered is refused for the field status. Every other action in a
// state that does not allow it is a conflict.
func TestActionsOfAnIssueInEveryState(t *testing.T) {
	const notOffered = "422 status"
	body := withChanges(issueBody(), "early_redemption_allowed", "true")
	activeRow := func(status string) map[string]string {
		return map[string]string{"profit": status, "mature": "matured", "too soon": "422 maturity_date", "redeem_early": "redeemed", "default": "defaulted", "subscribe": notOffered}
	}
	draftRow := map[string]string{"submit": "under_review", "offering": "offering", "subscribe": notOffered}
	reviewRow := map[string]string{"review": "review_passed", "no review": "review_passed", "reject": "rejected", "subscribe": notOffered}
	states := grid{
		Draft: draftRow, UnderReview: reviewRow,
		ReviewPassed: {"offering": "offering", "subscribe": notOffered},
		Refused:      {"subscribe": notOffered},
		Offering:     {"subscribe": "offering", "close_subscription": "subscribed", "activate": "active"},
		Subscribed:   {"activate": "active", "subscribe": notOffered},
		Active:       activeRow("active"),
		Matured:      {"redeem": "redeemed", "default": "defaulted", "subscribe": notOffered},
		Redeemed:     {"subscribe": notOffered},
		Defaulted:    {"subscribe": notOffered},
	}
	checkGrid(t, Certificate, Secular, body, issueMoves(), issueRoutes(), states)
	states[Draft] = map[string]string{
		"submit": "under_review", "review": "review_passed", "no review": "422 fatwa_reference", "reject": "rejected", "subscribe": notOffered,
	}
	states[UnderReview] = map[string]string{"review": "review_passed", "no review": "422 fatwa_reference", "reject": "rejected", "subscribe": notOffered}
	checkGrid(t, Certificate, Religious, body, issueMoves(), issueRoutes("review"), states)
}

// checkIssueColumns checks that an issue's columns agree with each other.
func checkIssueColumns(fixture *contractFixture) {
	v := fixture.record.Values
	sold, distributed := int64(0), ciTotalDistributed.Get(v)
	for _, s := range fixture.registerOf(fixture.record).subscriptions {
		sold += s.Certificates
	}
	for _, row := range ciDistributions.Get(v) {
		distributed = minus(distributed, ciDistributedSum.Get(row))
	}
	outstanding := sold
	switch fixture.record.Status {
	case Active, Matured, Defaulted:
	default:
		outstanding = 0
	}
	if sold != ciSold.Get(v) || sold > ciCertificates.Get(v) || ciOutstanding.Get(v) != outstanding || !distributed.IsZero() {
		fixture.t.Fatalf("%d sold of %d, %d outstanding, %v distributed without a row; it is %s", sold, ciCertificates.Get(v), ciOutstanding.Get(v), distributed, fixture.record.Status)
	}
	for _, h := range fixture.registerOf(fixture.record).holders {
		if maxHeld := ciMaxSubscription.Get(v); maxHeld > 0 && h.Certificates > maxHeld {
			fixture.t.Fatalf("a holder has %d certificates, which is more than the maximum of %d", h.Certificates, maxHeld)
		}
	}
}

// A life is a new contract and the random actions that the test tries on it.
func TestEveryLifeOfAnIssueBalances(t *testing.T) {
	for _, reading := range Readings {
		t.Run(reading.Name, func(t *testing.T) {
			lives := randomLives{
				product: Certificate, reading: reading, checkColumns: checkIssueColumns, endStates: []Status{Redeemed, Defaulted},
				rareActions: []Action{Submit, Reject, CloseSubscription, RedeemEarly, Default}, openStems: []string{"Q:holders_defaulted", "A:underlying_impaired"},
			}
			lives.body = func(d *dice) schema.Input {
				n, face := d.number(1, 300), d.number(1, 50)
				body := withChanges(issueBody(), "certificate_value", quote(face), "total_value", quote(n*face), "underlying_asset_value", quote(n*face),
					"subscription_end", `"2026-06-30"`, "maturity_months", d.numberText(1, 6), "early_redemption_allowed", d.pick("true", "false"))
				d.setSometimes(body, "early_redemption_penalty", quote(d.number(0, 500)))
				d.setSometimes(body, "max_subscription", d.numberText(1, 300))
				d.setSometimes(body, "min_subscription", d.numberText(1, 10))
				d.setSometimes(body, "profit_distribution_frequency", d.quotedWord(frequencies...))
				return body
			}
			redemptionBody := func(d *dice, _ schema.Row) schema.Input { return input("redemption_date", d.day()) }
			lives.bodies = map[Action]func(*dice, schema.Row) schema.Input{
				Reject: reasonBody, Default: reasonBody, Redeem: redemptionBody, RedeemEarly: redemptionBody,
				Subscribe: func(d *dice, _ schema.Row) schema.Input {
					return input("investor_id", uuidText(byte(d.number(1, 200))), "certificates", d.numberText(0, 30))
				},
				Profit: amountsOf("total_profit", defaultBound),
			}
			lives.check(t)
		})
	}
}
