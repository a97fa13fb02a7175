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

// anyBounds draws the bounds of up to three volume limits, some of which count the same subject.
func anyBounds(t *rapid.T) (bounds []payment.Bound) {
	for i := range rapid.IntRange(0, 3).Draw(t, "bounds") {
		b := payment.Bound{Max: ledger.MaxAmount, Breach: payment.Failure{Code: payment.LimitExceeded, Detail: fmt.Sprint(i)}}
		b.Limit, b.Window = uuid.UUID{7, byte(i)}, rapid.SampledFrom([]string{"2026-09-03", "2026-09-04"}).Draw(t, "window")
		b.Subject = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "subject")
		if rapid.IntRange(0, 2).Draw(t, "narrow") == 0 {
			b.Max = money.MustParse(anyAmount(t, "most"))
		}
		bounds = append(bounds, b)
	}
	if rapid.Bool().Draw(t, "shared") {
		payment.PrecomputeVolumes(bounds)
	}
	return bounds
}

// refusal returns why the writer would refuse the decision; zero if the writer would accept it.
func (tx *randomTransaction) refusal(d *payment.Decision) payment.Failure {
	if i, accepted := tx.books.countersAccept(d); !accepted {
		g, breach := &d.Counters[i], d.Breach(i)
		index := slices.IndexFunc(tx.termsBounds, func(b payment.Bound) bool { return strings.Contains(g.Key, b.Limit.String()) })
		if index < 0 && breach.Code != payment.AmountOutOfRange || index >= 0 && breach != tx.termsBounds[index].Breach {
			tx.t.Fatalf("%s refuses, and the reason is %q", g.Key, breach)
		}
		return breach
	}
	if !tx.books.fundsAvailable(d) {
		return payment.Failure{Code: payment.InsufficientBalance}
	}
	return payment.Failure{}
}

// addVolumes adds to want the amount that a pending or settled transaction adds to its volumes. It is the whole amount or the
// captured part.
func addVolumes(want map[string]*big.Int, tx *randomTransaction) {
	amount := number(tx.record.Amount)
	if !tx.record.CapturedAmount.IsZero() {
		amount = number(tx.record.CapturedAmount)
	}
	isSettled := tx.record.Status == payment.Charged || tx.record.Status == payment.Refunding || tx.record.Status == payment.Refunded || tx.record.Status == payment.Reversed
	for _, b := range tx.bounds {
		keySuffix := b.Limit.String() + "/" + b.Window + "/" + b.Subject
		addToCounter(want, "volume/"+keySuffix, amount)
		if isSettled {
			addToCounter(want, "settled/"+keySuffix, amount)
		}
	}
}
