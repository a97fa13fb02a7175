package check_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/jsonform"
	"mizan/ledger/payment"
	"mizan/snapshots/check"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/fixture"
)

// responseForm returns the transaction as a response would show it now.
func (l *scenario) responseForm(lang string) []byte {
	r := *l.record
	r.FinishedAt = l.header.FinishedAt
	view := jsonform.TransactionView{StartedAt: l.header.StartedAt, Lang: lang, WaitsForPayer: r.AwaitsPayer()}
	if r.Status == payment.ActionRequired {
		view.Action = r.Action
	}
	return jsonform.AppendTransaction(nil, &r, &view)
}

// lineShowing returns a line of an answers file: form is the transaction that its response shows.
func lineShowing(org, id ledger.ID, form []byte) string {
	return fmt.Sprintf(`{"method":"GET","path":"/api/v1/transactions/%v","organization_id":%q,"status":200,"response":%s}`, id, org, form)
}

// Responses are recorded between random events of transactions. The checker finds them correct, whatever happens to the
// transactions later.
func TestResponsesBetweenRandomEventsAreCorrect(t *testing.T) {
	w, random := fixture.Copy(t), testseed.Random(t)
	var lines []string
	runScenario(t, w, func(s *scenarios) {
		for range 200 {
			transaction := s.randomTransaction(random)
			for range 12 {
				lang := []string{"", "en", "ru", "fr"}[random.IntN(4)]
				lines = append(lines, lineShowing(w.FirstDemo.Org, transaction.record.ID, transaction.responseForm(lang)))
				transaction.randomStep(random)
			}
		}
	})
	report := w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, lines...)})
	fixture.WantBroken(t, report)
	if got := report.Rules[0].Count; got != uint64(len(lines)) {
		t.Errorf("%d of %d answers were compared", got, len(lines))
	}
}

// moments has the responses that would show one transaction at several moments.
type moments struct {
	*scenario
	forms map[string][]byte // each moment's name → the response at that moment
}

// addForm adds the response that would show the transaction now, under the name of the moment.
func (m *moments) addForm(name string) { m.forms[name] = m.responseForm("ru") }

