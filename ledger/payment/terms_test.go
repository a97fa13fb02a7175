package payment_test

import (
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// The amounts are computed by hand: fee = floor(amount × bps ÷ 10000) + fixed. The fee is deducted from the merchant's
// part, or added to the payer's amount (amount_with_fee).
func TestFeesAreFlooredAndDeductedOrOnTop(t *testing.T) {
	for name, c := range map[string]struct {
		kind   payment.Type
		amount string
		fees   payment.Fees
		want   string // amount_with_fee, amount_dest, merchant_amount, fee
	}{
		"no fee":                    {payment.Payment, "10000", feeDeducted(0, "0"), "10000 10000 10000 0"},
		"deducted, floored":         {payment.Payment, "9999", feeDeducted(250, "3"), "9999 9747 9747 252"},
		"on top, floored":           {payment.Payment, "9999", feeOnTop(250, "3"), "10251 9999 9999 252"},
		"the fee is all":            {payment.Payment, "50", feeDeducted(0, "50"), "50 0 0 50"},
		"the fee is more":           {payment.Payment, "50", feeDeducted(0, "70"), "50 0 -20 70"},
		"more, on top":              {payment.Payment, "50", feeOnTop(0, "70"), "120 50 50 70"},
		"a part below one":          {payment.Payment, "39", feeDeducted(250, "0"), "39 39 39 0"},
		"a fee of exactly one unit": {payment.Payment, "40", feeDeducted(250, "0"), "40 39 39 1"},
		"payout, deducted":          {payment.Payout, "1000", feeDeducted(100, "0"), "1000 990 990 10"},
		"payout, on top":            {payment.Payout, "1000", feeOnTop(100, "0"), "1010 1000 1000 10"},
		"18 digits":                 {payment.Payment, "123456789012345678", feeDeducted(250, "0"), "123456789012345678 120370369287037037 120370369287037037 3086419725308641"},
	} {
		sc := newScenario(t, c.kind, c.amount, terms(c.fees))
		if got := amountsText(sc.record); got != c.want || sc.record.Status != payment.Authorizing {
			t.Errorf("%s: %s in %s, want %s", name, got, sc.record.Status, c.want)
		}
	}
}

// amount_dest = floor((amount − deducted fee) × rate × 10^(scale difference)). So the fee is deducted before the conversion,
// and merchant_amount stays in the source currency.
func TestConversionIsFlooredAtTheDestinationsScale(t *testing.T) {
	for name, c := range map[string]struct {
		amount   string
		fees     payment.Fees
		from, to money.Asset
		rate     string
		want     string
	}{
		"same scale":                            {"1000", feeDeducted(250, "3"), usd, rub, "92.5", "1000 89910 972 28"},
		"floored":                               {"1000", feeDeducted(250, "3"), usd, rub, "0.333", "1000 323 972 28"},
		"on top, the whole amount":              {"1000", feeOnTop(250, "3"), usd, rub, "0.333", "1028 333 1000 28"},
		"RUB to USDT, exact":                    {"1000000", feeDeducted(0, "0"), rub, tron, "0.0108", "1000000 108000000 1000000 0"},
		"RUB to USDT, floored":                  {"12345", feeDeducted(0, "0"), rub, tron, "0.01080001", "12345 1333261 12345 0"},
		"USDT to IDR":                           {"1234567", feeDeducted(0, "0"), tron, idr, "15650.5", "1234567 1932159 1234567 0"},
		"IDR to TON":                            {"100", feeDeducted(0, "0"), idr, ton, "0.00002", "100 20000 100 0"},
		"18 decimals to two":                    {"9999999999999999", feeDeducted(0, "0"), bsc, rub, "92.5", "9999999999999999 92 9999999999999999 0"},
		"two decimals to 18":                    {"1", feeDeducted(0, "0"), rub, bsc, "0.0108", "1 108000000000000 1 0"},
		"less than one unit at the destination": {"1", feeDeducted(0, "0"), usd, rub, "0.5", "1 0 1 0"},
		"the fee is the whole amount":           {"50", feeDeducted(0, "50"), usd, rub, "92.5", "50 0 0 50"},
		"the fee is more":                       {"50", feeDeducted(0, "70"), usd, rub, "92.5", "50 0 -20 70"},
		"as much as may arrive":                 {"1" + zeros(36), feeDeducted(0, "0"), usd, rub, "1" + zeros(36), "1" + zeros(36) + " 1" + zeros(72) + " 1" + zeros(36) + " 0"},
		"one conversion, one floor":             {"3", feeDeducted(0, "0"), usd, rub, "0.6666", "3 1 3 0"},
	} {
		sc := newScenario(t, payment.Payment, c.amount, convertingTerms(c.fees, c.from, c.to, c.rate))
		if got := amountsText(sc.record); got != c.want || sc.record.Status != payment.Authorizing || sc.record.DestAsset() != c.to {
			t.Errorf("%s: %s of %v in %s, want %s", name, got, sc.record.DestAsset(), sc.record.Status, c.want)
		}
	}
}

func zeros(n int) string {
	return "000000000000000000000000000000000000000000000000000000000000000000000000"[:n]
}

// If the terms exclude a transaction, it is created in status rejected and without a terminal. No money is held, nothing is
// reserved, and no inquiry is due.
func TestTermsThatRejectATransaction(t *testing.T) {
	noScale := money.Asset{Currency: "USDT", Env: money.Prod}
	for name, c := range map[string]struct {
		kind          payment.Type
		amount        string
		terminalTerms *payment.Terms
		want          string
	}{
		"no rate is set":                         {payment.Payment, "100", convertingTerms(feeDeducted(0, "0"), usd, rub, ""), "no exchange rate"},
		"the source has no scale":                {payment.Payment, "100", convertingTerms(feeDeducted(0, "0"), noScale, rub, "92.5"), "no exchange rate"},
		"the destination has no scale":           {payment.Payment, "100", convertingTerms(feeDeducted(0, "0"), usd, noScale, "1"), "no exchange rate"},
		"a payout's fee is all":                  {payment.Payout, "100", terms(feeDeducted(0, "100")), "fee exceeds amount"},
		"a payout's fee is more":                 {payment.Payout, "100", terms(feeDeducted(0, "101")), "fee exceeds amount"},
		"a payout of which nothing arrives":      {payment.Payout, "1", convertingTerms(feeDeducted(0, "0"), usd, rub, "0.5"), "fee exceeds amount"},
		"a fee above the bound":                  {payment.Payment, "100", terms(feeDeducted(0, "1"+zeros(71)+"00")), "amount out of range"},
		"destination above the maximum, payout":  {payment.Payout, "1" + zeros(36), convertingTerms(feeDeducted(0, "0"), usd, rub, "1"+zeros(36)+".1"), "amount out of range"},
		"destination above the maximum, payment": {payment.Payment, "1" + zeros(36), convertingTerms(feeDeducted(0, "0"), usd, rub, "1"+zeros(36)+".1"), "amount out of range"},
		"destination out of range, payout":       {payment.Payout, "1" + zeros(72), convertingTerms(feeDeducted(0, "0"), usd, rub, "1"+zeros(37)), "amount out of range"},
		// After the fee, one unit is left to convert, and the result is in range. A full refund would convert the whole
		// amount, and that result is out of range.
		"full refund out of range, payment": {payment.Payment, "1" + zeros(72), convertingTerms(feeDeducted(0, nines(72)), usd, rub, "1"+zeros(37)), "amount out of range"},
	} {
		req := request(c.kind, c.amount)
		req.Asset = c.terminalTerms.Asset
		sc := &scenario{t: t, context: testContext}
		d := sc.apply(testContext.Create(transactionID, 1, req, c.terminalTerms))
		if d.Record.Failure.Describe("en") != c.want {
			t.Errorf("%s: %s %q, want %q", name, d.Record.Status, d.Record.Failure.Describe("en"), c.want)
			continue
		}
		sc.want(d, "create created", "refuse rejected", "final")
		if r := d.Record; amountsText(r) != c.amount+" "+c.amount+" "+c.amount+" 0" || r.Terminal != (ledger.ID{}) || r.Route != "" || r.DestAsset() != c.terminalTerms.Asset {
			t.Errorf("%s: %s on %v, want no terminal and no fee", name, amountsText(r), r.Terminal)
		}
	}
}

func nines(n int) string {
	return "999999999999999999999999999999999999999999999999999999999999999999999999"[:n]
}

// A terminal determines the network of the transaction's asset. The record keeps it even if the terminal's terms
// reject the transaction.
func TestARejectedTransactionShowsItsNetwork(t *testing.T) {
	req := request(payment.Payout, "100")
	req.Asset = money.Asset{Currency: "USDT", Env: money.Prod}
	terminalTerms := terms(feeDeducted(0, "100"))
	terminalTerms.Asset = tron
	if r := testContext.Create(transactionID, 1, req, terminalTerms).Record; r.Failure.Describe("en") != "fee exceeds amount" || r.Asset != tron {
		t.Errorf("%q of %v", r.Failure.Describe("en"), r.Asset)
	}
}

// A payout whose fee leaves one unit is sent.
func TestAPayoutWhoseFeeLeavesOneUnitGoesOut(t *testing.T) {
	if sc := newScenario(t, payment.Payout, "100", terms(feeDeducted(0, "99"))); amountsText(sc.record) != "100 1 1 99" || sc.record.Status != payment.Authorizing {
		t.Errorf("%s in %s", amountsText(sc.record), sc.record.Status)
	}
}
