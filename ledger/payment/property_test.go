package payment_test

import (
	"flag"
	"math/big"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// randomTransaction is a transaction of a random test: its record, what its postings have moved, and the headroom of its
// refunds.
type randomTransaction struct {
	b               *books
	t               *rapid.T
	c               payment.DecisionContext
	r               *payment.Record
	requests        byte
	net             map[ledger.Account]*big.Int
	openRefund      map[string]*big.Int // headroom of the refund under way, by counter
	finishedRefunds map[string]*big.Int // headroom of finished refunds, by counter

	termsBounds []payment.Bound // bounds in the terms of the decision under test
	bounds      []payment.Bound // bounds with which it was sent to a provider
}

// Requests, reports and answers come in random order and under random terms. No decision panics or changes the old
// record. Entries balance and close exactly what was held, and no refund exceeds what settled. The headroom is what
// live and settled transactions need, and volumes are the sums of their amounts. A transaction that was rejected,
// failed, was reversed, or was refunded with its fee has moved nothing in total.
func TestEveryLifeOfATransactionBalances(t *testing.T) {
	if seed := os.Getenv("MIZAN_SEED"); seed != "" { // rapid prints its seed on failure
		if err := flag.Set("rapid.seed", seed); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		b := newBooks(t)
		var all []*randomTransaction
		for i := range rapid.IntRange(1, 3).Draw(t, "transactions") {
			o := &randomTransaction{b: b, t: t, c: testContext, net: map[ledger.Account]*big.Int{}, finishedRefunds: map[string]*big.Int{}}
			all = append(all, o)
			o.begin(uuid.UUID{4, byte(i)})
			checkHeadroom(t, b, all)
			for range rapid.IntRange(0, 20).Draw(t, "steps") {
				o.step()
				checkHeadroom(t, b, all)
			}
			if rapid.Bool().Draw(t, "ends") {
				o.end()
				checkHeadroom(t, b, all)
			}
		}
		for _, o := range all {
			o.end()
		}
		checkHeadroom(t, b, all)
		for id, held := range b.holds {
			t.Fatalf("%v still holds %v", id, held)
		}
		for a, s := range b.accounts {
			if s.pending[ledger.Debit].Sign() != 0 || s.pending[ledger.Credit].Sign() != 0 {
				t.Fatalf("%v: something is held of nothing that is under way", a)
			}
		}
	})
}

// anyAmount draws an amount that is small, large, or the largest possible.
func anyAmount(t *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.StringMatching(`[1-9][0-9]{0,3}`),
		rapid.StringMatching(`[1-9][0-9]{17,71}`),
		rapid.SampledFrom([]string{"1", ledger.MaxAmount.String()}),
	).Draw(t, label)
}

func anyTerms(t *rapid.T, asset money.Asset) *payment.Terms {
	on := &payment.Terms{Terminal: rapid.SampledFrom([]ledger.ID{terminalID, otherID}).Draw(t, "terminal"), Route: "simulator", Asset: asset, HoldTTL: week}
	on.TwoPhase = rapid.Bool().Draw(t, "two-phase")
	on.Fees.Bps = rapid.SampledFrom([]money.BasisPoints{0, 1, 250, 3333, 9999, 10_000, 25_000, money.MaxBasisPoints}).Draw(t, "bps")
	fixed := rapid.OneOf(rapid.SampledFrom([]string{"0", "1", "70"}), rapid.Custom(func(t *rapid.T) string { return anyAmount(t, "fee") })).Draw(t, "fixed")
	on.Fees.Fixed = money.MustParse(fixed)
	on.Fees.OnTop = rapid.Bool().Draw(t, "on top")
	on.Fees.Refundable = rapid.Bool().Draw(t, "refundable")
	on.Bounds = anyBounds(t)
	if !rapid.Bool().Draw(t, "converts") {
		return on
	}
	on.Converts = true
	on.SettlementAsset = rapid.SampledFrom([]money.Asset{rub, idr, tron, bsc, ton}).
		Filter(func(a money.Asset) bool { return a != asset }).Draw(t, "settles")
	rate := rapid.OneOf(rapid.SampledFrom([]string{"1", "0.333", "92.5", "0.0108", "15650.5", "0.00000000000000000001"}),
		rapid.StringMatching(`[1-9][0-9]{0,17}\.[0-9]{0,18}[1-9]`)).Draw(t, "rate")
	var err error
	if on.Rate, err = money.ParseRate(rate); err != nil {
		t.Fatal(err)
	}
	return on
}

