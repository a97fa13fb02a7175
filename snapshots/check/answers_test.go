package check_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// failingLog simulates a server that continues after a failed sync: from then on it reports groups (changes synced
// together) as durable without writing them.
type failingLog struct {
	posting.Log
	hasFailed *atomic.Bool
}

func (l failingLog) Apply(g *store.Group) error {
	if l.hasFailed.Load() {
		return nil
	}
	return l.Log.Apply(g)
}

func TestLostAcknowledgementAfterASyncErrorIsFound(t *testing.T) {
	w := fixture.Copy(t)
	var hasFailed atomic.Bool
	j := fixture.OpenJournal(t, w, clock.NewManual(fixture.StartTime), func(l posting.Log) posting.Log { return failingLog{l, &hasFailed} })
	acknowledge := func(txid string) *payment.Record {
		decider, request := decisionFor(w, txid)
		d := decider.Reject(uuid.New(), 1, request, payment.Failure{Code: payment.UnexpectedCard})
		done := make(chan posting.Receipt, 1)
		j.Submit(changeFor(w.FirstDemo.Org, &d, 0, txidClaim(w.FirstDemo.Org, 1, d.Record)), func(r posting.Receipt) { done <- r })
		r := <-done
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		d.Record.FinishedAt, w.StartTimes[d.Record.ID] = r.Headers[0].FinishedAt, r.Headers[0].StartedAt
		w.Acknowledge(w.FirstDemo.Org, d.Record)
		return d.Record
	}
	acknowledge("before the fault")
	hasFailed.Store(true)
	acknowledge("after the fault")
	acknowledge("long after the fault")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	report := w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, w.Answers...)})
	fixture.WantBroken(t, report, 1)
	if got := report.Rules[0].Breaches; got != 2 {
		t.Errorf("%d acknowledgements are lost, want 2: %q", got, report.Rules[0].Details)
	}
}

