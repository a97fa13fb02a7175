package payment_test

import (
	"testing"

	live "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting"
)

// charging is a decision that passes through an intent, asks the payer to act and ends
// charged: two transitions of which a merchant is notified.
func charging() *payment.Decision {
	return &payment.Decision{Record: new(payment.Record), Events: []ledger.Event{
		{Name: string(payment.Create), To: string(payment.Created)},
		{Name: string(payment.Act), From: string(payment.Authorizing), To: string(payment.ActionRequired)},
		{Name: string(payment.Settle), From: string(payment.ActionRequired), To: string(payment.Charged)},
	}}
}

func wantCounts(t *testing.T, r *payment.Record, counted bool, told, untold uint32) {
	t.Helper()
	if r.Counted != counted || r.Told != told || r.Untold != untold {
		t.Errorf("counted %v: told %d, untold %d; want %v, %d, %d", r.Counted, r.Told, r.Untold, counted, told, untold)
	}
}

func TestTransitionsWithAndWithoutANoticeAreCounted(t *testing.T) {
	webhook := posting.Notice{Event: 2, Channel: posting.Webhook}
	for name, c := range map[string]struct {
		notices      []posting.Notice
		told, untold uint32
	}{
		"nobody is told":                  {nil, 0, 2},
		"one of two is told":              {[]posting.Notice{webhook}, 1, 1},
		"both are told":                   {[]posting.Notice{{Event: 1, Channel: posting.Webhook}, webhook}, 2, 0},
		"operators are no merchants":      {[]posting.Notice{{Event: 2, Channel: posting.Operators}}, 0, 2},
		"operators beside their merchant": {[]posting.Notice{webhook, {Event: 2, Channel: posting.Operators}}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := charging()
			live.CountTold(d, nil, c.notices)
			wantCounts(t, d.Record, true, c.told, c.untold)
		})
	}
}

func TestCountsGoOnFromTheRecordDecidedOn(t *testing.T) {
	d := charging()
	before := &payment.Record{Counted: true, Told: 3, Untold: 4}
	live.CountTold(d, before, []posting.Notice{{Event: 2, Channel: posting.Webhook}})
	wantCounts(t, d.Record, true, 4, 5)
	wantCounts(t, before, true, 3, 4)
}

// The writer may refuse a Change for something that passes.
func TestADecisionThatIsHandedOverOnceMoreIsNotCountedTwice(t *testing.T) {
	d := charging()
	for range 2 {
		live.CountTold(d, &payment.Record{Counted: true, Told: 3}, nil)
	}
	wantCounts(t, d.Record, true, 3, 2)
}

func TestARecordOfAnOlderStoreStaysUncounted(t *testing.T) {
	d := charging()
	live.CountTold(d, new(payment.Record), nil)
	if d.Record.Counted {
		t.Error("what happened before it was counted would be missed")
	}
}