// begin creates the transaction: hosted, refused or on a terminal.
func (o *randomTransaction) begin(id ledger.ID) {
	t := o.t
	r := request(rapid.SampledFrom([]payment.Type{payment.Payment, payment.Payout}).Draw(t, "type"), anyAmount(t, "amount"))
	r.Asset = rapid.SampledFrom([]money.Asset{usd, rub, tron, bsc}).Draw(t, "asset")
	if r.Type == payment.Payout && rapid.Bool().Draw(t, "funded") {
		o.b.fund(r.Asset, ledger.MaxAmount)
		o.b.fund(r.Asset, ledger.MaxAmount) // with a fee on top, a payout may exceed the first sum
	}
	if r.Type == payment.Payment && rapid.IntRange(0, 5).Draw(t, "hosted") == 0 {
		o.apply(o.c.Host(id, 1, r))
		return
	}
	on := anyTerms(t, r.Asset)
	o.termsBounds = on.Bounds
	d := o.c.Create(id, 1, r, on)
	if why := o.refusal(&d); !why.IsZero() {
		d = o.c.Reject(id, 1, r, why)
	}
	o.apply(d)
}

// apply books a decision and checks the invariants after it.
func (o *randomTransaction) apply(d payment.Decision) {
	t := o.t
	o.b.apply(&d, o.net)
	o.countRefundHeadroom(&d)
	r := d.Record
	for i := range d.Events {
		if payment.Event(d.Events[i].Name) == payment.Authorise {
			o.bounds = o.termsBounds
		}
	}
	if r.Settled().Less(r.Refunded) || r.Fee.Less(r.RefundedFee) || r.Amount.Less(r.Captured) {
		t.Fatalf("%v of %v captured, %v refunded, %v of the fee %v", r.Captured, r.Amount, r.Refunded, r.RefundedFee, r.Fee)
	}
	if d.Finish && !r.Status.Final() {
		t.Fatalf("%s is no end", r.Status)
	}
	o.checkDue(&d)
	o.r, o.c.Due, o.c.Room = r, d.Due, d.Counters // the counters are booked, so later decisions may overwrite their memory
	o.b.check()
	if nothing := r.Status == payment.Rejected || r.Status == payment.Failed; nothing && !r.SettledLate {
		o.wantNothingMoved(string(r.Status))
	}
	if r.Status == payment.Reversed {
		o.wantNothingMoved("a reversal")
	}
	if r.Refunded == r.Settled() && r.Fees.Refundable {
		o.wantNothingMoved("a refund of everything")
	}
	if r.RefundedFee != (money.Amount{}) && !r.Fees.Refundable {
		t.Fatalf("%v of a fee that stays went back", r.RefundedFee)
	}
}

// checkDue checks that a transaction which still waits for something has a due instant, and that one which is over has
// none.
func (o *randomTransaction) checkDue(d *payment.Decision) {
	r, now := d.Record, ledger.MicrosOf(o.c.Now)
	over := r.Op == nil && (r.Status.Final() || r.Status == payment.Refunded)
	switch {
	case over && r.SettledLate && r.Type == payment.Payment && refundID(r) == (ledger.ID{}): // its money has to be returned
		if d.Due == 0 {
			o.t.Fatalf("%s: nobody gives back what is in suspense", r.Status)
		}
	case over:
		if d.Due != 0 {
			o.t.Fatalf("%s is due at %v", r.Status, d.Due)
		}
	case d.Due > now:
	case r.Status.Held() && d.Due == r.HoldUntil: // the hold lapses at once
	default:
		o.t.Fatalf("%s: due %v at %v: it stands still, or is asked for ever at one instant", r.Status, d.Due, now)
	}
}

