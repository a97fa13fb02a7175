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

// randomTransaction is a transaction of a random test. It has the record, the net change of each account by the transaction's
// postings, and the headroom that its refunds reserve.
type randomTransaction struct {
	books           *books
	t               *rapid.T
	context         payment.DecisionContext
	record          *payment.Record
	requests        byte
	net             map[ledger.Account]*big.Int
	openRefund      map[string]*big.Int // headroom of the refund under way, by counter
	finishedRefunds map[string]*big.Int // headroom of finished refunds, by counter

	termsBounds []payment.Bound // volume limits' bounds in the terms of the decision under test
	bounds      []payment.Bound // volume limits' bounds when the transaction was last sent to a provider
}

// Requests, reports and answers come in random order and under random terms. No decision panics or changes the old
// record. Entries balance and release exactly the held amounts, and no refund exceeds the settled amount. The reserved
// headroom equals the need of pending and settled transactions, and volumes are the sums of their amounts. A rejected,
// failed or reversed transaction has moved nothing in total, and neither has a transaction that was refunded with its fee.
func TestEveryLifeOfATransactionBalances(t *testing.T) {
	if seed := os.Getenv("MIZAN_SEED"); seed != "" { // rapid prints its seed on failure
		if err := flag.Set("rapid.seed", seed); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		b := newBooks(t)
		var txs []*randomTransaction
		for i := range rapid.IntRange(1, 3).Draw(t, "transactions") {
			tx := &randomTransaction{books: b, t: t, context: testContext, net: map[ledger.Account]*big.Int{}, finishedRefunds: map[string]*big.Int{}}
			txs = append(txs, tx)
			tx.begin(uuid.UUID{4, byte(i)})
			checkHeadroom(t, b, txs)
			for range rapid.IntRange(0, 20).Draw(t, "steps") {
				tx.step()
				checkHeadroom(t, b, txs)
			}
			if rapid.Bool().Draw(t, "ends") {
				tx.end()
				checkHeadroom(t, b, txs)
			}
		}
		for _, tx := range txs {
			tx.end()
		}
		checkHeadroom(t, b, txs)
		for id, held := range b.holds {
			t.Fatalf("%v still holds %v", id, held)
		}
		for a, s := range b.accounts {
			if s.pending[ledger.Debit].Sign() != 0 || s.pending[ledger.Credit].Sign() != 0 {
				t.Fatalf("%v: money is held although no transaction is under way", a)
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
	terminalTerms := &payment.Terms{Terminal: rapid.SampledFrom([]ledger.ID{terminalID, otherID}).Draw(t, "terminal"), Route: "simulator", Asset: asset, HoldTTL: week}
	terminalTerms.TwoPhase = rapid.Bool().Draw(t, "two-phase")
	terminalTerms.Fees.Bps = rapid.SampledFrom([]money.BasisPoints{0, 1, 250, 3333, 9999, 10_000, 25_000, money.MaxBasisPoints}).Draw(t, "bps")
	fixed := rapid.OneOf(rapid.SampledFrom([]string{"0", "1", "70"}), rapid.Custom(func(t *rapid.T) string { return anyAmount(t, "fee") })).Draw(t, "fixed")
	terminalTerms.Fees.Fixed = money.MustParse(fixed)
	terminalTerms.Fees.OnTop = rapid.Bool().Draw(t, "on top")
	terminalTerms.Fees.Refundable = rapid.Bool().Draw(t, "refundable")
	terminalTerms.Bounds = anyBounds(t)
	terminalTerms.HostedAttempts = uint8(rapid.IntRange(1, 4).Draw(t, "attempts"))
	if !rapid.Bool().Draw(t, "converts") {
		return terminalTerms
	}
	terminalTerms.Converts = true
	terminalTerms.SettlementAsset = rapid.SampledFrom([]money.Asset{rub, idr, tron, bsc, ton}).
		Filter(func(a money.Asset) bool { return a != asset }).Draw(t, "settles")
	rate := rapid.OneOf(rapid.SampledFrom([]string{"1", "0.333", "92.5", "0.0108", "15650.5", "0.00000000000000000001"}),
		rapid.StringMatching(`[1-9][0-9]{0,17}\.[0-9]{0,18}[1-9]`)).Draw(t, "rate")
	var err error
	if terminalTerms.Rate, err = money.ParseRate(rate); err != nil {
		t.Fatal(err)
	}
	return terminalTerms
}

// begin creates the transaction: hosted, refused or on a terminal.
func (tx *randomTransaction) begin(id ledger.ID) {
	t := tx.t
	r := request(rapid.SampledFrom([]payment.Type{payment.Payment, payment.Payout}).Draw(t, "type"), anyAmount(t, "amount"))
	r.Asset = rapid.SampledFrom([]money.Asset{usd, rub, tron, bsc}).Draw(t, "asset")
	if r.Type == payment.Payout && rapid.Bool().Draw(t, "funded") {
		tx.books.fund(r.Asset, ledger.MaxAmount)
		tx.books.fund(r.Asset, ledger.MaxAmount) // if the payer pays the fee on top, a payout may exceed the first sum
	}
	if r.Type == payment.Payment && rapid.IntRange(0, 2).Draw(t, "hosted") == 0 {
		tx.apply(tx.context.Host(id, 1, r))
		return
	}
	terminalTerms := anyTerms(t, r.Asset)
	tx.termsBounds = terminalTerms.Bounds
	d := tx.context.Create(id, 1, r, terminalTerms)
	if why := tx.refusal(&d); !why.IsZero() {
		d = tx.context.Reject(id, 1, r, why)
	}
	tx.apply(d)
}

// apply books a decision and checks the invariants after it.
func (tx *randomTransaction) apply(d payment.Decision) {
	t := tx.t
	tx.books.apply(&d, tx.net)
	tx.countRefundHeadroom(&d)
	r := d.Record
	for i := range d.Events {
		switch payment.Event(d.Events[i].Name) {
		case payment.Authorise:
			tx.bounds = tx.termsBounds
		case payment.EndAttempt:
			tx.bounds = nil
		}
	}
	if r.SettledAmount().Less(r.RefundedAmount) || r.Fee.Less(r.RefundedFee) || r.Amount.Less(r.CapturedAmount) {
		t.Fatalf("%v of %v captured, %v refunded, %v of the fee %v", r.CapturedAmount, r.Amount, r.RefundedAmount, r.RefundedFee, r.Fee)
	}
	if d.IsFinal && !r.Status.IsFinal() {
		t.Fatalf("%s is not a final status", r.Status)
	}
	tx.checkDue(&d)
	tx.record, tx.context.Due, tx.context.CounterBuffer = r, d.Due, d.Counters // the counters are booked, so later decisions may overwrite their memory
	tx.books.check()
	if closed := r.Status == payment.Rejected || r.Status == payment.Failed; closed && !r.LateSettlement {
		tx.wantNothingMoved(string(r.Status))
	}
	tx.checkAttempts(r)
	if r.Status == payment.Reversed {
		tx.wantNothingMoved("a reversal")
	}
	if r.RefundedAmount == r.SettledAmount() && r.Fees.Refundable {
		tx.wantNothingMoved("a refund of everything")
	}
	if r.RefundedFee != (money.Amount{}) && !r.Fees.Refundable {
		t.Fatalf("%v of a fee that is not refundable was returned", r.RefundedFee)
	}
}

// checkDue checks that a transaction that waits for something has a due instant, and that a finished transaction has none.
func (tx *randomTransaction) checkDue(d *payment.Decision) {
	r, now := d.Record, ledger.MicrosOf(tx.context.Now)
	isOver := r.Op == nil && (r.Status.IsFinal() || r.Status == payment.Refunded)
	switch {
	case isOver && r.LateSettlement && !r.LateChargeback && r.Type == payment.Payment && refundID(r) == (ledger.ID{}): // the money on the suspense account has to be returned
		if d.Due == 0 {
			tx.t.Fatalf("%s: money on the suspense account is not returned", r.Status)
		}
	case isOver:
		if d.Due != 0 {
			tx.t.Fatalf("%s is due at %v", r.Status, d.Due)
		}
	case d.Due > now:
	case r.Status.IsHeld() && d.Due == r.HoldUntil: // the hold lapses at once
	default:
		tx.t.Fatalf("%s: due %v at %v: the transaction is never due, or always due at the same instant", r.Status, d.Due, now)
	}
}

func (tx *randomTransaction) wantNothingMoved(after string) {
	for a, n := range tx.net {
		if n.Sign() != 0 {
			tx.t.Fatalf("after %s account %v has changed by %v", after, a, n)
		}
	}
}

// countRefundHeadroom counts the headroom that refunds reserve: the provider's amount, the fee once more, and
// the amount at the destination.
func (tx *randomTransaction) countRefundHeadroom(d *payment.Decision) {
	for i := range d.Events {
		e := &d.Events[i]
		switch payment.Event(e.Name) {
		case payment.Refund:
			tx.openRefund = map[string]*big.Int{}
			for _, p := range e.Entry.Postings {
				inSourceAsset := p.Asset == d.Record.Asset
				if inSourceAsset && (p.Account == ledger.Fees || strings.HasPrefix(string(p.Account), "A:provider:")) || !inSourceAsset && p.Account == ledger.FXPosition {
					addHeadroom(tx.openRefund, p.Asset, number(p.Amount))
				}
			}
		case payment.RefundDone:
			for key, n := range tx.openRefund {
				addToCounter(tx.finishedRefunds, key, n)
			}
			tx.openRefund = nil
		case payment.RefundRefused, payment.RepeatRefundRefused:
			tx.openRefund = nil
		}
	}
}

func addHeadroom(sums map[string]*big.Int, asset money.Asset, amount *big.Int) {
	addToCounter(sums, "headroom/"+asset.String(), amount)
}

func addToCounter(sums map[string]*big.Int, key string, amount *big.Int) {
	if sums[key] == nil {
		sums[key] = new(big.Int)
	}
	sums[key].Add(sums[key], amount)
}

// checkHeadroom checks that the counters of headroom and of volumes equal the sums that the transactions and the funding
// need.
func checkHeadroom(t *rapid.T, b *books, txs []*randomTransaction) {
	want := map[string]*big.Int{}
	for a, s := range b.accounts {
		if a.Path == ledger.Bank {
			addHeadroom(want, a.Asset, &s.posted[ledger.Debit])
		}
	}
	for _, tx := range txs {
		r := tx.record
		closed := r.Status == payment.Rejected || r.Status == payment.Failed
		if tx.bounds != nil && !closed && r.Status != payment.Created {
			addVolumes(want, tx)
		}
		if closed && r.LateSettlement || !closed && r.Status != payment.Created {
			addHeadroom(want, r.Asset, new(big.Int).Add(number(r.AmountWithFee), number(r.Fee)))
			if !r.Rate.IsZero() {
				addHeadroom(want, r.SettlementAsset, number(r.DestAmount))
			}
		}
		for _, headroom := range []map[string]*big.Int{tx.openRefund, tx.finishedRefunds} {
			for key, n := range headroom {
				addToCounter(want, key, n)
			}
		}
	}
	for key := range b.counters {
		addToCounter(want, key, new(big.Int))
	}
	for key, n := range want {
		reserved := b.counters[key]
		if reserved == nil {
			reserved = new(big.Int)
		}
		if reserved.Cmp(n) != 0 {
			t.Fatalf("%s: %v is reserved, the transactions need %v", key, reserved, n)
		}
	}
}

func (tx *randomTransaction) newRequestID() ledger.ID {
	tx.requests++
	return uuid.UUID{9, byte(len(tx.net)), tx.requests, tx.record.ID[1]}
}

// deepCopy returns a copy that shares no memory with the record. So the copy shows whether a decision changed the record by
// mistake.
func deepCopy(r *payment.Record) payment.Record {
	copied := *r
	if r.Op != nil {
		op := *r.Op
		copied.Op = &op
	}
	if r.Action != nil {
		action := *r.Action
		copied.Action = &action
	}
	copied.Attempts = append([]payment.Attempt(nil), r.Attempts...)
	copied.Volumes = append([]payment.Volume(nil), r.Volumes...)
	return copied
}

// step tries one action. The record's status may or may not allow the action.
func (tx *randomTransaction) step() {
	before, oldRecord := deepCopy(tx.record), tx.record
	actions := []func() (payment.Decision, bool){tx.onAnswer, tx.onAnswer, tx.onOpAnswer, tx.onOpAnswer, tx.onDue, tx.refund, tx.refund, tx.cancel, tx.commit, tx.complete,
		tx.reverse, tx.correct, tx.giveBack, tx.resume, tx.resume, tx.reroute, tx.cancelByPayer}
	d, ok := rapid.SampledFrom(actions).Draw(tx.t, "step")()
	if len(before.Attempts) == 0 {
		before.Attempts = oldRecord.Attempts
	}
	if !reflect.DeepEqual(before, *oldRecord) {
		tx.t.Fatalf("the decision changed the old record:\n%+v\n%+v", before, *oldRecord)
	}
	if ok {
		tx.apply(d)
	}
}

func (tx *randomTransaction) anyAnswer() payment.ProviderAnswer {
	t := tx.t
	a := payment.ProviderAnswer{
		Verdict:       payment.Verdict(rapid.IntRange(int(payment.VerdictCharged), int(payment.VerdictNotSent)).Draw(t, "verdict")),
		NextInquiryIn: time.Duration(rapid.Int64Range(-5, 5_000_000).Draw(t, "again")),
		Failure:       payment.Failure{Detail: "why"},
		MayArrive:     rapid.Bool().Draw(t, "may arrive"),
	}
	a.Status = rapid.SampledFrom([]payment.Status{"", "charging", "pre_authorized_3ds", "unknown", "cancelled", "charged"}).Draw(t, "passes")
	if rapid.Bool().Draw(t, "with an action") {
		a.Action = &payment.Action{Type: "redirect"}
	}
	return a
}

func (tx *randomTransaction) onAnswer() (payment.Decision, bool) {
	return tx.context.DecideProviderAnswer(tx.record, tx.anyAnswer())
}

func (tx *randomTransaction) onOpAnswer() (payment.Decision, bool) {
	id := tx.newRequestID()
	if tx.record.Op != nil && rapid.IntRange(0, 9).Draw(tx.t, "of this operation") > 0 {
		id = tx.record.Op.ID
	}
	if op := tx.record.Op; op != nil {
		tx.record.OperationAmount()
	}
	return tx.context.DecideOpAnswer(tx.record, id, tx.anyAnswer())
}

// onDue calls OnDue at the record's due instant, or earlier, as after a restart.
func (tx *randomTransaction) onDue() (payment.Decision, bool) {
	early := rapid.Bool().Draw(tx.t, "early")
	if !early && tx.context.Due != 0 {
		if at := tx.context.Due.Time(); at.After(tx.context.Now) {
			tx.context.Now = at
		}
	}
	_, d, decided := tx.context.OnDue(tx.record, early, tx.newRequestID())
	return d, decided
}

// drawAmount draws an amount that is less than the whole, equal to it, or more. The result nil requests all that is left.
func (tx *randomTransaction) drawAmount(whole money.Amount) *money.Amount {
	n := number(whole)
	switch rapid.IntRange(0, 5).Draw(tx.t, "part") {
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
		n.Div(n, big.NewInt(rapid.Int64Range(3, 1000).Draw(tx.t, "of")))
	}
	a := amountOf(n)
	return &a
}

func (tx *randomTransaction) refund() (payment.Decision, bool) {
	remaining, err := tx.record.SettledAmount().Sub(tx.record.RefundedAmount)
	if err != nil {
		tx.t.Fatal(err)
	}
	return acceptedDecision(tx.context.Refund(tx.record, tx.drawAmount(remaining), tx.newRequestID()))
}

func (tx *randomTransaction) commit() (payment.Decision, bool) {
	return acceptedDecision(tx.context.RequestCapture(tx.record, tx.drawAmount(tx.record.Amount), tx.newRequestID()))
}

func (tx *randomTransaction) cancel() (payment.Decision, bool) {
	return acceptedDecision(tx.context.Cancel(tx.record, tx.newRequestID()))
}

func (tx *randomTransaction) cancelByPayer() (payment.Decision, bool) {
	return acceptedDecision(tx.context.CancelByPayer(tx.record, tx.newRequestID()))
}

func (tx *randomTransaction) complete() (payment.Decision, bool) {
	if rapid.Bool().Draw(tx.t, "material") {
		return acceptedDecision(tx.context.Submit(tx.record, func(string) bool { return rapid.Bool().Draw(tx.t, "has it") }, tx.newRequestID()))
	}
	return acceptedDecision(tx.context.Complete(tx.record, tx.newRequestID()))
}

// acceptedDecision returns a decision, and whether the request for it was accepted.
func acceptedDecision(d payment.Decision, err error) (payment.Decision, bool) { return d, err == nil }

func (tx *randomTransaction) reverse() (payment.Decision, bool) {
	if d, ok := tx.context.DecideLateReversal(tx.record); ok {
		return d, true
	}
	return tx.context.DecideReversal(tx.record, 7, uuid.UUID{5, tx.record.ID[1]}, payment.Failure{})
}

func (tx *randomTransaction) correct() (payment.Decision, bool) {
	return tx.context.DecideCorrection(tx.record, payment.Failure{Detail: "corrected"})
}

func (tx *randomTransaction) giveBack() (payment.Decision, bool) {
	return tx.context.DecideSuspenseRefund(tx.record, tx.newRequestID())
}

// resume continues a hosted transaction with the payer's credentials.
func (tx *randomTransaction) resume() (payment.Decision, bool) {
	if !tx.record.AwaitsPayer() {
		return payment.Decision{}, false
	}
	if rapid.IntRange(0, 3).Draw(tx.t, "no terminal") == 0 {
		return tx.context.RefuseContinue(tx.record, payment.Credentials{Method: "sbp"}, payment.Failure{Code: payment.NoTerminal}), true
	}
	terminalTerms := anyTerms(tx.t, tx.record.Asset)
	tx.termsBounds = terminalTerms.Bounds
	d := tx.context.Continue(tx.record, payment.Credentials{Method: "sbp"}, terminalTerms, tx.newRequestID())
	if why := tx.refusal(&d); !why.IsZero() {
		d = tx.context.RefuseContinue(tx.record, payment.Credentials{Method: "sbp"}, why)
	}
	return d, true
}

func (tx *randomTransaction) reroute() (payment.Decision, bool) {
	a := tx.anyAnswer()
	if !payment.Reroutable(tx.record, a) {
		return payment.Decision{}, false
	}
	terminalTerms := anyTerms(tx.t, tx.record.Asset)
	tx.termsBounds = terminalTerms.Bounds
	d, ok := tx.context.Reroute(tx.record, a, terminalTerms)
	return d, ok && tx.refusal(&d).IsZero()
}

// end lets the provider answer until the transaction is over, and commits or cancels a hold.
func (tx *randomTransaction) end() {
	for range 40 {
		var d payment.Decision
		ok := true
		answer := payment.ProviderAnswer{Verdict: rapid.SampledFrom([]payment.Verdict{payment.VerdictCharged, payment.VerdictRefused, payment.VerdictFailed}).Draw(tx.t, "at last")}
		switch r := tx.record; {
		case r.Op != nil && r.Op.Kind != payment.OpComplete:
			d, ok = tx.context.DecideOpAnswer(r, r.Op.ID, answer)
		case r.AwaitsPayer():
			d, ok = tx.context.RefuseContinue(r, payment.Credentials{}, payment.Failure{Code: payment.NoTerminal}), true
		case r.Status.IsHeld() && rapid.Bool().Draw(tx.t, "captured"):
			d, ok = tx.commit()
		case r.Status.IsHeld():
			d, ok = tx.cancel()
		case r.Status == payment.Refunded, r.Status.IsFinal():
			if d, ok = tx.giveBack(); !ok {
				return
			}
		default:
			d, ok = tx.context.DecideProviderAnswer(r, answer)
		}
		if ok {
			tx.apply(d)
		}
	}
	// The provider has refused every capture and every void. So only a report from the provider can end the hold.
	if !tx.record.Status.IsHeld() {
		tx.t.Fatalf("the transaction never ends: it is %s", tx.record.Status)
	}
	d, ok := tx.context.DecideProviderAnswer(tx.record, payment.ProviderAnswer{Verdict: payment.VerdictFailed})
	if tx.record.Op != nil {
		if d, ok = tx.context.DecideOpAnswer(tx.record, tx.record.Op.ID, payment.ProviderAnswer{Verdict: payment.VerdictRefused}); ok {
			tx.apply(d)
		}
		d, ok = tx.context.DecideProviderAnswer(tx.record, payment.ProviderAnswer{Verdict: payment.VerdictFailed})
	}
	if !ok {
		tx.t.Fatalf("%s: not decided on", tx.record.Status)
	}
	tx.apply(d)
}
