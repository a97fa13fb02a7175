package payment_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

var (
	usd  = money.Asset{Currency: "USD", Env: money.Prod}
	rub  = money.Asset{Currency: "RUB", Env: money.Prod}
	idr  = money.Asset{Currency: "IDR", Env: money.Prod}
	tron = money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}
	bsc  = money.Asset{Currency: "USDT", Network: "bsc", Env: money.Prod}
	ton  = money.Asset{Currency: "TON", Network: "ton", Env: money.Prod}

	now           = time.Date(2026, 9, 3, 10, 0, 0, 0, time.UTC)
	testContext   = payment.DecisionContext{Org: uuid.UUID{1}, Now: now, Inquire: 10 * time.Second, ActionTTL: 30 * time.Minute}
	terminalID    = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	otherID       = uuid.MustParse("22222222-2222-4222-8222-222222222222")
	transactionID = uuid.UUID{2}
)

// week is the default holding time of a terminal.
const week = 7 * 24 * time.Hour

func request(kind payment.Type, amount string) payment.Request {
	return payment.Request{Type: kind, Amount: money.MustParse(amount), Asset: usd, Method: payment.BankCard, ReturnURL: "https://a", FailURL: "https://b"}
}

// feeDeducted and feeOnTop return a terminal's fees: basis points and a fixed part.
func feeDeducted(bps uint64, fixed string) payment.Fees {
	return payment.Fees{Bps: money.BasisPoints(bps), Fixed: money.MustParse(fixed)}
}

func feeOnTop(bps uint64, fixed string) payment.Fees {
	f := feeDeducted(bps, fixed)
	f.OnTop = true
	return f
}

func refundable(f payment.Fees) payment.Fees {
	f.Refundable = true
	return f
}

func terms(f payment.Fees) *payment.Terms {
	return &payment.Terms{Terminal: terminalID, Route: "simulator", Fees: f, Asset: usd, HoldTTL: week}
}

func twoPhase(on *payment.Terms) *payment.Terms {
	on.TwoPhase = true
	return on
}

// convertingTerms returns terms whose destination is in another asset.
func convertingTerms(f payment.Fees, from, to money.Asset, rate string) *payment.Terms {
	t := terms(f)
	t.Asset, t.Converts, t.SettlementAsset = from, true, to
	if rate != "" {
		parsed, err := money.ParseRate(rate)
		if err != nil {
			panic(err)
		}
		t.Rate = parsed
	}
	return t
}

// scenario is a transaction under test: each step decides on its record, which then becomes the
// decision's record.
type scenario struct {
	t        testing.TB
	c        payment.DecisionContext
	r        *payment.Record
	requests byte // number of operations so far
}

// newScenario creates a transaction on a terminal.
func newScenario(t testing.TB, kind payment.Type, amount string, on *payment.Terms) *scenario {
	t.Helper()
	l := &scenario{t: t, c: testContext}
	req := request(kind, amount)
	req.Asset = on.Asset
	l.apply(l.c.Create(transactionID, 1, req, on))
	return l
}

// newCharged creates a transaction that settles at once.
func newCharged(t testing.TB, kind payment.Type, amount string, on *payment.Terms) *scenario {
	t.Helper()
	l := newScenario(t, kind, amount, on)
	l.onAnswer(payment.Answer{Verdict: payment.VerdictCharged})
	return l
}

func (l *scenario) apply(d payment.Decision) payment.Decision {
	l.t.Helper()
	for i := range d.Events {
		if e := d.Events[i].Entry; e != nil {
			if err := e.Check(); err != nil {
				l.t.Fatalf("%s: %v", d.Events[i].Name, err)
			}
		}
	}
	l.r = d.Record
	l.c.Due = d.Due
	return d
}

// onAnswer applies and returns the decision on an answer about the charge. The answer must have an effect.
func (l *scenario) onAnswer(a payment.Answer) payment.Decision {
	l.t.Helper()
	d, ok := l.c.Answered(l.r, a)
	if !ok || !d.MustRecord {
		l.t.Fatalf("%s: %v was not decided on", l.r.Status, a.Verdict)
	}
	return l.apply(d)
}

// onOpAnswer applies and returns the decision on an answer about the operation under way. The answer must have an
// effect.
func (l *scenario) onOpAnswer(a payment.Answer) payment.Decision {
	l.t.Helper()
	d, ok := l.c.OpAnswered(l.r, l.r.Op.Request, a)
	if !ok || !d.MustRecord {
		l.t.Fatalf("%s: %v was not decided on", l.r.Status, a.Verdict)
	}
	return l.apply(d)
}

// newRequestID returns a new id for an operation.
func (l *scenario) newRequestID() ledger.ID {
	l.requests++
	return uuid.UUID{9, l.requests}
}

func amountPointer(amount string) *money.Amount {
	if amount == "" {
		return nil
	}
	a := money.MustParse(amount)
	return &a
}

// refunds requests a refund of an amount, or of all that is left if the amount is empty.
func (l *scenario) refunds(amount string) payment.Decision {
	l.t.Helper()
	return l.onRequest(l.c.Refund(l.r, amountPointer(amount), l.newRequestID()))
}

func (l *scenario) commits(amount string) payment.Decision {
	l.t.Helper()
	return l.onRequest(l.c.Commit(l.r, amountPointer(amount), l.newRequestID()))
}

func (l *scenario) cancels() payment.Decision {
	l.t.Helper()
	return l.onRequest(l.c.Cancel(l.r, l.newRequestID()))
}

func (l *scenario) completes(material bool) payment.Decision {
	l.t.Helper()
	return l.onRequest(l.continues(material))
}

