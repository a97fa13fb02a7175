package payment_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// books is the naive ledger that decisions are tried against: sums of postings
// on unbounded integers, and the headroom counter.
type books struct {
	t         *rapid.T
	posted    map[string]*big.Int // side and account → sum
	pending   map[string]*big.Int
	headroom  *big.Int
	pays, all *big.Int // what reserves were, of what was charged and of everything
}

func newBooks(t *rapid.T) *books {
	return &books{t: t, posted: map[string]*big.Int{}, pending: map[string]*big.Int{}, headroom: new(big.Int), pays: new(big.Int), all: new(big.Int)}
}

func number(a money.Amount) *big.Int {
	n, ok := new(big.Int).SetString(a.String(), 10)
	if !ok {
		panic(a)
	}
	return n
}

func move(sums map[string]*big.Int, p *ledger.Posting, sign int64) {
	k := p.Side.String() + " " + string(p.Account) + " " + p.Asset.String()
	if sums[k] == nil {
		sums[k] = new(big.Int)
	}
	sums[k].Add(sums[k], new(big.Int).Mul(number(p.Amount), big.NewInt(sign)))
}

// take books a decision as the writer would.
func (b *books) take(d *payment.Decision) {
	for i := range d.Events {
		e := d.Events[i].Entry
		if e == nil {
			continue
		}
		if err := e.Check(); err != nil {
			b.t.Fatalf("%s: %v", d.Events[i].Name, err)
		}
		for n := range e.Postings {
			switch p := &e.Postings[n]; e.Phase {
			case ledger.Posted, ledger.Capture:
				move(b.posted, p, 1)
			case ledger.Pending:
				move(b.pending, p, 1)
			case ledger.Void:
				move(b.pending, p, -1)
			}
		}
		for n := range e.Released {
			move(b.pending, &e.Released[n], -1)
		}
	}
	for _, c := range d.Counters {
		if c.Org != cas.Org || c.Key != ledger.Headroom(cas.Org, d.Record.Asset, money.Amount{}).Key {
			b.t.Fatalf("the counter %s is not that of %v", c.Key, d.Record.Asset)
		}
		if c.Release {
			b.headroom.Sub(b.headroom, number(c.Add))
		} else {
			b.headroom.Add(b.headroom, number(c.Add))
		}
	}
	if d.Return != nil {
		b.take(d.Return)
	}
}

// Whatever is asked for, whatever the terms and the answers: entries balance,
// nothing stays held, what is reserved is given back exactly when no money moved,
// and no total is ever above the reserves that were taken for it.
func TestReservesAndHoldsComeOutEvenOnEveryPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBooks(t)
		for range rapid.IntRange(1, 4).Draw(t, "transactions") {
			b.live()
		}
		if b.headroom.Sign() < 0 || b.headroom.Cmp(b.pays) != 0 {
			t.Fatalf("headroom is %v, charged transactions reserved %v", b.headroom, b.pays)
		}
		for k, sum := range b.posted {
			if sum.Sign() < 0 || sum.Cmp(b.all) > 0 {
				t.Fatalf("%s: %v, all that was reserved is %v", k, sum, b.all)
			}
		}
		for k, sum := range b.pending {
			if sum.Sign() != 0 {
				t.Fatalf("%s: %v is still held", k, sum)
			}
		}
	})
}

