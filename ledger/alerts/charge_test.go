package alerts

import (
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
)

func amountPointer(n uint64) *money.Amount {
	a := money.FromUint64(n)
	return &a
}

func TestWhichChargesAlert(t *testing.T) {
	for name, c := range map[string]struct {
		amount, fee uint64
		threshold   *money.Amount
		isReturn    bool
		want        Kind // empty: no alert is expected
	}{
		"no threshold":                     {1_000_000, 10, nil, false, ""},
		"below the threshold":              {499, 10, amountPointer(500), false, ""},
		"at the threshold":                 {500, 10, amountPointer(500), false, LargeTransaction},
		"above the threshold":              {501, 10, amountPointer(500), false, LargeTransaction},
		"a threshold of zero":              {1, 0, amountPointer(0), false, LargeTransaction},
		"a fee equal to the amount":        {100, 100, nil, false, ""},
		"a fee above the amount":           {100, 101, nil, false, NegativeRevenue},
		"a fee above, below the threshold": {100, 101, amountPointer(500), false, NegativeRevenue},
		"a fee above, at the threshold":    {500, 501, amountPointer(500), false, LargeWithNegativeRevenue},
		"a return":                         {100, 10, amountPointer(500), true, ""},
		"a large return":                   {500, 10, amountPointer(500), true, LargeTransaction},
		"a return with a fee above":        {100, 101, nil, true, ""},
		"a large return with a fee above":  {500, 501, amountPointer(500), true, LargeTransaction},
	} {
		charge := Charge{
			ID: ledger.ID{2}, Type: "payment", Amount: money.FromUint64(c.amount), Asset: asset("USD", ""), Fee: money.FromUint64(c.fee),
			Merchant: money.Difference(money.FromUint64(c.amount), money.FromUint64(c.fee)),
		}
		if c.isReturn {
			charge.ReversalOf = ledger.ID{3}
		}
		m, alerted := charge.Alert(testTerminal, c.threshold)
		if alerted != (c.want != "") || m.Kind != c.want {
			t.Errorf("%s: %q (%v), want %q", name, m.Kind, alerted, c.want)
		}
	}
}

// If the payer pays the fee on top of the amount, the merchant gets the whole amount.
func TestAFeeOnTopIsNoNegativeRevenue(t *testing.T) {
	charge := Charge{Amount: money.FromUint64(5), Fee: money.FromUint64(9), Merchant: money.Signed{Abs: money.FromUint64(5)}, Asset: asset("USD", "")}
	if m, alerted := charge.Alert(testTerminal, nil); alerted {
		t.Errorf("the message is %+v", m)
	}
}

func TestLargeChargeMessage(t *testing.T) {
	charge := Charge{
		ID: ledger.ID{2}, Type: "payout", Amount: money.FromUint64(2_000_000), Asset: asset("USDT", "tron"), Fee: money.FromUint64(5_000_000),
		Merchant: money.Difference(money.FromUint64(2_000_000), money.FromUint64(5_000_000)), At: 1_795_000_000_000_000,
	}
	m, _ := charge.Alert(testTerminal, amountPointer(1_500_000))
	want := Message{
		Kind:    LargeWithNegativeRevenue,
		Subject: `Large payout with negative revenue: 2.000000 USDT on tron (2000000 minor units) at "Main"`,
		Text: `A payout of 2.000000 USDT on tron (2000000 minor units) was charged at 2026-11-18 11:06:40 UTC.
The threshold for large transactions is 1.500000 USDT on tron (1500000 minor units).
Its fee is 5.000000 USDT on tron (5000000 minor units): more than the amount. The merchant's part is -3.000000 USDT on tron (-3000000 minor units).
Transaction: 02000000-0000-0000-0000-000000000000
Where: terminal "Main" (01000000-0000-0000-0000-000000000000), partner 7, test
`,
	}
	if m != want {
		t.Errorf("the message is\n%+v\nwant\n%+v", m, want)
	}
	charge.ReversalOf = ledger.ID{9}
	m, _ = charge.Alert(testTerminal, amountPointer(1))
	if want := `A payout of 2.000000 USDT on tron (2000000 minor units) was charged at 2026-11-18 11:06:40 UTC.
The threshold for large transactions is 0.000001 USDT on tron (1 minor units).
It returns transaction 09000000-0000-0000-0000-000000000000, which the rail took back.
Transaction: 02000000-0000-0000-0000-000000000000
Where: terminal "Main" (01000000-0000-0000-0000-000000000000), partner 7, test
`; m.Text != want {
		t.Errorf("the message about a return is\n%s\nwant\n%s", m.Text, want)
	}
}
