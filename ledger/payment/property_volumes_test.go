package payment_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// anyBounds returns up to three limits' volumes, some with a subject in common.
func anyBounds(t *rapid.T) (all []payment.Bound) {
	for i := range rapid.IntRange(0, 3).Draw(t, "bounds") {
		b := payment.Bound{Max: ledger.MaxAmount, Breach: payment.Failure{Code: payment.LimitExceeded, Detail: fmt.Sprint(i)}}
		b.Limit, b.Window = uuid.UUID{7, byte(i)}, rapid.SampledFrom([]string{"2026-09-03", "2026-09-04"}).Draw(t, "window")
		b.Subject = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "subject")
		if rapid.IntRange(0, 2).Draw(t, "narrow") == 0 {
			b.Max = money.MustParse(anyAmount(t, "most"))
		}
		all = append(all, b)
	}
	if rapid.Bool().Draw(t, "shared") {
		payment.Share(all)
	}
	return all
}

// refusal returns why the writer would refuse a command; zero if it would not.
func (o *randomTransaction) refusal(d *payment.Decision) payment.Failure {
	if i, accepted := o.b.countersAccept(d); !accepted {
		g, breach := &d.Counters[i], d.Breach(i)
		at := slices.IndexFunc(o.termsBounds, func(b payment.Bound) bool { return strings.Contains(g.Key, b.Limit.String()) })
		if at < 0 && breach.Code != payment.AmountOutOfRange || at >= 0 && breach != o.termsBounds[at].Breach {
			o.t.Fatalf("%s refuses, and the reason is %q", g.Key, breach)
		}
		return breach
	}
	if !o.b.fundsAvailable(d) {
		return payment.Failure{Code: payment.InsufficientBalance}
	}
	return payment.Failure{}
}

// addVolumes adds a pending or settled transaction to its volumes: its amount, or the part
// that was captured.
func addVolumes(want map[string]*big.Int, o *randomTransaction) {
	amount := number(o.r.Amount)
	if !o.r.Captured.IsZero() {
		amount = number(o.r.Captured)
	}
	settled := o.r.Status == payment.Charged || o.r.Status == payment.Refunding || o.r.Status == payment.Refunded || o.r.Status == payment.Reversed
	for _, b := range o.bounds {
		tail := b.Limit.String() + "/" + b.Window + "/" + b.Subject
		addToCounter(want, "volume/"+tail, amount)
		if settled {
			addToCounter(want, "settled/"+tail, amount)
		}
	}
}