// Every member that the JSON encoder writes is compared with the store, except those listed in exceptions. No list has the
// compared members, so a new member is compared without a change of this test.
func TestEveryMemberOfATransactionIsCompared(t *testing.T) {
	const (
		pageMembers   = "simple_auth_redirect_url widget_url"
		actionMembers = "additional_params_for_auth auth_params availble_destinations expires_at simple_auth_redirect_url"
		reasonMembers = "error_code error_description"
	)
	exceptions := map[string]string{ // transaction and moment → members that are not compared
		"charge: created":             "network scale " + pageMembers,
		"charge: action_required":     actionMembers,
		"hold: payment_suspended":     "hold_expires_at rrn",
		"hold again: refused capture": "hold_expires_at rrn " + reasonMembers,
		"acting: action_required":     "simple_auth_redirect_url",
		"refused: rejected":           reasonMembers,
	}
	w := fixture.Copy(t)
	transactions := make(map[string]*moments)
	runScenario(t, w, func(s *scenarios) {
		track := func(name string, l *scenario) *moments {
			transactions[name] = &moments{l, make(map[string][]byte)}
			return transactions[name]
		}
		pricedTerms := func() *payment.Terms {
			return withRate(terms(payment.Fees{Bps: 100, OnTop: true}), "0.9")
		}
		request := s.request(payment.Payment, 300)
		request.Asset.Network, request.Customer, request.Description, request.HasDescription = "bsc", []byte(`{"a":1}`), "goods", true
		hostedRequest := request
		hostedRequest.Method, hostedRequest.CardBIN, hostedRequest.CardLast4 = "", "", ""

		charge := track("charge", &scenario{scenarios: s})
		charge.write(s.decider.Host(uuid.New(), w.FirstDemo.Partner, hostedRequest))
		charge.addForm("created")
		charge.write(s.decider.Continue(charge.record, payment.Credentials{Method: payment.BankCard, CardBIN: "424242", CardLast4: "4242"}, pricedTerms(), uuid.New()))
		charge.addForm("authorizing")
		charge.answer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: &payment.Action{
			Type: "redirect", URL: "https://acs/", Material: []byte(`{"a":1}`), Destinations: []payment.Destination{{ID: "b"}}, ExpiresAt: ledger.MicrosOf(fixture.StartTime.Add(time.Minute)),
		}})
		charge.addForm("action_required")
		charge.answer(payment.ProviderAnswer{Verdict: payment.VerdictPending})
		charge.addForm("charging")
		charge.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged, RRN: "1"})
		charge.addForm("charged")
		charge.refund(100)
		charge.addForm("refund asked")
		charge.answerOperation(payment.VerdictRefused)
		charge.addForm("refund refused")
		charge.refund(100)
		charge.answerOperation(payment.VerdictUnknown)
		charge.addForm("refunding")
		charge.answerOperation(payment.VerdictCharged)
		charge.addForm("refunded")
		charge.reverse()
		charge.addForm("reversed")

		hold := track("hold", s.hold(payment.Payment, 500, pricedTerms()))
		hold.addForm("payment_suspended")
		hold.commit(400)
		hold.answerOperation(payment.VerdictCharged)
		hold.addForm("captured")

		secondHold := track("hold again", s.hold(payment.Payment, 500, pricedTerms()))
		secondHold.commit(400)
		secondHold.answerOperation(payment.VerdictRefused)
		secondHold.addForm("refused capture")
		secondHold.commit(300)
		secondHold.answerOperation(payment.VerdictCharged)

		withAction := track("acting", s.create(request, pricedTerms()))
		withAction.answer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: &payment.Action{
			Type: "redirect", URL: "https://acs/", Material: []byte(`{"a":1}`), Destinations: []payment.Destination{{ID: "b"}}, ExpiresAt: ledger.MicrosOf(fixture.StartTime.Add(time.Minute)),
		}})
		withAction.addForm("action_required")

		refusedPayment := track("refused", s.create(request, pricedTerms()))
		refusedPayment.answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.CardDeclined}})
		refusedPayment.addForm("rejected")
		d, ok := s.decider.DecideCorrection(refusedPayment.record, payment.Failure{Code: payment.ProcessingError})
		if !ok {
			t.Fatal("it is not corrected")
		}
		refusedPayment.write(d)
		refusedPayment.addForm("failed")
	})
	w.RunChecks(t, func(checkStore func(check.Inputs) *findings.Report) {
		for name, m := range transactions {
			for moment, form := range m.forms {
				t.Run(name+": "+moment, func(t *testing.T) {
					breaches := func(lines ...string) uint64 {
						return checkStore(check.Inputs{Answers: fixture.WriteLines(t, lines...)}).Rules[0].Breaches
					}
					if n := breaches(lineShowing(w.FirstDemo.Org, m.record.ID, form)); n != 0 {
						t.Fatalf("the answer itself breaks the rule %d times", n)
					}
					comparedLines, exceptedLines := alteredLines(t, w.FirstDemo.Org, m.record.ID, form, strings.Fields(exceptions[name+": "+moment]))
					if n := breaches(comparedLines...); n != uint64(len(comparedLines)) {
						t.Errorf("%d of %d changes are found", n, len(comparedLines))
					}
					if len(exceptedLines) > 0 && breaches(exceptedLines...) != 0 {
						t.Error("a change of an excepted member is found")
					}
				})
			}
		}
	})
}

