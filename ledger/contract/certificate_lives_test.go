package contract

import "testing"

// issueSums checks what an issue's columns say of each other.
func issueSums(x *deal) {
	v := x.r.Values
	sold, distributed := int64(0), ciDistributed.Of(v)
	for _, row := range ciSubscriptions.Of(v) {
		sold += ciHeld.Of(row)
	}
	for _, row := range ciDistributions.Of(v) {
		distributed = minus(distributed, ciDistributedSum.Of(row))
	}
	outstanding := sold
	switch x.r.Status {
	case Active, Matured, Defaulted:
	default:
		outstanding = 0
	}
	if sold > ciCertificates.Of(v) || ciOutstanding.Of(v) != outstanding || !distributed.IsZero() {
		x.t.Fatalf("%d sold of %d, %d outstanding, %v distributed without a row; it is %s", sold, ciCertificates.Of(v), ciOutstanding.Of(v), distributed, x.r.Status)
	}
	for _, h := range ciHolders(v) {
		if most := ciMost.Of(v); most > 0 && h.n > most {
			x.t.Fatalf("somebody holds %d of at most %d", h.n, most)
		}
	}
}

func TestEveryLifeOfAnIssueBalances(t *testing.T) {
	for _, reading := range Readings {
		t.Run(reading.Name, func(t *testing.T) {
			l := fates{
				product: Certificate, reading: reading, sums: issueSums, ends: []Status{Redeemed, Defaulted},
				rare: []Action{Submit, Reject, CloseSubscription, RedeemEarly, Default}, open: []string{"Q:holders_defaulted", "A:underlying_impaired"},
			}
			l.body = func(d *dice) Given {
				n, face := d.number(1, 300), d.number(1, 50)
				g := issueBody().but("certificate_value", quote(face), "total_value", quote(n*face), "underlying_asset_value", quote(n*face),
					"subscription_end", `"2026-06-30"`, "maturity_months", d.whole(1, 6), "early_redemption_allowed", d.pick("true", "false"))
				d.maybe(g, "early_redemption_penalty", quote(d.number(0, 500)))
				d.maybe(g, "max_subscription", d.whole(1, 300))
				d.maybe(g, "min_subscription", d.whole(1, 10))
				d.maybe(g, "profit_distribution_frequency", d.text(frequencies...))
				return g
			}
			redeemed := func(d *dice, _ Row) Given { return given("redemption_date", d.day()) }
			l.bodies = map[Action]func(*dice, Row) Given{
				Reject: reasoned, Default: reasoned, Redeem: redeemed, RedeemEarly: redeemed,
				Subscribe: func(d *dice, _ Row) Given {
					return given("investor_id", uuidText(byte(d.number(1, 200))), "certificates", d.whole(0, 30))
				},
				Profit: amountsOf("total_profit", some),
			}
			l.lived(t)
		})
	}
}
