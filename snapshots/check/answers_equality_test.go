package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/fixture"
)

// eventsOf returns a transaction's events, newest first.
func eventsOf(t testing.TB, w *fixture.Store, org ledger.ID, id ledger.ID) (list []ledger.Event) {
	t.Helper()
	j := fixture.OpenJournal(t, w, clock.NewManual(fixture.StartTime), nil)
	v := j.View()
	err := v.SourceEvents(org, fixture.TransactionSource(id), func(e ledger.Event) (bool, error) {
		list = append(list, e)
		return true, nil
	})
	v.Close()
	if closeErr := j.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	return list
}

// enteredAt returns the time at which a transaction of the first organization entered a status.
func enteredAt(t testing.TB, w *fixture.Store, r *payment.Record, status payment.Status) ledger.Micros {
	t.Helper()
	for _, e := range eventsOf(t, w, w.FirstDemo.Org, r.ID) {
		if e.To == string(status) && e.From != e.To {
			return e.Booked
		}
	}
	t.Fatalf("%v never was %s", r.ID, status)
	return 0
}

// Each field of a response is compared with the store, even if the transaction now has another status than in the response.
func TestEveryFieldOfAResponseIsCompared(t *testing.T) {
	w := fixture.Copy(t)
	chargedBefore := *w.ReversedPayment
	chargedBefore.Status, chargedBefore.Failure, chargedBefore.ReturnID, chargedBefore.FinishedAt = payment.Charged, payment.Failure{}, ledger.ID{}, enteredAt(t, w, w.ReversedPayment, payment.Charged)
	charging := *w.ChargedPayment
	charging.Status, charging.FinishedAt, charging.RRN = payment.Charging, 0, ""
	const instant = `"2026-09-03T10:15:31.000000+00:00"`
	fields := map[string]string{ // name of the field → a wrong value
		"txid": `"order-l"`, "type": `"transfer"`, "error_description": `"card_expired"`, "amount": `"1"`, "amount_with_fee": `"2"`,
		"amount_dest": `"3"`, "merchant_amount": `"4"`, "currency": `"EUR"`, "currency_dest": `"EUR"`, "env": `"test"`, "scale": `3`,
		"description": `null`, "merchant_meta": `{"a":9007199254740992,"b":[1.5,null]}`, "started": instant, "finished": instant, "route": `"other"`,
		"error_code": `"expired_card"`, "payment_method": `{"type":"sbp"}`, "customer": `{"q":1}`,
	}
	for name, record := range map[string]*payment.Record{
		"charged": w.ChargedPayment, "rejected": w.DeclinedPayment, "reversed": w.ReversedPayment, "charged before it was reversed": &chargedBefore,
		"charging before it was charged": &charging,
	} {
		line := func(response string) string { return fixture.CreateLine(w.FirstDemo.Org, 201, record, response) }
		lines := make(map[string]string)
		for field, wrongValue := range fields {
			pattern := regexp.MustCompile(`"` + field + `":("(\\.|[^"\\])*"|\{[^}]*\}|null|\d+)`)
			lines[field] = line(pattern.ReplaceAllLiteralString(w.Show(record), `"`+field+`":`+wrongValue))
			lines["no "+field] = line(pattern.ReplaceAllLiteralString(w.Show(record), `"other":0`))
		}
		for _, addedField := range []string{`"network":"tron"`, `"rrn":"000000000000"`, `"return_id":"` + uuid.NewString() + `"`} {
			field, _, _ := strings.Cut(addedField[1:], `"`)
			withoutField := regexp.MustCompile(`,"`+field+`":"[^"]*"`).ReplaceAllString(w.Show(record), "")
			lines[field] = line(strings.TrimSuffix(withoutField, "}") + "," + addedField + "}")
			if withoutField != w.Show(record) {
				lines["no "+field] = line(withoutField)
			}
		}
		w.RunChecks(t, func(checkStore func(check.Inputs) *findings.Report) {
			fixture.WantBroken(t, checkStore(check.Inputs{Answers: fixture.WriteLines(t, line(w.Show(record)))}))
			for field, text := range lines {
				report := checkStore(check.Inputs{Answers: fixture.WriteLines(t, text)})
				if detail := strings.Join(report.Rules[0].Details, "\n"); !strings.Contains(detail, strings.TrimPrefix(field, "no ")) {
					t.Errorf("%s: a wrong %s in the answer is not found: %q", name, field, detail)
				}
				fixture.WantBroken(t, report, 1)
			}
		})
	}
}

func TestResponsesAreComparedAsJSON(t *testing.T) {
	w := fixture.Copy(t)
	response := strings.Replace(w.Show(w.ChargedPayment), `{"b":[1.50,null],"a":9007199254740993}`, `{ "a" : 9007199254740993, "b" : [15e-1, null]}`, 1)
	response = strings.Replace(response, `"a \"mug\" & <more>"`, `"\u0061 \"mug\" \u0026 \u003cmore\u003e"`, 1)
	if response == w.Show(w.ChargedPayment) {
		t.Fatal("no answer is written in another form")
	}
	fixture.WantBroken(t, w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, fixture.CreateLine(w.FirstDemo.Org, 201, w.ChargedPayment, response))}))
}