// alteredLines returns, for each member of a response, a line of an answers file in which the member has
// another value. The checker must find the change in each of comparedLines. exceptedLines are the lines in which an
// excepted member has another value.
func alteredLines(t *testing.T, org, id ledger.ID, form []byte, exceptedMembers []string) (comparedLines, exceptedLines []string) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(form, &members); err != nil {
		t.Fatal(err)
	}
	for member := range members {
		altered := maps.Clone(members)
		altered[member] = json.RawMessage(`"another"`)
		text, err := json.Marshal(altered)
		if err != nil {
			t.Fatal(err)
		}
		if line := lineShowing(org, id, text); slices.Contains(exceptedMembers, member) {
			exceptedLines = append(exceptedLines, line)
		} else {
			comparedLines = append(comparedLines, line)
		}
	}
	return comparedLines, exceptedLines
}

// A record drops failed refunds to make room for further ones. Responses that show dropped refunds are correct, and
// everything else in such a response is still compared.
func TestResponsesMayShowDroppedRefunds(t *testing.T) {
	w := fixture.Copy(t)
	var afterFirstRefund, afterSecondRefund []byte
	var charge *scenario
	runScenario(t, w, func(s *scenarios) {
		charge = s.pay(1_000, terms(payment.Fees{}))
		for i := range payment.MaxRefunds {
			charge.refund(1)
			charge.answerOperation(payment.VerdictRefused)
			switch i {
			case 0:
				afterFirstRefund = charge.responseForm("")
			case 1:
				afterSecondRefund = charge.responseForm("")
			}
		}
	})
	if len(charge.record.Refunds) != payment.MaxRefunds-1 {
		t.Fatalf("%d refunds are kept", len(charge.record.Refunds))
	}
	var response struct {
		Refunds []struct {
			ID string `json:"refund_id"`
		} `json:"refunds"`
	}
	if err := json.Unmarshal(afterSecondRefund, &response); err != nil {
		t.Fatal(err)
	}
	droppedID, keptID := response.Refunds[0].ID, response.Refunds[1].ID
	alteredLine := func(form []byte, oldAndNewTexts ...string) string {
		return lineShowing(w.FirstDemo.Org, charge.record.ID, []byte(strings.NewReplacer(oldAndNewTexts...).Replace(string(form))))
	}
	for _, c := range []struct {
		name    string
		lines   []string
		isSound bool
	}{
		{"the dropped refund alone", []string{alteredLine(afterFirstRefund)}, true},
		{"the dropped refund and a kept one", []string{alteredLine(afterFirstRefund), alteredLine(afterSecondRefund)}, true},
		{"a kept refund with another id", []string{alteredLine(afterSecondRefund, keptID, uuid.NewString())}, false},
		{"another refund in place of the dropped one", []string{alteredLine(afterFirstRefund), alteredLine(afterSecondRefund, droppedID, uuid.NewString())}, false},
		{"a refunded amount without a successful refund", []string{alteredLine(afterFirstRefund, `"refunded_amount":"0"`, `"refunded_amount":"1"`)}, false},
		{"a dropped refund that succeeded", []string{alteredLine(afterFirstRefund, `"status":"failed","error_code":"refund_refused","msg":"no"`, `"status":"succeeded","error_code":"refund_refused","msg":"no"`)}, false},
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

// If a line of the answers file names a partner and shows a transaction of another partner, rule 1 (responses agree with the
// store) is broken.
func TestTransactionIsShownToItsPartnerOnly(t *testing.T) {
	w := fixture.Copy(t)
	lineForPartner := func(partner int64) string {
		return strings.Replace(lineShowing(w.FirstDemo.Org, w.ChargedPayment.ID, []byte(w.Show(w.ChargedPayment))), `{`, fmt.Sprintf(`{"partner_id":%d,`, partner), 1)
	}
	for _, c := range []struct {
		name    string
		lines   []string
		isSound bool
	}{
		{"its partner", []string{lineForPartner(w.ChargedPayment.Partner)}, true},
		{"another partner", []string{lineForPartner(w.ChargedPayment.Partner + 1)}, false},
		{"its partner, then another", []string{lineForPartner(w.ChargedPayment.Partner), lineForPartner(w.ChargedPayment.Partner + 1)}, false},
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
