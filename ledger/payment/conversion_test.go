package payment_test

import (
	"testing"

	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// In a converted payment, money in the source's asset goes into the exchange position, and money in the destination's
// asset comes out of it. If the fee takes the whole amount, nothing is converted. An amount that is rounded down to
// zero at the destination has no postings there.
func TestConvertedChargeCrossesTheExchangePosition(t *testing.T) {
	for want, terminalTerms := range map[string]*payment.Terms{
		"Dr A:provider 1000, Cr Q:fx_position 972, Dr Q:fx_position 89910 RUB, Cr L:partner:1:available 89910 RUB*, Cr I:fees 28": convertingTerms(feeDeducted(250, "3"), usd, rub, "92.5"),
		"Dr A:provider 1028, Cr Q:fx_position 1000, Dr Q:fx_position 333 RUB, Cr L:partner:1:available 333 RUB*, Cr I:fees 28":    convertingTerms(feeOnTop(250, "3"), usd, rub, "0.333"),
		"Dr A:provider 1000, Cr I:fees 1000":                                                                             convertingTerms(feeDeducted(0, "1000"), usd, rub, "92.5"),
		"Dr A:provider 1000, Dr L:partner:1:available 20*, Cr I:fees 1020":                                               convertingTerms(feeDeducted(0, "1020"), usd, rub, "92.5"),
		"Dr A:provider 1000, Cr Q:fx_position 2, Cr I:fees 998":                                                          convertingTerms(feeDeducted(0, "998"), usd, rub, "0.4"),
		"Dr A:provider 1000, Cr Q:fx_position 1000, Dr Q:fx_position 108000 USDT, Cr L:partner:1:available 108000 USDT*": convertingTerms(feeDeducted(0, "0"), rub, tron, "0.0108"),
	} {
		sc := newScenario(t, payment.Payment, "1000", terminalTerms)
		sc.want(sc.onAnswer(answers["charged"]), "process charging", "settle charged: posted "+want, "final")
	}
}

func TestAConvertedPayoutIsCapturedInBothAssets(t *testing.T) {
	const feeDeductedPostings = "Dr L:partner:1:available 100000, Cr Q:fx_position 99000, Dr Q:fx_position 10692000 USDT, Cr A:provider 10692000 USDT, Cr I:fees 1000"
	sc := newScenario(t, payment.Payout, "100000", convertingTerms(feeDeducted(100, "0"), rub, tron, "0.0108"))
	sc.want(sc.onAnswer(answers["charged"]), "process charging", "settle charged: capture "+feeDeductedPostings+" for "+feeDeductedPostings, "final")
	sc = newScenario(t, payment.Payout, "100000", convertingTerms(feeOnTop(100, "0"), rub, tron, "0.0108"))
	const feeOnTopPostings = "Dr L:partner:1:available 101000, Cr Q:fx_position 100000, Dr Q:fx_position 10800000 USDT, Cr A:provider 10800000 USDT, Cr I:fees 1000"
	sc.want(sc.onAnswer(answers["refused"]), "decline rejected: void "+feeOnTopPostings, "release 102000, release 10800000 "+tron.String()+", final")
}

// Refunds and reversals use the charge's rate. The total returned at the destination is the total returned at the
// source, converted and rounded down.
func TestConvertedRefundsInParts(t *testing.T) {
	for _, c := range []struct {
		refundCase
		from, to money.Asset
		rate     string
	}{
		// The totals are floor(98 × 0.333) = 32, floor(486 × 0.333) = 161 and floor(972 × 0.333) = 323. Each part is a
		// difference of totals: 32, 129 and 162.
		{refundCase{"the fee goes back", "1000", refundable(feeDeducted(250, "3")), []refundPart{
			{"100", "100", "Cr A:provider 100, Dr Q:fx_position 98, Cr Q:fx_position 32 RUB, Dr L:partner:1:available 32 RUB, Dr I:fees 2",
				"Cr A:provider 100, Dr Q:fx_position 98, Cr Q:fx_position 32 RUB, Dr L:partner:1:available 32 RUB*, Dr I:fees 2", "102, reserve 32 " + rub.String()},
			{"400", "400", "Cr A:provider 400, Dr Q:fx_position 388, Cr Q:fx_position 129 RUB, Dr L:partner:1:available 129 RUB, Dr I:fees 12",
				"Cr A:provider 400, Dr Q:fx_position 388, Cr Q:fx_position 129 RUB, Dr L:partner:1:available 129 RUB*, Dr I:fees 12", "412, reserve 129 " + rub.String()},
			{"", "500", "Cr A:provider 500, Dr Q:fx_position 486, Cr Q:fx_position 162 RUB, Dr L:partner:1:available 162 RUB, Dr I:fees 14",
				"Cr A:provider 500, Dr Q:fx_position 486, Cr Q:fx_position 162 RUB, Dr L:partner:1:available 162 RUB*, Dr I:fees 14", "514, reserve 162 " + rub.String()},
		}}, usd, rub, "0.333"},
		// The refund takes back 333, although only 323 arrived, because the terminal does not return the fee.
		{refundCase{"the fee stays", "1000", feeDeducted(250, "3"), []refundPart{
			{"", "1000", "Cr A:provider 1000, Dr Q:fx_position 1000, Cr Q:fx_position 333 RUB, Dr L:partner:1:available 333 RUB",
				"Cr A:provider 1000, Dr Q:fx_position 1000, Cr Q:fx_position 333 RUB, Dr L:partner:1:available 333 RUB*", "1000, reserve 333 " + rub.String()},
		}}, usd, rub, "0.333"},
		{refundCase{"on top", "1000", refundable(feeOnTop(250, "3")), []refundPart{
			{"999", "1026", "Cr A:provider 1026, Dr Q:fx_position 999, Cr Q:fx_position 332 RUB, Dr L:partner:1:available 332 RUB, Dr I:fees 27",
				"Cr A:provider 1026, Dr Q:fx_position 999, Cr Q:fx_position 332 RUB, Dr L:partner:1:available 332 RUB*, Dr I:fees 27", "1053, reserve 332 " + rub.String()},
			{"1", "2", "Cr A:provider 2, Dr Q:fx_position 1, Cr Q:fx_position 1 RUB, Dr L:partner:1:available 1 RUB, Dr I:fees 1",
				"Cr A:provider 2, Dr Q:fx_position 1, Cr Q:fx_position 1 RUB, Dr L:partner:1:available 1 RUB*, Dr I:fees 1", "3, reserve 1 " + rub.String()},
		}}, usd, rub, "0.333"},
		// The converted totals are 0.333, 0.999 and 1.332. Nothing is taken back until the total reaches a whole unit.
		{refundCase{"unit by unit", "4", feeDeducted(0, "0"), []refundPart{
			{"1", "1", "Cr A:provider 1, Dr Q:fx_position 1", "Cr A:provider 1, Dr Q:fx_position 1", "1"},
			{"2", "2", "Cr A:provider 2, Dr Q:fx_position 2", "Cr A:provider 2, Dr Q:fx_position 2", "2"},
			{"1", "1", "Cr A:provider 1, Dr Q:fx_position 1, Cr Q:fx_position 1 RUB, Dr L:partner:1:available 1 RUB",
				"Cr A:provider 1, Dr Q:fx_position 1, Cr Q:fx_position 1 RUB, Dr L:partner:1:available 1 RUB*", "1, reserve 1 " + rub.String()},
		}}, usd, rub, "0.333"},
		{refundCase{"USDT to IDR", "1234567", feeDeducted(0, "0"), []refundPart{
			{"234567", "234567", "Cr A:provider 234567, Dr Q:fx_position 234567, Cr Q:fx_position 367109 IDR, Dr L:partner:1:available 367109 IDR",
				"Cr A:provider 234567, Dr Q:fx_position 234567, Cr Q:fx_position 367109 IDR, Dr L:partner:1:available 367109 IDR*", "234567, reserve 367109 " + idr.String()},
			{"", "1000000", "Cr A:provider 1000000, Dr Q:fx_position 1000000, Cr Q:fx_position 1565050 IDR, Dr L:partner:1:available 1565050 IDR",
				"Cr A:provider 1000000, Dr Q:fx_position 1000000, Cr Q:fx_position 1565050 IDR, Dr L:partner:1:available 1565050 IDR*", "1000000, reserve 1565050 " + idr.String()},
		}}, tron, idr, "15650.5"},
		// If the fee took the whole amount, nothing was converted, and a refund converts nothing either.
		{refundCase{"a fee above the amount", "50", refundable(feeDeducted(0, "70")), []refundPart{
			{"20", "20", "Cr A:provider 20, Cr L:partner:1:available 8, Dr I:fees 28", "Cr A:provider 20, Cr L:partner:1:available 8*, Dr I:fees 28", "48"},
			{"", "30", "Cr A:provider 30, Cr L:partner:1:available 12, Dr I:fees 42", "Cr A:provider 30, Cr L:partner:1:available 12*, Dr I:fees 42", "72"},
		}}, usd, rub, "92.5"},
		{refundCase{"a fee that is the amount and stays", "50", feeDeducted(0, "50"), []refundPart{
			{"20", "20", "Cr A:provider 20, Dr L:partner:1:available 20", "Cr A:provider 20, Dr L:partner:1:available 20*", "20"},
		}}, usd, rub, "92.5"},
		{refundCase{"a fee above the amount that stays", "50", feeDeducted(0, "70"), []refundPart{
			{"20", "20", "Cr A:provider 20, Dr L:partner:1:available 20", "Cr A:provider 20, Dr L:partner:1:available 20*", "20"},
		}}, usd, rub, "92.5"},
	} {
		sc := newCharged(t, payment.Payment, c.amount, convertingTerms(c.fees, c.from, c.to, c.rate))
		sc.checkRefunds(c.name, "charged", c.parts)
	}
}

func TestRefusedConvertedRefundReleasesBothAssets(t *testing.T) {
	sc := newCharged(t, payment.Payment, "1000", convertingTerms(refundable(feeDeducted(250, "3")), usd, rub, "0.333"))
	sc.refund("100")
	sc.want(sc.onOpAnswer(answers["refused"]),
		"refund_refused charged: void Cr A:provider 100, Dr Q:fx_position 98, Cr Q:fx_position 32 RUB, Dr L:partner:1:available 32 RUB, Dr I:fees 2",
		"release 102, release 32 "+rub.String())
}

// A reversal takes back what the partner got at the destination, less what refunds have taken back. If refunds have taken
// back more than the partner got, the partner gets the difference.
func TestConvertedReversalIsTheUnrefundedRest(t *testing.T) {
	for _, c := range []struct {
		name    string
		fees    payment.Fees
		refund  string
		entry   string
		figures string // amounts of the return, formatted by amountsText
	}{
		{"nothing refunded", feeDeducted(250, "3"), "",
			"Cr A:provider 1000, Dr Q:fx_position 972, Cr Q:fx_position 323 RUB, Dr L:partner:1:available 323 RUB*, Dr I:fees 28", "1000 323 972 28"},
		{"a part, its fee too", refundable(feeDeducted(250, "3")), "100",
			"Cr A:provider 900, Dr Q:fx_position 874, Cr Q:fx_position 291 RUB, Dr L:partner:1:available 291 RUB*, Dr I:fees 26", "900 291 874 26"},
		{"nearly all, its fee not", feeDeducted(250, "3"), "990",
			"Cr A:provider 10, Cr Q:fx_position 18, Dr Q:fx_position 6 RUB, Cr L:partner:1:available 6 RUB*, Dr I:fees 28", "10 0 -18 28"},
		{"on top, its fee not", feeOnTop(250, "3"), "999",
			"Cr A:provider 29, Dr Q:fx_position 1, Cr Q:fx_position 1 RUB, Dr L:partner:1:available 1 RUB*, Dr I:fees 28", "29 1 1 28"},
		{"nothing crossed, a part refunded", feeDeducted(0, "1020"), "400",
			"Cr A:provider 600, Cr L:partner:1:available 420*, Dr I:fees 1020", "600 0 -420 1020"},
	} {
		sc := newCharged(t, payment.Payment, "1000", convertingTerms(c.fees, usd, rub, "0.333"))
		if c.refund != "" {
			sc.refund(c.refund)
			sc.onOpAnswer(answers["charged"])
		}
		d, ok := sc.context.DecideReversal(sc.record, 7, otherID, payment.Failure{})
		if !ok {
			t.Fatalf("%s: not reversed", c.name)
		}
		sc.want(d, "reverse reversed", "final", "return: return charged: posted "+c.entry+" reverses 7", "return: final")
		if got := amountsText(d.Return.Record); got != c.figures || d.Return.Record.DestAsset() != rub {
			t.Errorf("%s: the return shows %s of %v, want %s", c.name, got, d.Return.Record.DestAsset(), c.figures)
		}
		if err := d.Return.Events[0].Entry.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