func TestResponseMustShowTheRequestedRecord(t *testing.T) {
	w := fixture.Copy(t)
	getLine := func(id ledger.ID, response string) string {
		return fmt.Sprintf(`{"method":"GET","path":"/api/v1/transactions/%v","organization_id":%q,"status":200,"response":%s}`, id, w.FirstDemo.Org, response)
	}
	for name, line := range map[string]string{
		"another transaction": getLine(w.DeclinedPayment.ID, w.Show(w.ChargedPayment)),
		"nothing":             getLine(w.ChargedPayment.ID, `{}`),
		"another txid":        fixture.CreateLine(w.FirstDemo.Org, 201, w.DeclinedPayment, w.Show(w.ChargedPayment)),
	} {
		t.Run(name, func(t *testing.T) {
			fixture.WantBroken(t, w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, line)}), 1)
		})
	}
}

func TestShownTransactionIsNotUnknownLater(t *testing.T) {
	w := fixture.Copy(t)
	asPartner := func(partner, line string) string { return strings.Replace(line, `{`, `{"partner_id":`+partner+`,`, 1) }
	shownLine := fixture.CreateLine(w.FirstDemo.Org, 201, w.ChargedPayment, w.Show(w.ChargedPayment))
	notFoundLine := func(org, id ledger.ID) string {
		return fmt.Sprintf(`{"method":"GET","path":"/api/v1/transactions/%v","organization_id":%q,"status":404,"response":{"error":"not_found"}}`, id, org)
	}
	deniedLine := notFoundLine(w.FirstDemo.Org, w.ChargedPayment.ID)
	for _, c := range []struct {
		name    string
		lines   []string
		isSound bool
	}{
		{"shown, then unknown", []string{shownLine, deniedLine}, false},
		{"shown to a partner, then unknown to it", []string{asPartner("1", shownLine), asPartner("1", deniedLine)}, false},
		{"unknown, then shown", []string{deniedLine, shownLine}, true},
		{"unknown to another organization", []string{shownLine, notFoundLine(w.SecondDemo.Org, w.ChargedPayment.ID)}, true},
		{"unknown to another partner", []string{asPartner("1", shownLine), asPartner("3", deniedLine)}, true},
		{"another transaction", []string{shownLine, notFoundLine(w.FirstDemo.Org, uuid.New())}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var brokenRules []int
			if !c.isSound {
				brokenRules = []int{1}
			}
			fixture.WantBroken(t, w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, c.lines...)}), brokenRules...)
		})
	}
}

// balancesAfter returns the balances that an entry's accounts had after the entry.
func balancesAfter(t testing.TB, w *fixture.Store, org ledger.ID, e *ledger.Event) map[ledger.Path]money.Signed {
	t.Helper()
	j := fixture.OpenJournal(t, w, clock.NewManual(fixture.StartTime), nil)
	v := j.View()
	after, err := v.TotalsAfter(org, []ledger.Event{*e}, func(ledger.Path) bool { return true })
	v.Close()
	if closeErr := j.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	balances := make(map[ledger.Path]money.Signed)
	for i, p := range e.Entry.Postings {
		balances[p.Account] = after[0][i].Balance(p.Account.NormalSide())
	}
	return balances
}

// showEntry returns an entry as GET /ledger/entries/{seq} shows it. postings are the postings that the response shows.
func showEntry(e *ledger.Event, postings []ledger.Posting, balances map[ledger.Path]money.Signed) string {
	var lines []string
	for _, p := range postings {
		lines = append(lines, fmt.Sprintf(`{"account":%q,"side":%q,"amount":%q,"asset":{"currency":%q,"network":"","env":%q},"balance":%q}`,
			p.Account, p.Side, p.Amount, p.Asset.Currency, p.Asset.Env, balances[p.Account]))
	}
	reverses := "null"
	if e.Entry.Reverses != 0 {
		reverses = fmt.Sprint(e.Entry.Reverses)
	}
	return fmt.Sprintf(`{"data":{"seq":%d,"kind":%q,"source":%q,"event":%q,"phase":%q,"booked_at":%q,"effective_date":%q,"reverses":%s,"postings":[%s]}}`,
		e.Seq, e.Source.Kind.Word(), e.Source.ID, e.Name, e.Entry.Phase, e.Booked.Time().Format("2006-01-02T15:04:05.000000-07:00"), e.Entry.Effective, reverses, strings.Join(lines, ","))
}