func TestResponsesAreComparedWithTheStore(t *testing.T) {
	createLine := func(org ledger.ID, status int, txid, amount, response string) string {
		return fmt.Sprintf(`{"method":"POST","path":"/api/v1/transactions","organization_id":%q,"status":%d,"response":%s,`+
			`"body":{"params":{"type":"payment","txid":%q,"amount":%q,"currency":"USD","env":"prod"}}}`, org, status, response, txid, amount)
	}
	w := fixture.Copy(t)
	org := w.FirstDemo.Org
	readLine := func(org ledger.ID, r *payment.Record, response string) string {
		return fmt.Sprintf(`{"method":"GET","path":"/api/v1/transactions/%v?y=z","organization_id":%q,"body":null,"status":200,"response":%s}`, r.ID, org, response)
	}
	listLine := func(org ledger.ID, response string) string {
		return fmt.Sprintf(`{"method":"GET","path":"/api/v1/transactions","organization_id":%q,"status":200,"response":{"data":[%s]}}`, org, response)
	}
	alteredForm := func(r *payment.Record, from, to string) string {
		if !strings.Contains(w.Show(r), from) {
			t.Fatalf("%s has no %s", w.Show(r), from)
		}
		return strings.Replace(w.Show(r), from, to, 1)
	}
	recordWhileCharging := *w.ChargedPayment
	recordWhileCharging.Status, recordWhileCharging.FinishedAt, recordWhileCharging.RRN = payment.Charging, 0, ""
	recordBeforeReversal := *w.ReversedPayment
	recordBeforeReversal.Status, recordBeforeReversal.Failure, recordBeforeReversal.ReturnID, recordBeforeReversal.FinishedAt = payment.Charged, payment.Failure{}, ledger.ID{}, enteredAt(t, w, w.ReversedPayment, payment.Charged)
	lostRecord := *w.ChargedPayment
	lostRecord.ID = uuid.New()
	for _, c := range []struct {
		name      string
		lines     []string
		wantCount uint64 // number of responses that are compared
		isSound   bool
	}{
		{"a charge as it was answered", []string{fixture.CreateLine(org, 201, w.ChargedPayment, w.Show(w.ChargedPayment))}, 1, true},
		{"a charge with JSON in strings", []string{fixture.CreateLine(org, 201, w.ChargedPayment, fmt.Sprintf("%q", w.Show(w.ChargedPayment)))}, 1, true},
		{"a status that the charge has left", []string{readLine(org, w.ChargedPayment, w.Show(&recordWhileCharging))}, 1, true},
		{"a charge that was reversed since", []string{readLine(org, w.ReversedPayment, w.Show(&recordBeforeReversal))}, 1, true},
		{"a list", []string{listLine(org, w.Show(w.ChargedPayment)+`,`+w.Show(w.DeclinedPayment))}, 1, true},
		{"two answers that contradict each other", []string{readLine(org, w.ChargedPayout, w.Show(w.ChargedPayout)), readLine(org, w.ChargedPayout, alteredForm(w.ChargedPayout, `"1111"`, `"1110"`))}, 2, false},
		{"a lost transaction", []string{fixture.CreateLine(org, 201, &lostRecord, w.Show(&lostRecord))}, 1, false},
		{"a lost transaction in a list", []string{listLine(org, w.Show(&lostRecord))}, 1, false},
		{"a transaction of another organization", []string{readLine(w.SecondDemo.Org, w.ChargedPayment, w.Show(w.ChargedPayment))}, 1, false},
		{"another amount", []string{readLine(org, w.ChargedPayment, alteredForm(w.ChargedPayment, `"amount":"10199"`, `"amount":"10198"`))}, 1, false},
		{"another fee", []string{readLine(org, w.ChargedPayment, alteredForm(w.ChargedPayment, `"merchant_amount":"9938"`, `"merchant_amount":"9939"`))}, 1, false},
		{"another txid", []string{readLine(org, w.ChargedPayment, alteredForm(w.ChargedPayment, "order-1", "order-l"))}, 1, false},
		{"another currency", []string{readLine(org, w.ChargedPayment, alteredForm(w.ChargedPayment, "USD", "EUR"))}, 1, false},
		{"another environment", []string{readLine(org, w.ChargedPayment, alteredForm(w.ChargedPayment, `"prod"`, `"test"`))}, 1, false},
		{"a status that the charge never had", []string{readLine(org, w.ChargedPayment, alteredForm(w.ChargedPayment, `"charged"`, `"failed"`))}, 1, false},
		{"a status that no transaction can have", []string{readLine(org, w.ChargedPayment, alteredForm(w.ChargedPayment, `"charged"`, `"gone"`))}, 1, false},
		{"a 201 that names nothing", []string{createLine(org, 201, "x", "1", `{}`)}, 1, false},
		{"a refusal that left nothing", []string{createLine(org, 422, "never", "1", `{}`)}, 1, true},
		{"a refusal that left something", []string{createLine(org, 422, "order-2", "500", `{}`)}, 1, false},
		{"a refusal beside a success", []string{createLine(org, 422, "order-2", "0", `{}`), fixture.CreateLine(org, 201, w.DeclinedPayment, w.Show(w.DeclinedPayment))}, 2, true},
		{"a refusal in another organization", []string{createLine(w.SecondDemo.Org, 422, "order-2", "500", `{}`)}, 1, true},
		{"no answer, and the transaction exists", []string{createLine(org, 0, "order-2", "500", `null`)}, 1, true},
		{"no answer, and no transaction exists", []string{createLine(org, 0, "never", "500", `null`)}, 1, true},
		{"no answer, and a transaction of another amount exists", []string{createLine(org, 0, "order-2", "501", `null`)}, 1, false},
		{"no answer to a repeated request", []string{createLine(org, 503, "order-2", "501", `{}`), createLine(org, 0, "order-2", "500", `null`)}, 2, true},
		{"lines about something else", []string{`{"method":"GET","path":"/api/v1/health","status":200}`}, 0, true},
		{"an existing partner", w.Answers[:1], 1, true},
		{"an existing key", w.Answers[1:2], 1, true},
		{"a lost partner", []string{strings.ReplaceAll(w.Answers[0], `"id":3`, `"id":9`)}, 1, false},
		{"a lost key", []string{strings.Replace(w.Answers[1], w.Answers[1][len(w.Answers[1])-9:len(w.Answers[1])-5], "0000", 1)}, 1, false},
		{"an existing organization", []string{fmt.Sprintf(`{"method":"POST","path":"/api/v1/organizations","status":201,"response":{"data":{"id":%q}}}`, w.SecondDemo.Org)}, 1, true},
		{"a lost organization", []string{fmt.Sprintf(`{"method":"POST","path":"/api/v1/organizations","status":201,"response":{"data":{"id":%q}}}`, uuid.New())}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, c.lines...)})
			var brokenRules []int
			if !c.isSound {
				brokenRules = []int{1}
			}
			fixture.WantBroken(t, report, brokenRules...)
			if got := report.Rules[0].Count; got != c.wantCount {
				t.Errorf("%d answers were compared, want %d", got, c.wantCount)
			}
		})
	}
}
