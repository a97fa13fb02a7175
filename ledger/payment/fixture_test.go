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
	testContext   = payment.DecisionContext{Org: uuid.UUID{1}, Now: now, InquiryTimeout: 10 * time.Second, ActionTTL: 30 * time.Minute}
	terminalID    = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	otherID       = uuid.MustParse("22222222-2222-4222-8222-222222222222")
	transactionID = uuid.UUID{2}
)

// week is the time for which a terminal holds money by default.
const week = 7 * 24 * time.Hour

func request(kind payment.Type, amount string) payment.Request {
	return payment.Request{Type: kind, Amount: money.MustParse(amount), Asset: usd, Method: payment.BankCard, ReturnURL: "https://a", FailURL: "https://b"}
}

// feeDeducted and feeOnTop return a terminal's fees. The arguments are basis points and a fixed part.
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

func twoPhase(terminalTerms *payment.Terms) *payment.Terms {
	terminalTerms.TwoPhase = true
	return terminalTerms
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

// scenario is a transaction under test. Each step makes a decision on record, and then replaces record by the record in that
// decision.
type scenario struct {
	t        testing.TB
	context  payment.DecisionContext
	record   *payment.Record
	requests byte // number of operations so far
}

// newScenario creates a transaction on a terminal.
func newScenario(t testing.TB, kind payment.Type, amount string, terminalTerms *payment.Terms) *scenario {
	t.Helper()
	sc := &scenario{t: t, context: testContext}
	req := request(kind, amount)
	req.Asset = terminalTerms.Asset
	sc.apply(sc.context.Create(transactionID, 1, req, terminalTerms))
	return sc
}

// newCharged creates a transaction that settles at once.
func newCharged(t testing.TB, kind payment.Type, amount string, terminalTerms *payment.Terms) *scenario {
	t.Helper()
	sc := newScenario(t, kind, amount, terminalTerms)
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
	return sc
}

// apply checks the decision's entries and makes its record the current one.
func (sc *scenario) apply(d payment.Decision) payment.Decision {
	sc.t.Helper()
	for i := range d.Events {
		if e := d.Events[i].Entry; e != nil {
			if err := e.Check(); err != nil {
				sc.t.Fatalf("%s: %v", d.Events[i].Name, err)
			}
		}
	}
	sc.record = d.Record
	sc.context.Due = d.Due
	return d
}

// onAnswer decides on an answer about the charge, applies the decision and returns it. The answer must have an effect.
func (sc *scenario) onAnswer(a payment.ProviderAnswer) payment.Decision {
	sc.t.Helper()
	d, ok := sc.context.DecideProviderAnswer(sc.record, a)
	if !ok || !d.MustRecord {
		sc.t.Fatalf("%s: %v was not decided on", sc.record.Status, a.Verdict)
	}
	return sc.apply(d)
}

// onOpAnswer decides on an answer about the operation under way, applies the decision and returns it. The answer must have an
// effect.
func (sc *scenario) onOpAnswer(a payment.ProviderAnswer) payment.Decision {
	sc.t.Helper()
	d, ok := sc.context.DecideOpAnswer(sc.record, sc.record.Op.ID, a)
	if !ok || !d.MustRecord {
		sc.t.Fatalf("%s: %v was not decided on", sc.record.Status, a.Verdict)
	}
	return sc.apply(d)
}

// newRequestID returns a new id for an operation.
func (sc *scenario) newRequestID() ledger.ID {
	sc.requests++
	return uuid.UUID{9, sc.requests}
}

func amountPointer(amount string) *money.Amount {
	if amount == "" {
		return nil
	}
	a := money.MustParse(amount)
	return &a
}

// refund requests a refund of an amount, or of all that is left if the amount is empty.
func (sc *scenario) refund(amount string) payment.Decision {
	sc.t.Helper()
	return sc.onRequest(sc.context.Refund(sc.record, amountPointer(amount), sc.newRequestID()))
}

func (sc *scenario) commit(amount string) payment.Decision {
	sc.t.Helper()
	return sc.onRequest(sc.context.RequestCapture(sc.record, amountPointer(amount), sc.newRequestID()))
}

func (sc *scenario) cancel() payment.Decision {
	sc.t.Helper()
	return sc.onRequest(sc.context.Cancel(sc.record, sc.newRequestID()))
}

func (sc *scenario) complete(material bool) payment.Decision {
	sc.t.Helper()
	return sc.onRequest(sc.decideContinuation(material))
}

// decideContinuation makes the decision to continue a charge. If material is true, the payer has submitted all required
// material. If not, the payer has come back from the rail.
func (sc *scenario) decideContinuation(material bool) (payment.Decision, error) {
	if material {
		return sc.context.Submit(sc.record, hasTexts("otp", "signature"), sc.newRequestID())
	}
	return sc.context.Complete(sc.record, sc.newRequestID())
}

// hasTexts returns a function for Submit. It tells whether a name is one of names, as if the material had these texts.
func hasTexts(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

// onRequest applies the decision on a client's request and returns it. The request must have succeeded.
func (sc *scenario) onRequest(d payment.Decision, err error) payment.Decision {
	sc.t.Helper()
	if err != nil {
		sc.t.Fatalf("%s: %v", sc.record.Status, err)
	}
	if d.MustRecord {
		sc.t.Fatalf("%s: the decision on a client's request has MustRecord", sc.record.Status)
	}
	return sc.apply(d)
}

// onDue moves the clock and decides what the record needs at its due instant.
func (sc *scenario) onDue(after time.Duration) (payment.ProviderRequest, payment.Decision, bool) {
	sc.t.Helper()
	sc.context.Now = sc.context.Now.Add(after)
	ask, d, decided := sc.context.OnDue(sc.record, false, sc.newRequestID())
	if decided {
		sc.apply(d)
	}
	return ask, d, decided
}

// want fails the test unless the decision, formatted as text, has these lines.
func (sc *scenario) want(d payment.Decision, want ...string) {
	sc.t.Helper()
	if got := describe(sc.context.Now, &d); !slices.Equal(got, want) {
		sc.t.Errorf("decided\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
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

// describe formats a decision as text. Each event has a line "event state: entry". A last line has the decision's other
// effects.
func describe(clock time.Time, d *payment.Decision) []string {
	var lines []string
	asset := d.Record.Asset
	for i := range d.Events {
		e := &d.Events[i]
		lines = append(lines, e.Name+" "+e.To+entryText(asset, e.Entry))
	}
	var effects []string
	if d.Due != 0 {
		effects = append(effects, "due "+d.Due.Time().Sub(clock).String())
	}
	if ask := [...]string{"", "ask submit", "ask inquire", "ask op", "ask inquire op"}[d.ProviderRequest]; ask != "" {
		effects = append(effects, ask)
	}
	for _, g := range d.Funds {
		effects = append(effects, fmt.Sprintf("funds %s down to -%v", g.Account.Path, g.Overdraft))
	}
	for _, g := range d.Counters {
		effects = append(effects, counterText(asset, g))
	}
	if d.IsFinal {
		effects = append(effects, "final")
	}
	if effects != nil {
		lines = append(lines, strings.Join(effects, ", "))
	}
	if d.Return != nil {
		for _, line := range describe(clock, d.Return) {
			lines = append(lines, "return: "+line)
		}
	}
	return lines
}

func counterText(asset money.Asset, g ledger.CounterGuard) string {
	verb := map[bool]string{false: "reserve ", true: "release "}[g.IsRelease]
	name := strings.TrimPrefix(g.Key, "headroom/")
	if name == asset.String() {
		return verb + g.Add.String()
	}
	return verb + g.Add.String() + " " + name
}

func entryText(asset money.Asset, e *ledger.Entry) string {
	if e == nil {
		return ""
	}
	text := ": " + e.Phase.String() + " " + postingsText(asset, e.Postings)
	if e.Released != nil {
		text += " for " + postingsText(asset, e.Released)
	}
	if e.Reverses != 0 {
		text += fmt.Sprintf(" reverses %d", e.Reverses)
	}
	return text
}

// postingsText formats an entry's postings. It omits the terminal's id, and names an asset only if it is not the
// transaction's. "*" marks a posting that is split between the partner's balance and debt.
func postingsText(asset money.Asset, postings []ledger.Posting) string {
	var lines []string
	for i := range postings {
		p := &postings[i]
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
		switch p.SplitWith {
		case "":
		case ledger.PartnerReceivable(1):
			line += "*"
		default:
			line += " spills to " + string(p.SplitWith)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, ", ")
}

// amountsText formats a record's amounts in this order: amount with fee, amount at the destination, merchant's amount, fee.
func amountsText(r *payment.Record) string {
	return fmt.Sprintf("%v %v %v %v", r.AmountWithFee, r.DestAmount, r.MerchantAmount, r.Fee)
}

// wantUnchanged fails the test if a decision has changed the record from which it was made.
func wantUnchanged(t testing.TB, before payment.Record, after *payment.Record) {
	t.Helper()
	if !reflect.DeepEqual(before, *after) {
		t.Errorf("the decision changed the old record:\n%+v\n%+v", before, *after)
	}
}

// refundMessage returns the description, for people, of the last refund's outcome.
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