func TestEntriesAreComparedWithTheJournal(t *testing.T) {
	w := fixture.Copy(t)
	org := w.FirstDemo.Org
	var settleEvent, routeEvent, returnEvent ledger.Event
	for _, e := range eventsOf(t, w, org, w.ChargedPayment.ID) {
		if e.Entry != nil {
			settleEvent = e
		} else {
			routeEvent = e
		}
	}
	for _, e := range eventsOf(t, w, org, w.ReversedPayment.ReturnID) {
		returnEvent = e
	}
	if settleEvent.Seq == 0 || routeEvent.Seq == 0 || returnEvent.Entry == nil || returnEvent.Entry.Reverses == 0 {
		t.Fatal("the events are not there")
	}
	var partnerPostings, otherPostings []ledger.Posting
	for _, p := range settleEvent.Entry.Postings {
		if strings.HasPrefix(string(p.Account), "L:partner:") {
			partnerPostings = append(partnerPostings, p)
		} else {
			otherPostings = append(otherPostings, p)
		}
	}
	getLine := func(seq uint64, response string) string {
		return fmt.Sprintf(`{"method":"GET","path":"/api/v1/ledger/entries/%d","organization_id":%q,"status":200,"response":%s}`, seq, org, response)
	}
	balances := balancesAfter(t, w, org, &settleEvent)
	wholeEntry := showEntry(&settleEvent, settleEvent.Entry.Postings, balances)
	wrongLines := map[string]string{
		"another partner's view": getLine(settleEvent.Seq, showEntry(&settleEvent, otherPostings, balances)), "no postings": getLine(settleEvent.Seq, showEntry(&settleEvent, nil, balances)),
		"a lost entry": getLine(1<<40, wholeEntry), "an event without an entry": getLine(routeEvent.Seq, wholeEntry), "another entry": getLine(returnEvent.Seq, wholeEntry),
		"nothing": getLine(settleEvent.Seq, `{}`),
	}
	for _, field := range []string{"seq", "kind", "source", "event", "phase", "booked_at", "effective_date", "reverses", "account", "side", "amount", "currency", "network", "env", "balance"} {
		wrongLines["another "+field] = getLine(settleEvent.Seq, regexp.MustCompile(`"`+field+`":("[^"]*"|\d+|null)`).ReplaceAllString(wholeEntry, `"`+field+`":"7"`))
	}
	soundLines := []string{getLine(settleEvent.Seq, wholeEntry), getLine(settleEvent.Seq, showEntry(&settleEvent, partnerPostings, balances)), getLine(returnEvent.Seq, showEntry(&returnEvent, returnEvent.Entry.Postings, balancesAfter(t, w, org, &returnEvent)))}
	soundLines = append(soundLines, fmt.Sprintf(`{"method":"GET","path":"/api/v1/ledger/events","organization_id":%q,"status":200,"response":{}}`, org),
		fmt.Sprintf(`{"method":"GET","path":"/api/v1/ledger/accounts/I:fees","organization_id":%q,"status":200,"response":{}}`, org))
	report := w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, soundLines...)})
	fixture.WantBroken(t, report)
	if report.Rules[0].Count != 3 || report.Counts.SkippedAnswers != 2 {
		t.Errorf("%d answers compared and %d skipped, want 3 and 2", report.Rules[0].Count, report.Counts.SkippedAnswers)
	}
	w.RunChecks(t, func(checkStore func(check.Inputs) *findings.Report) {
		for name, line := range wrongLines {
			t.Run(name, func(t *testing.T) {
				fixture.WantBroken(t, checkStore(check.Inputs{Answers: fixture.WriteLines(t, line)}), 1)
			})
		}
	})
}

func TestVerifyRefusesAnInvalidAnswersFile(t *testing.T) {
	w := fixture.Copy(t)
	soundLine := w.Answers[0] + "\n"
	for _, c := range []struct {
		name, content string
		faultyLine    int // number of the line with the fault; 0: there is none
	}{
		{"a sound line", soundLine, 0},
		{"a torn last line", soundLine + `{"method":"GET","pa`, 0},
		{"a last line without its newline", soundLine + strings.TrimSuffix(soundLine, "\n"), 0},
		{"an empty file", "", 1},
		{"only a torn line", `{"method":`, 1},
		{"a torn line in the middle", soundLine + `{"method":` + "\n" + soundLine, 2},
		{"a torn line with its newline", soundLine + `{"method":` + "\n", 2},
		{"an empty line", soundLine + "\n" + soundLine, 2},
		{"an array", "[]\n" + soundLine, 1},
		{"a string", soundLine + soundLine + `"GET"` + "\n", 3},
		{"an object of another form", soundLine + "{}\n", 2},
		{"no status", soundLine + `{"method":"GET","path":"/api/v1/health"}` + "\n", 2},
		{"an invalid status", soundLine + `{"method":"GET","path":"/api/v1/health","status":7}` + "\n", 2},
		{"an invalid organization", soundLine + `{"method":"GET","path":"/api/v1/health","status":200,"organization_id":"x"}` + "\n", 2},
		{"two objects in one line", soundLine + strings.TrimSpace(soundLine) + soundLine, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "answers")
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg := check.VerifyConfig{Data: w.Dir, Answers: path}
			if c.faultyLine == 0 {
				if exit, out := verify(t, cfg); exit != 0 {
					t.Errorf("exit %d, printed:\n%s", exit, out)
				}
				return
			}
			exit, text := verifyRefused(t, cfg)
			if want := fmt.Sprintf("line %d", c.faultyLine); exit != 2 || !strings.HasPrefix(text, "mizan: configuration: ") || !strings.Contains(text, want) {
				t.Errorf("exit %d, said %q; want 2 and %s", exit, text, want)
			}
		})
	}
}