func (o *randomTransaction) wantNothingMoved(after string) {
	for a, n := range o.net {
		if n.Sign() != 0 {
			o.t.Fatalf("after %s %v has moved by %v", after, a, n)
		}
	}
}

// countRefundHeadroom counts the headroom that refunds reserve: the provider's amount, the fee once more, and
// the amount at the destination.
func (o *randomTransaction) countRefundHeadroom(d *payment.Decision) {
	for i := range d.Events {
		e := &d.Events[i]
		switch payment.Event(e.Name) {
		case payment.Refund:
			o.openRefund = map[string]*big.Int{}
			for _, p := range e.Entry.Postings {
				source := p.Asset == d.Record.Asset
				if source && (p.Account == ledger.Fees || strings.HasPrefix(string(p.Account), "A:provider:")) || !source && p.Account == ledger.FXPosition {
					addHeadroom(o.openRefund, p.Asset, number(p.Amount))
				}
			}
		case payment.RefundDone:
			for key, n := range o.openRefund {
				addToCounter(o.finishedRefunds, key, n)
			}
			o.openRefund = nil
		case payment.RefundRefused, payment.FurtherRefundRefused:
			o.openRefund = nil
		}
	}
}

func addHeadroom(sums map[string]*big.Int, asset money.Asset, by *big.Int) {
	addToCounter(sums, "headroom/"+asset.String(), by)
}

func addToCounter(sums map[string]*big.Int, key string, by *big.Int) {
	if sums[key] == nil {
		sums[key] = new(big.Int)
	}
	sums[key].Add(sums[key], by)
}

// checkHeadroom checks that the counters equal what the transactions and the funding need.
func checkHeadroom(t *rapid.T, b *books, all []*randomTransaction) {
	want := map[string]*big.Int{}
	for a, s := range b.accounts {
		if a.Path == ledger.Bank {
			addHeadroom(want, a.Asset, &s.posted[ledger.Debit])
		}
	}
	for _, o := range all {
		r := o.r
		closed := r.Status == payment.Rejected || r.Status == payment.Failed
		if o.bounds != nil && !closed {
			addVolumes(want, o)
		}
		if closed && r.SettledLate || !closed && r.Status != payment.Created {
			addHeadroom(want, r.Asset, new(big.Int).Add(number(r.AmountWithFee), number(r.Fee)))
			if !r.Rate.IsZero() {
				addHeadroom(want, r.SettlementAsset, number(r.Dest))
			}
		}
		for _, more := range []map[string]*big.Int{o.openRefund, o.finishedRefunds} {
			for key, n := range more {
				addToCounter(want, key, n)
			}
		}
	}
	for key := range b.counters {
		addToCounter(want, key, new(big.Int))
	}
	for key, n := range want {
		have := b.counters[key]
		if have == nil {
			have = new(big.Int)
		}
		if have.Cmp(n) != 0 {
			t.Fatalf("%s: %v is reserved, the transactions need %v", key, have, n)
		}
	}
}

func (o *randomTransaction) newRequestID() ledger.ID {
	o.requests++
	return uuid.UUID{9, byte(len(o.net)), o.requests, o.r.ID[1]}
}

// deepCopy returns a copy of a record, which stays as it is if a decision changes the record by mistake.
func deepCopy(r *payment.Record) payment.Record {
	f := *r
	if r.Op != nil {
		op := *r.Op
		f.Op = &op
	}
	if r.Action != nil {
		action := *r.Action
		f.Action = &action
	}
	f.Attempts = append([]payment.Attempt(nil), r.Attempts...)
	f.Volumes = append([]payment.Volume(nil), r.Volumes...)
	return f
}

