package contract

import (
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
)

// world is a case's surroundings: contracts of one organization, and what their
// entries have left on the accounts.
type world struct {
	t     *testing.T
	now   ledger.Micros
	debit map[ledger.Path]money.Amount
	other map[ledger.Path]money.Amount
}

func newWorld(t *testing.T, today string) *world {
	day, ok := ParseDate(today)
	if !ok {
		t.Fatalf("no date: %s", today)
	}
	return &world{t: t, now: at(day) + 12*3600*1_000_000, debit: map[ledger.Path]money.Amount{}, other: map[ledger.Path]money.Amount{}}
}

// book books a decision's entries.
func (w *world) book(d *Decision) {
	w.t.Helper()
	for i := range d.Events {
		e := d.Events[i].Entry
		if e == nil {
			continue
		}
		if err := e.Check(); err != nil {
			w.t.Fatalf("%s: %v", d.Events[i].Name, err)
		}
		for _, p := range e.Postings {
			side := w.debit
			if p.Side == ledger.Credit {
				side = w.other
			}
			side[p.Account] = must(side[p.Account].Add(p.Amount))
		}
	}
}

// balance is what an account holds on its normal side.
func (w *world) balance(path ledger.Path) money.Signed {
	if path.NormalSide() == ledger.Debit {
		return money.Difference(w.debit[path], w.other[path])
	}
	return money.Difference(w.other[path], w.debit[path])
}

// agrees checks that a contract's columns say what its accounts hold.
func (w *world) agrees(r *Record) {
	w.t.Helper()
	for _, h := range r.Product.Holdings(r) {
		if got := w.balance(h.Account); got != (money.Signed{Abs: h.Amount}) {
			w.t.Fatalf("%s holds %v, and the %s contract says %v", h.Account, got, r.Status, h.Amount)
		}
	}
}

func (w *world) open(p *Product, reading *Reading, given Given) *Record {
	w.t.Helper()
	d, err := Open(Proposal{ID: uuid.New(), Product: p, Reading: reading, Env: money.Prod, Given: given, Now: w.now})
	if err != nil {
		w.t.Fatal(err)
	}
	w.book(&d)
	w.agrees(d.Record)
	return d.Record
}

func (w *world) act(r *Record, name Action, given Given) *Record {
	w.t.Helper()
	d, err := r.Act(name, given, w.now)
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	w.book(&d)
	w.agrees(d.Record)
	return d.Record
}

func given(pairs ...string) Given {
	g := make(Given)
	for i := 0; i < len(pairs); i += 2 {
		g[pairs[i]] = []byte(pairs[i+1])
	}
	return g
}

const someone = `"5d0d1a52-6f3e-4a43-9d9e-6a4bd8f6c001"`

func TestADiminishingPartnershipIsBoughtOut(t *testing.T) {
	w := newWorld(t, "2026-01-10")
	r := w.open(Partnership, Secular, given("customer_id", someone, "region", `"AE"`, "partnership_type", `"diminishing"`,
		"total_value", `"1000"`, "bank_contribution", `"800"`, "customer_contribution", `"200"`,
		"profit_sharing_ratio", `{"bank":60,"customer":40}`, "term_months", "3"))
	r = w.act(r, Fund, nil)
	r = w.act(r, Activate, nil)
	r = w.act(r, Profit, given("gross_profit", `"101"`, "period_end_date", `"2026-02-09"`))
	r = w.act(r, Loss, given("amount", `"100"`))
	for range 3 {
		r = w.act(r, Buyout, nil)
	}
	if r.Status != Completed || pnTheirPercent.Of(r.Values) != 100 {
		t.Errorf("%s with %d%%", r.Status, pnTheirPercent.Of(r.Values))
	}
}

func TestAnIssueIsRedeemed(t *testing.T) {
	w := newWorld(t, "2026-01-10")
	r := w.open(Certificate, Religious, given("name", `"Tower"`, "region", `"MY"`, "backing_type", `"lease"`, "underlying_asset", `"an office tower"`,
		"underlying_asset_value", `1000`, "total_value", `1000`, "certificate_value", `10`, "expected_yield", "5", "maturity_months", "1",
		"subscription_start", `"2026-01-01"`, "subscription_end", `"2026-12-01"`))
	r = w.act(r, Pass, given("approved_by", `"board"`, "fatwa_reference", `"F-1"`))
	r = w.act(r, Offer, nil)
	for range 70 {
		r = w.act(r, Subscribe, given("investor_id", `"`+uuid.NewString()+`"`, "certificates", "1"))
	}
	r = w.act(r, Activate, nil)
	r = w.act(r, Profit, given("total_profit", `101`))
	w.now += 31 * 24 * 3600 * 1_000_000
	r = w.act(r, Mature, nil)
	r = w.act(r, Redeem, given("redemption_date", `"2026-02-10"`))
	if r.Status != Redeemed || len(ciCode.Of(r.Values)) != 16 {
		t.Errorf("%s, code %s", r.Status, ciCode.Of(r.Values))
	}
}