// continues decides to continue a charge whose payer has submitted all required material, or has come back from the
// rail.
func (l *scenario) continues(material bool) (payment.Decision, error) {
	if material {
		return l.c.Submit(l.r, hasTexts("otp", "signature"), l.newRequestID())
	}
	return l.c.Complete(l.r, l.newRequestID())
}

// hasTexts returns a function that tells whether the material has a text of that name.
func hasTexts(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

func (l *scenario) onRequest(d payment.Decision, err error) payment.Decision {
	l.t.Helper()
	if err != nil {
		l.t.Fatalf("%s: %v", l.r.Status, err)
	}
	if d.MustRecord {
		l.t.Fatalf("%s: what a caller asks for may be refused", l.r.Status)
	}
	return l.apply(d)
}

// onDue moves the clock and decides what the record needs at its due instant.
func (l *scenario) onDue(after time.Duration) (payment.Ask, payment.Decision, bool) {
	l.t.Helper()
	l.c.Now = l.c.Now.Add(after)
	ask, d, decided := l.c.OnDue(l.r, false, l.newRequestID())
	if decided {
		l.apply(d)
	}
	return ask, d, decided
}

// want fails the test unless the decision, as text, has these lines.
func (l *scenario) want(d payment.Decision, want ...string) {
	l.t.Helper()
	if got := describe(l.c.Now, &d); !slices.Equal(got, want) {
		l.t.Errorf("decided\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// wantRefused fails the test unless the error has the code.
func wantRefused(t testing.TB, err error, code ledger.Code) {
	t.Helper()
	var refusal *ledger.Refusal
	if !errors.As(err, &refusal) || refusal.Code != code {
		t.Errorf("%v, want %s", err, code)
	}
}

// describe formats a decision as text: one line per event, "event state: entry", and a last line
// with its other effects.
func describe(at time.Time, d *payment.Decision) []string {
	var all []string
	asset := d.Record.Asset
	for i := range d.Events {
		e := &d.Events[i]
		all = append(all, e.Name+" "+e.To+entry(asset, e.Entry))
	}
	var more []string
	if d.Due != 0 {
		more = append(more, "due "+d.Due.Time().Sub(at).String())
	}
	if ask := [...]string{"", "ask submit", "ask inquire", "ask op", "ask inquire op"}[d.Ask]; ask != "" {
		more = append(more, ask)
	}
	for _, g := range d.Funds {
		more = append(more, fmt.Sprintf("funds %s down to -%v", g.Account.Path, g.Overdraft))
	}
	for _, g := range d.Counters {
		more = append(more, counter(asset, g))
	}
	if d.Finish {
		more = append(more, "final")
	}
	if more != nil {
		all = append(all, strings.Join(more, ", "))
	}
	if d.Return != nil {
		for _, line := range describe(at, d.Return) {
			all = append(all, "return: "+line)
		}
	}
	return all
}

func counter(asset money.Asset, g ledger.CounterGuard) string {
	verb := map[bool]string{false: "reserve ", true: "release "}[g.Release]
	of := strings.TrimPrefix(g.Key, "headroom/")
	if of == asset.String() {
		return verb + g.Add.String()
	}
	return verb + g.Add.String() + " " + of
}

func entry(asset money.Asset, e *ledger.Entry) string {
	if e == nil {
		return ""
	}
	text := ": " + e.Phase.String() + " " + postings(asset, e.Postings)
	if e.Released != nil {
		text += " for " + postings(asset, e.Released)
	}
	if e.Reverses != 0 {
		text += fmt.Sprintf(" reverses %d", e.Reverses)
	}
	return text
}

// postings formats the lines of an entry. It omits the terminal's id, marks a line that splits
// with "*", and names an asset that is not the transaction's.
func postings(asset money.Asset, list []ledger.Posting) string {
	var all []string
	for i := range list {
		p := &list[i]
		line := map[ledger.Side]string{ledger.Debit: "Dr ", ledger.Credit: "Cr "}[p.Side]
		switch p.Account {
		case ledger.ProviderReceivable(terminalID):
			line += "A:provider"
		case ledger.ProviderReceivable(otherID):
			line += "A:provider:next"
		default:
			line += string(p.Account)
		}
		line += " " + p.Amount.String()
		if p.Asset != asset {
			line += " " + string(p.Asset.Currency)
		}
		switch p.Spill {
		case "":
		case ledger.PartnerReceivable(1):
			line += "*"
		default:
			line += " spills to " + string(p.Spill)
		}
		all = append(all, line)
	}
	return strings.Join(all, ", ")
}

// amountsText formats a record's amounts: the amount with the fee, the amount at the destination, the merchant's amount
// and the fee.
func amountsText(r *payment.Record) string {
	return fmt.Sprintf("%v %v %v %v", r.AmountWithFee, r.Dest, r.Merchant, r.Fee)
}

// wantUnchanged fails the test if a decision has changed the record that it was decided on.
func wantUnchanged(t testing.TB, before payment.Record, after *payment.Record) {
	t.Helper()
	if !reflect.DeepEqual(before, *after) {
		t.Errorf("the record decided on was changed:\n%+v\n%+v", before, *after)
	}
}

// refundMessage returns the outcome of the last refund, for people.
func refundMessage(r *payment.Record) string {
	if f := r.LastRefund(); f != nil {
		return f.Describe("en")
	}
	return ""
}

func refundID(r *payment.Record) ledger.ID {
	if f := r.LastRefund(); f != nil {
		return f.ID
	}
	return ledger.ID{}
}