// step tries one action, whether it fits the state or not.
func (o *randomTransaction) step() {
	before, decided := deepCopy(o.r), o.r
	kinds := []func() (payment.Decision, bool){o.answer, o.answer, o.operation, o.operation, o.onDue, o.refund, o.refund, o.cancel, o.commit, o.complete,
		o.reverse, o.correct, o.giveBack, o.resume, o.reroute}
	d, ok := rapid.SampledFrom(kinds).Draw(o.t, "step")()
	if len(before.Attempts) == 0 {
		before.Attempts = decided.Attempts
	}
	if !reflect.DeepEqual(before, *decided) {
		o.t.Fatalf("the record decided on was changed:\n%+v\n%+v", before, *decided)
	}
	if ok {
		o.apply(d)
	}
}

func (o *randomTransaction) anyAnswer() payment.Answer {
	t := o.t
	a := payment.Answer{
		Verdict: payment.Verdict(rapid.IntRange(int(payment.VerdictCharged), int(payment.VerdictNotSent)).Draw(t, "verdict")),
		Again:   time.Duration(rapid.Int64Range(-5, 5_000_000).Draw(t, "again")),
		Failure: payment.Failure{Detail: "why"},
	}
	a.Status = rapid.SampledFrom([]payment.Status{"", "charging", "pre_authorized_3ds", "unknown", "cancelled", "charged"}).Draw(t, "passes")
	if rapid.Bool().Draw(t, "with an action") {
		a.Action = &payment.Action{Type: "redirect"}
	}
	return a
}

func (o *randomTransaction) answer() (payment.Decision, bool) {
	return o.c.Answered(o.r, o.anyAnswer())
}

func (o *randomTransaction) operation() (payment.Decision, bool) {
	id := o.newRequestID()
	if o.r.Op != nil && rapid.IntRange(0, 9).Draw(o.t, "of this operation") > 0 {
		id = o.r.Op.Request
	}
	if op := o.r.Op; op != nil {
		o.r.OperationAmount()
	}
	return o.c.OpAnswered(o.r, id, o.anyAnswer())
}

// onDue decides at the due instant of the record, or at an earlier one, as after a restart.
func (o *randomTransaction) onDue() (payment.Decision, bool) {
	early := rapid.Bool().Draw(o.t, "early")
	if !early && o.c.Due != 0 {
		if at := o.c.Due.Time(); at.After(o.c.Now) {
			o.c.Now = at
		}
	}
	_, d, decided := o.c.OnDue(o.r, early, o.newRequestID())
	return d, decided
}

// drawAmount draws a part of an amount, all of it, or more than it. nil stands for all that is left.
func (o *randomTransaction) drawAmount(all money.Amount) *money.Amount {
	n := number(all)
	switch rapid.IntRange(0, 5).Draw(o.t, "part") {
	case 0:
		return nil
	case 1:
		n = big.NewInt(1)
	case 2:
		n.Div(n, big.NewInt(2))
	case 3:
		n.Sub(n, big.NewInt(1))
		if n.Sign() < 0 {
			return nil
		}
	case 4:
		n.Add(n, big.NewInt(1))
	case 5:
		n.Div(n, big.NewInt(rapid.Int64Range(3, 1000).Draw(o.t, "of")))
	}
	a := amountOf(n)
	return &a
}

func (o *randomTransaction) refund() (payment.Decision, bool) {
	left, err := o.r.Settled().Sub(o.r.Refunded)
	if err != nil {
		o.t.Fatal(err)
	}
	return acceptedDecision(o.c.Refund(o.r, o.drawAmount(left), o.newRequestID()))
}

func (o *randomTransaction) commit() (payment.Decision, bool) {
	return acceptedDecision(o.c.Commit(o.r, o.drawAmount(o.r.Amount), o.newRequestID()))
}

func (o *randomTransaction) cancel() (payment.Decision, bool) {
	return acceptedDecision(o.c.Cancel(o.r, o.newRequestID()))
}

