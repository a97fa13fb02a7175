package payment_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

var update = flag.Bool("update", false, "rewrite the machine's report")

// grid is the specification's transition table, copied by hand, as far as this
// machine goes: state → event → the state that follows. What is missing is refused.
var grid = map[payment.Status]map[payment.Event]payment.Status{
	payment.Absent:      {payment.Create: "created", payment.Return: "charged"},
	payment.Created:     {payment.Refuse: "rejected", payment.Route: "new"},
	payment.New:         {payment.Authorise: "authorizing"},
	payment.Authorizing: {payment.Process: "charging", payment.Decline: "rejected", payment.Await: "authorizing"},
	payment.Charging:    {payment.Settle: "charged", payment.Decline: "rejected", payment.Fail: "failed", payment.Await: "charging"},
	payment.Charged:     {payment.Reverse: "reversed"},
	payment.Rejected:    {},
	payment.Failed:      {},
	payment.Reversed:    {},
}

func TestTheMachineIsTheSpecificationsTable(t *testing.T) {
	events := []payment.Event{payment.Create, payment.Refuse, payment.Route, payment.Authorise, payment.Process, payment.Settle,
		payment.Decline, payment.Fail, payment.Await, payment.Reverse, payment.Return}
	for state, row := range grid {
		for _, event := range events {
			step, ok := payment.Machine.Next(state, event)
			want, legal := row[event]
			if ok != legal || step.To != want {
				t.Errorf("%s on %s = %q, want %q", state, event, step.To, want)
			}
		}
	}
	if got := payment.Machine.Report(); !*update {
		want, err := os.ReadFile("testdata/machine.txt")
		if err != nil || got != string(want) {
			t.Errorf("testdata/machine.txt is not the machine's report (%v): run go test -update and review the difference", err)
		}
	} else if err := os.WriteFile("testdata/machine.txt", []byte(got), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFinalStatusesAreTheSpecifications(t *testing.T) {
	for status, want := range map[payment.Status]bool{
		"created": false, "new": false, "authorizing": false, "charging": false, "charged": true, "rejected": true, "failed": true,
		"reversed": true, "refunded": false, "some_rails_own": false,
	} {
		if got := status.Final(); got != want {
			t.Errorf("%s: %v, want %v", status, got, want)
		}
	}
}

var (
	usd  = money.Asset{Currency: "USD", Env: money.Prod}
	now  = time.Date(2026, 9, 3, 10, 0, 0, 0, time.UTC)
	cas  = payment.Case{Org: uuid.UUID{1}, Now: now, Inquire: 10 * time.Second}
	term = uuid.MustParse("11111111-1111-4111-8111-111111111111")
)

func request(kind payment.Type, amount string) payment.Request {
	return payment.Request{Type: kind, Amount: money.MustParse(amount), Asset: usd, Method: payment.BankCard, ReturnURL: "https://a", FailURL: "https://b"}
}

// lines is an entry as text: "Dr A:provider 100 / Cr …", the terminal's id left out.
func lines(e *ledger.Entry) string {
	if e == nil {
		return "none"
	}
	var all []string
	for _, p := range e.Postings {
		side := "Dr "
		if p.Side == ledger.Credit {
			side = "Cr "
		}
		all = append(all, side+strings.TrimSuffix(string(p.Account), ":"+term.String())+" "+p.Amount.String())
	}
	return e.Phase.String() + ": " + strings.Join(all, ", ")
}

// The figures are worked out by hand from DECISIONS, "Payments": fee =
// floor(amount × bps / 10000) + fixed; on top the payer pays it.
func TestFeesAndTheEntryThatSettles(t *testing.T) {
	for name, c := range map[string]struct {
		kind                    payment.Type
		amount, bps, fixed      string
		onTop                   bool
		withFee, dest, merchant string
		entry                   string
	}{
		"no fee": {payment.Payment, "10000", "0", "0", false, "10000", "10000", "10000",
			"posted: Dr A:provider 10000, Cr L:partner:1:available 10000"},
		"deducted, floored": {payment.Payment, "9999", "250", "3", false, "9999", "9747", "9747",
			"posted: Dr A:provider 9999, Cr L:partner:1:available 9747, Cr I:fees 252"},
		"on top, floored": {payment.Payment, "9999", "250", "3", true, "10251", "9999", "9999",
			"posted: Dr A:provider 10251, Cr L:partner:1:available 9999, Cr I:fees 252"},
		"the fee is the amount": {payment.Payment, "50", "0", "50", false, "50", "0", "0",
			"posted: Dr A:provider 50, Cr I:fees 50"},
		"the fee is more": {payment.Payment, "50", "0", "70", false, "50", "0", "-20",
			"posted: Dr A:provider 50, Dr L:partner:1:available 20, Cr I:fees 70"},
		"payout, deducted": {payment.Payout, "1000", "100", "0", false, "1000", "990", "990",
			"capture: Dr L:partner:1:available 1000, Cr A:provider 990, Cr I:fees 10"},
		"payout, on top": {payment.Payout, "1000", "100", "0", true, "1010", "1000", "1000",
			"capture: Dr L:partner:1:available 1010, Cr A:provider 1000, Cr I:fees 10"},
	} {
		bps, err := money.ParseBasisPoints(c.bps)
		if err != nil {
			t.Fatal(err)
		}
		d := cas.Create(uuid.UUID{2}, 1, request(c.kind, c.amount), payment.Terms{Terminal: term, Route: "simulator", Asset: usd,
			FeeBps: bps, FeeFixed: money.MustParse(c.fixed), FeeOnTop: c.onTop})
		r := d.Record
		if r.WithFee.String() != c.withFee || r.Dest.String() != c.dest || r.Merchant.String() != c.merchant {
			t.Errorf("%s: with fee %v, dest %v, merchant %v, want %s, %s, %s", name, r.WithFee, r.Dest, r.Merchant, c.withFee, c.dest, c.merchant)
		}
		settled, ok := cas.Answered(r, payment.Answer{Verdict: payment.SaidCharged})
		if !ok {
			t.Fatalf("%s: not settled", name)
		}
		entry := settled.Events[len(settled.Events)-1].Entry
		if got := lines(entry); got != c.entry {
			t.Errorf("%s: %s, want %s", name, got, c.entry)
		}
		if err := entry.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAPayoutWhoseFeeLeavesNothingIsRejected(t *testing.T) {
	for fixed, want := range map[string]string{"99": "", "100": "fee exceeds amount", "101": "fee exceeds amount"} {
		d := cas.Create(uuid.UUID{2}, 1, request(payment.Payout, "100"), payment.Terms{Terminal: term, Asset: usd, FeeFixed: money.MustParse(fixed)})
		if d.Record.Error != want {
			t.Errorf("a fee of %s: %q, want %q", fixed, d.Record.Error, want)
		}
	}
}

// The specification's two created-rejected cases, with their exact texts.
func TestCreatesThatAreRejectedBeforeRouting(t *testing.T) {
	for text, change := range map[string]func(*payment.Request){
		"":                func(*payment.Request) {},
		"unexpected card": func(r *payment.Request) { r.Method = "" },
		"return_url/fail_url params not specified": func(r *payment.Request) { r.FailURL = "" },
		"amount out of range":                      func(r *payment.Request) { r.Amount = money.Max },
	} {
		r := request(payment.Payment, "100")
		change(&r)
		if got := payment.Unacceptable(&r); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	r := request(payment.Payout, "100")
	r.ReturnURL, r.FailURL = "", ""
	if got := payment.Unacceptable(&r); got != "" {
		t.Errorf("a payout without return addresses: %q", got)
	}
}

// What each answer does to an intent and to what is charging already: the
// states passed, what is booked, when it is asked again, what is reserved no more.
func TestWhatAProviderSaysAndWhatFollows(t *testing.T) {
	for _, c := range []struct {
		kind   payment.Type
		from   payment.Status
		answer payment.Answer
		want   string
	}{
		{payment.Payment, payment.Authorizing, payment.Answer{Verdict: payment.SaidCharged, RRN: "123456789012"}, "charging charged posted"},
		{payment.Payment, payment.Charging, payment.Answer{Verdict: payment.SaidCharged}, "charged posted"},
		{payment.Payment, payment.Authorizing, payment.Answer{Verdict: payment.SaidRefused, Reason: "card_declined"}, "rejected none released"},
		{payment.Payment, payment.Charging, payment.Answer{Verdict: payment.SaidRefused}, "rejected none released"},
		{payment.Payment, payment.Authorizing, payment.Answer{Verdict: payment.SaidFailed}, "charging failed none released"},
		{payment.Payment, payment.Authorizing, payment.Answer{Verdict: payment.SaidPending, Again: 5 * time.Second}, "charging none again in 5s"},
		{payment.Payment, payment.Authorizing, payment.Answer{Verdict: payment.SaidNothing}, "charging none again in 10s"},
		{payment.Payment, payment.Charging, payment.Answer{Verdict: payment.SaidPending}, "charging none again in 10s"},
		{payment.Payment, payment.Authorizing, payment.Answer{Verdict: payment.SaidNotKnown}, "authorizing none again in 10s"},
		{payment.Payout, payment.Authorizing, payment.Answer{Verdict: payment.SaidCharged}, "charging charged capture"},
		{payment.Payout, payment.Authorizing, payment.Answer{Verdict: payment.SaidRefused}, "rejected void released"},
		{payment.Payout, payment.Charging, payment.Answer{Verdict: payment.SaidFailed}, "failed void released"},
	} {
		d := cas.Create(uuid.UUID{2}, 1, request(c.kind, "100"), payment.Terms{Terminal: term, Asset: usd})
		r := *d.Record
		r.Status = c.from
		next, ok := cas.Answered(&r, c.answer)
		if !ok || !next.Outcome {
			t.Fatalf("%v in %s: not decided", c.answer.Verdict, c.from)
		}
		if got := story(next); got != c.want {
			t.Errorf("%v in %s on %v: %s, want %s", c.kind, c.from, c.answer.Verdict, got, c.want)
		}
	}
}

func story(d payment.Decision) string {
	var words []string
	for _, e := range d.Events {
		words = append(words, e.To)
	}
	entry := "none"
	if e := d.Events[len(d.Events)-1].Entry; e != nil {
		entry = e.Phase.String()
	}
	words = append(words, entry)
	if d.Due != 0 {
		words = append(words, "again in "+d.Due.Time().Sub(now).String())
	}
	if len(d.Counters) == 1 && d.Counters[0].Release {
		words = append(words, "released")
	}
	return strings.Join(words, " ")
}

func TestUnknownReferenceTwiceInARowIsInterruptedAndOnceIsNot(t *testing.T) {
	d := cas.Create(uuid.UUID{2}, 1, request(payment.Payout, "100"), payment.Terms{Terminal: term, Asset: usd})
	first, _ := cas.Answered(d.Record, payment.Answer{Verdict: payment.SaidNotKnown})
	heard, _ := cas.Answered(first.Record, payment.Answer{Verdict: payment.SaidNothing})
	if again, _ := cas.Answered(heard.Record, payment.Answer{Verdict: payment.SaidNotKnown}); again.Record.Status != payment.Charging {
		t.Errorf("an answer in between: %s", again.Record.Status)
	}
	second, _ := cas.Answered(first.Record, payment.Answer{Verdict: payment.SaidNotKnown})
	if r := second.Record; r.Status != payment.Failed || r.Error != "interrupted" || story(second) != "charging failed void released" {
		t.Errorf("twice: %s %q, %s", r.Status, r.Error, story(second))
	}
}

func TestInquiriesWithoutAnAnswerBackOffToABound(t *testing.T) {
	d := cas.Create(uuid.UUID{2}, 1, request(payment.Payment, "100"), payment.Terms{Terminal: term, Asset: usd})
	var gaps []string
	for range 11 {
		d, _ = cas.Answered(d.Record, payment.Answer{Verdict: payment.SaidNothing})
		gaps = append(gaps, d.Due.Time().Sub(now).String())
	}
	if got, want := strings.Join(gaps, " "), "10s 20s 40s 1m20s 2m40s 5m20s 10m40s 21m20s 42m40s 42m40s 42m40s"; got != want {
		t.Errorf("gaps %s, want %s", got, want)
	}
}

func TestALateAnswerSaysNothingNew(t *testing.T) {
	for _, status := range []payment.Status{payment.Charged, payment.Rejected, payment.Failed, payment.Reversed} {
		if _, ok := cas.Answered(&payment.Record{Status: status}, payment.Answer{Verdict: payment.SaidCharged}); ok {
			t.Errorf("decided in %s", status)
		}
	}
}