// live takes one transaction from its create to its end.
func (b *books) live() {
	t := b.t
	r := request(rapid.SampledFrom([]payment.Type{payment.Payment, payment.Payout}).Draw(t, "type"), anyAmount(t, "amount"))
	asset := money.Asset{Currency: "USDT", Env: money.Prod}
	r.Asset = asset
	if rapid.Bool().Draw(t, "resolved by the terminal") {
		asset.Network = "tron"
	}
	bps, err := money.ParseBasisPoints(rapid.SampledFrom([]string{"0", "1", "250", "10000", "25000"}).Draw(t, "bps"))
	if err != nil {
		t.Fatal(err)
	}
	terms := payment.Terms{Terminal: term, Route: "simulator", Asset: asset, FeeBps: bps, FeeOnTop: rapid.Bool().Draw(t, "on top"),
		FeeFixed: money.MustParse(rapid.SampledFrom([]string{"0", "1", "70", ledger.MaxAmount.String()}).Draw(t, "fixed"))}
	id := uuid.UUID{4}
	d := cas.Create(id, 1, r, terms)
	before := new(big.Int).Set(b.headroom)
	b.take(&d)
	reserved := new(big.Int).Sub(b.headroom, before)
	b.all.Add(b.all, reserved)
	if d.Record.Status == payment.Rejected {
		if reserved.Sign() != 0 || d.Due != 0 || d.Ask != payment.AskNothing {
			t.Fatalf("rejected, and %v is reserved, due %v, ask %v", reserved, d.Due, d.Ask)
		}
		return
	}
	record := *d.Record
	for tries := 0; !record.Status.Final(); tries++ {
		answer := payment.Answer{
			Verdict: payment.Verdict(rapid.IntRange(int(payment.SaidCharged), int(payment.SaidNotKnown)).Draw(t, "verdict")),
			Again:   time.Duration(rapid.Int64Range(-5, 5_000_000).Draw(t, "again")),
		}
		if tries > 20 {
			answer.Verdict = payment.SaidCharged
		}
		next, ok := cas.Answered(&record, answer)
		if !ok || !next.Outcome {
			t.Fatalf("%s: an answer was not decided on", record.Status)
		}
		if waits := !next.Record.Status.Final(); waits != (next.Due > ledger.MicrosOf(now)) || waits == next.Finish {
			t.Fatalf("%s: due %v, finish %v: it stands still, or is asked for ever at one instant", next.Record.Status, next.Due, next.Finish)
		}
		b.take(&next)
		record = *next.Record
	}
	if record.Status != payment.Charged {
		return
	}
	b.pays.Add(b.pays, reserved)
	if back, ok := cas.Reversed(&record, 7, uuid.UUID{5}, "chargeback"); ok != (record.Type == payment.Payment) {
		t.Fatalf("%v reversed: %v", record.Type, ok)
	} else if ok && rapid.Bool().Draw(t, "reversed") {
		b.take(&back)
	}
}

// anyAmount is small, large, or at the limit.
func anyAmount(t *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.StringMatching(`[1-9][0-9]{0,3}`),
		rapid.StringMatching(`[1-9][0-9]{17,71}`),
		rapid.SampledFrom([]string{"1", ledger.MaxAmount.String()}),
	).Draw(t, label)
}

// A return takes back what its charge gave, line by line, whatever the fee was.
func TestAReturnMirrorsEveryLineOfItsCharge(t *testing.T) {
	for name, c := range map[string]struct {
		fixed  string
		onTop  bool
		charge string
		back   string
	}{
		"no fee":       {"0", false, "posted: Dr A:provider 50, Cr L:partner:1:available 50", "posted: Cr A:provider 50, Dr L:partner:1:available 50"},
		"deducted":     {"20", false, "posted: Dr A:provider 50, Cr L:partner:1:available 30, Cr I:fees 20", "posted: Cr A:provider 50, Dr L:partner:1:available 30, Dr I:fees 20"},
		"on top":       {"20", true, "posted: Dr A:provider 70, Cr L:partner:1:available 50, Cr I:fees 20", "posted: Cr A:provider 70, Dr L:partner:1:available 50, Dr I:fees 20"},
		"fee = amount": {"50", false, "posted: Dr A:provider 50, Cr I:fees 50", "posted: Cr A:provider 50, Dr I:fees 50"},
		"fee > amount": {"70", false, "posted: Dr A:provider 50, Dr L:partner:1:available 20, Cr I:fees 70", "posted: Cr A:provider 50, Cr L:partner:1:available 20, Dr I:fees 70"},
	} {
		d := cas.Create(uuid.UUID{2}, 1, request(payment.Payment, "50"), payment.Terms{Terminal: term, Asset: usd, FeeFixed: money.MustParse(c.fixed), FeeOnTop: c.onTop})
		settled, _ := cas.Answered(d.Record, payment.Answer{Verdict: payment.SaidCharged})
		if got := lines(settled.Events[len(settled.Events)-1].Entry); got != c.charge {
			t.Errorf("%s: charged %s, want %s", name, got, c.charge)
		}
		back, ok := cas.Reversed(settled.Record, 9, uuid.UUID{3}, "chargeback")
		if !ok || back.Return == nil {
			t.Fatalf("%s: not reversed", name)
		}
		entry := back.Return.Events[0].Entry
		if got := lines(entry); got != c.back || entry.Reverses != 9 {
			t.Errorf("%s: returned %s, reverses %d, want %s", name, got, entry.Reverses, c.back)
		}
		for i, p := range entry.Postings {
			if want := settled.Events[len(settled.Events)-1].Entry.Postings[i].Spill; p.Spill != want {
				t.Errorf("%s: line %d spills to %q, want %q", name, i, p.Spill, want)
			}
		}
	}
}