func (o *randomTransaction) complete() (payment.Decision, bool) {
	if rapid.Bool().Draw(o.t, "material") {
		return acceptedDecision(o.c.Submit(o.r, func(string) bool { return rapid.Bool().Draw(o.t, "has it") }, o.newRequestID()))
	}
	return acceptedDecision(o.c.Complete(o.r, o.newRequestID()))
}

func acceptedDecision(d payment.Decision, err error) (payment.Decision, bool) { return d, err == nil }

func (o *randomTransaction) reverse() (payment.Decision, bool) {
	return o.c.DecideReversal(o.r, 7, uuid.UUID{5, o.r.ID[1]}, payment.Failure{})
}

func (o *randomTransaction) correct() (payment.Decision, bool) {
	return o.c.DecideCorrection(o.r, payment.Failure{Detail: "corrected"})
}

func (o *randomTransaction) giveBack() (payment.Decision, bool) {
	return o.c.DecideSuspenseRefund(o.r, o.newRequestID())
}

// resume continues a hosted transaction.
func (o *randomTransaction) resume() (payment.Decision, bool) {
	if !o.r.AwaitsPayer() {
		return payment.Decision{}, false
	}
	if rapid.IntRange(0, 3).Draw(o.t, "no terminal") == 0 {
		return o.c.RefuseContinue(o.r, payment.Credentials{Method: "sbp"}, payment.Failure{Code: payment.NoTerminal}), true
	}
	on := anyTerms(o.t, o.r.Asset)
	o.termsBounds = on.Bounds
	d := o.c.Continue(o.r, payment.Credentials{Method: "sbp"}, on)
	if why := o.refusal(&d); !why.IsZero() {
		d = o.c.RefuseContinue(o.r, payment.Credentials{Method: "sbp"}, why)
	}
	return d, true
}

func (o *randomTransaction) reroute() (payment.Decision, bool) {
	a := o.anyAnswer()
	if !payment.Reroutable(o.r, a) {
		return payment.Decision{}, false
	}
	on := anyTerms(o.t, o.r.Asset)
	o.termsBounds = on.Bounds
	d, ok := o.c.Reroute(o.r, a, on)
	return d, ok && o.refusal(&d).IsZero()
}

// end lets the provider answer until the transaction is over, and commits or cancels a hold.
func (o *randomTransaction) end() {
	for range 40 {
		var d payment.Decision
		ok := true
		answer := payment.Answer{Verdict: rapid.SampledFrom([]payment.Verdict{payment.VerdictCharged, payment.VerdictRefused, payment.VerdictFailed}).Draw(o.t, "at last")}
		switch r := o.r; {
		case r.Op != nil && r.Op.Kind != payment.OpComplete:
			d, ok = o.c.OpAnswered(r, r.Op.Request, answer)
		case r.AwaitsPayer():
			d, ok = o.c.RefuseContinue(r, payment.Credentials{}, payment.Failure{Code: payment.NoTerminal}), true
		case r.Status.Held() && rapid.Bool().Draw(o.t, "captured"):
			d, ok = o.commit()
		case r.Status.Held():
			d, ok = o.cancel()
		case r.Status == payment.Refunded, r.Status.Final():
			if d, ok = o.giveBack(); !ok {
				return
			}
		default:
			d, ok = o.c.Answered(r, answer)
		}
		if ok {
			o.apply(d)
		}
	}
	// The provider has refused every capture and every void, so only its own report can end the hold.
	if !o.r.Status.Held() {
		o.t.Fatalf("%s has no end", o.r.Status)
	}
	d, ok := o.c.Answered(o.r, payment.Answer{Verdict: payment.VerdictFailed})
	if o.r.Op != nil {
		if d, ok = o.c.OpAnswered(o.r, o.r.Op.Request, payment.Answer{Verdict: payment.VerdictRefused}); ok {
			o.apply(d)
		}
		d, ok = o.c.Answered(o.r, payment.Answer{Verdict: payment.VerdictFailed})
	}
	if !ok {
		o.t.Fatalf("%s: not decided on", o.r.Status)
	}
	o.apply(d)
}
