package check_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// inStatus returns a copy of a transaction in another status; change makes the rest of it fit.
func inStatus(r *payment.Record, status payment.Status, change func(*payment.Record)) *payment.Record {
	changed := *r
	changed.Status = status
	change(&changed)
	return &changed
}

// withField replaces a field of a response; an empty value removes it.
func withField(shown, field, value string) string {
	pattern := regexp.MustCompile(`,"` + field + `":("[^"]*"|\{[^}]*\}|null|\d+)`)
	if value == "" {
		return pattern.ReplaceAllString(shown, "")
	}
	if !pattern.MatchString(shown) {
		return strings.TrimSuffix(shown, "}") + `,"` + field + `":` + value + `}`
	}
	return pattern.ReplaceAllLiteralString(shown, `,"`+field+`":`+value)
}

// listOfTwo matches a list of two refunds.
var listOfTwo = regexp.MustCompile(`"refunds":\[(\{[^}]*\}),(\{[^}]*\})\]`)

// replaceRefunds replaces the two refunds of a response.
func replaceRefunds(t *testing.T, shown, list string) string {
	t.Helper()
	if !listOfTwo.MatchString(shown) {
		t.Fatalf("%s has no two refunds", shown)
	}
	return listOfTwo.ReplaceAllString(shown, `"refunds":[`+list+`]`)
}

func refundsReversed(t *testing.T, shown string) string { return replaceRefunds(t, shown, `$2,$1`) }

func withoutFirstRefund(t *testing.T, shown string) string { return replaceRefunds(t, shown, `$2`) }

// Rule 1 finds each wrong response to a request that moved or read a transaction.
func TestResponsesToOperationsAreComparedWithTheStore(t *testing.T) {
	w := fixture.Copy(t)
	m, org := &w.Trades, w.FirstDemo.Org
	getLine := func(r *payment.Record, shown string) string {
		return fmt.Sprintf(`{"method":"GET","path":"/api/v1/transactions/%v","organization_id":%q,"status":200,"response":%s}`, r.ID, org, shown)
	}
	putLine := func(r *payment.Record, kind, shown string) string {
		return fixture.UpdateLine("PUT", "", org, r.ID, `{"params":{"type":"`+kind+`"}}`, shown)
	}
	postLine := func(path string, r *payment.Record, shown string) string {
		return fixture.UpdateLine("POST", path, org, r.ID, `{}`, shown)
	}
	notFound := func(line string) string {
		return strings.Replace(line, `"status":200,"response":`, `"status":404,"response":`, 1)
	}
	beforeCapture := inStatus(m.Captured, payment.PaymentHeld, func(r *payment.Record) {
		r.Fee, r.AmountWithFee, r.Merchant, r.Dest = money.FromUint64(20), money.FromUint64(2_020), money.Signed{Abs: money.FromUint64(2_000)}, money.FromUint64(2_000)
		r.Captured, r.Refunded, r.Refunds, r.Finished, r.RRN = money.Amount{}, money.Amount{}, nil, 0, ""
	})
	beforeRefund := inStatus(m.Refunded, payment.Charged, func(r *payment.Record) { r.Refunded, r.Refunds = money.Amount{}, nil })
	afterFirstRefund := w.Show(inStatus(m.Refunded, payment.Refunded, func(r *payment.Record) { r.Refunds, r.Refunded = r.Refunds[:1], r.Refunds[0].Amount }))
	whileWaiting := inStatus(m.HostedPaid, payment.Created, func(r *payment.Record) {
		r.Terminal, r.Route, r.Finished, r.RRN, r.Hosted, r.Method, r.CardBIN = ledger.ID{}, "", 0, "", true, "", ""
		r.AmountWithFee, r.Dest, r.Merchant = r.Amount, r.Amount, money.Signed{Abs: r.Amount}
	})
	authorizing := inStatus(m.Rerouted, payment.Authorizing, func(r *payment.Record) { r.Finished, r.RRN = 0, "" })
	beforeReturn := inStatus(m.Returned, payment.Charged, func(r *payment.Record) {
		r.Failure, r.ReturnID, r.Refunded, r.Refunds, r.Finished = payment.Failure{}, ledger.ID{}, money.Amount{}, nil, enteredAt(t, w, m.Returned, payment.Charged)
	})
	createLine := func(r *payment.Record, shown string) string { return fixture.CreateLine(org, 201, r, shown) }
	withLanguage := func(lang string) string {
		return strings.Replace(w.Show(w.DeclinedPayment), string(w.DeclinedPayment.MerchantMeta), strings.TrimSuffix(string(w.DeclinedPayment.MerchantMeta), "}")+`,"lang":"`+lang+`"}`, 1)
	}
	inRussian := withLanguage("ru")
	for _, c := range []struct {
		name    string
		lines   []string
		isSound bool
	}{
		{"a refund", []string{putLine(m.Refunded, "refund", w.Show(m.Refunded))}, true},
		{"a refund before the last", []string{putLine(m.Refunded, "refund", afterFirstRefund), putLine(m.Refunded, "refund", w.Show(m.Refunded))}, true},
		{"a refund with an unknown id", []string{putLine(m.Captured, "refund", withField(w.Show(m.Captured), "refund_id", `"`+uuid.NewString()+`"`))}, false},
		{"a third refund of two", []string{
			putLine(m.Refunded, "refund", afterFirstRefund), putLine(m.Refunded, "refund", withField(afterFirstRefund, "refund_id", `"`+uuid.NewString()+`"`)), getLine(m.Refunded, w.Show(m.Refunded)),
		}, false},
		{"a refund of a charge that has none", []string{putLine(w.ChargedPayment, "refund", withField(w.Show(w.ChargedPayment), "refund_id", `"`+uuid.NewString()+`"`))}, false},
		{"a refund without its id", []string{putLine(m.Refunded, "refund", withField(w.Show(m.Refunded), "refund_id", ""))}, false},
		{"a cancellation without a refund", []string{putLine(m.Voided, "cancel", w.Show(m.Voided))}, true},
		{"more refunded than there is", []string{getLine(m.Refunded, withField(w.Show(m.Refunded), "refunded_amount", `"668"`))}, false},
		{"less refunded than there is", []string{getLine(m.Refunded, afterFirstRefund)}, true},
		{"another sum than its refunds make", []string{getLine(m.Refunded, withField(w.Show(m.Refunded), "refunded_amount", `"333"`))}, false},
		{"a refund of another fee", []string{getLine(m.Refunded, strings.Replace(w.Show(m.Refunded), `"fee_amount":"`, `"fee_amount":"9`, 1))}, false},
		{"a refund that failed", []string{getLine(m.RefundRefused, w.Show(m.RefundRefused))}, true},
		{"a refund that failed and was answered as done", []string{getLine(m.RefundRefused, strings.Replace(w.Show(m.RefundRefused), `"status":"failed"`, `"status":"succeeded"`, 1))}, false},
		{"a refund at another time", []string{getLine(m.RefundRefused, strings.Replace(w.Show(m.RefundRefused), `"created":"2`, `"created":"3`, 1))}, false},
		{"another error_code", []string{getLine(w.DeclinedPayment, withField(w.Show(w.DeclinedPayment), "error_code", `"insufficient_funds"`))}, false},
		{"a success with an error_code", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "error_code", `"card_declined"`))}, false},
		{"another way of paying", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "payment_method", `{"type":"sbp"}`))}, false},
		{"another customer", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "customer", `{"email":"x"}`))}, false},
		{"a charge before its refund", []string{getLine(m.Refunded, w.Show(beforeRefund))}, true},
		{"a charge before its refund and its return", []string{getLine(m.Returned, w.Show(beforeReturn))}, true},
		{"a hold before a part of it was captured", []string{getLine(m.Captured, w.Show(beforeCapture))}, true},
		{"a hold of another amount", []string{getLine(m.Captured, withField(w.Show(beforeCapture), "amount_with_fee", `"1515"`))}, false},
		{"a capture", []string{postLine("commit/", m.Captured, w.Show(m.Captured))}, true},
		{"a capture of another part", []string{postLine("commit/", m.Captured, withField(w.Show(m.Captured), "captured_amount", `"1501"`))}, false},
		{"a capture that never happened", []string{postLine("commit/", m.Held, w.Show(inStatus(m.Held, payment.Charged, func(*payment.Record) {})))}, false},
		{"an answer about another transaction", []string{postLine("commit/", m.Held, w.Show(m.Captured))}, false},
		{"an answer about no transaction", []string{postLine("continue/", m.Held, `{}`)}, true},
		{"a reading of no transaction", []string{getLine(m.Held, `{}`)}, false},
		{"a commit of a known transaction that is answered as unknown", []string{getLine(m.Held, w.Show(m.Held)), notFound(postLine("commit/", m.Held, `{}`))}, false},
		{"a refund of a known transaction that is answered as unknown", []string{getLine(m.Held, w.Show(m.Held)), notFound(putLine(m.Held, "refund", `{}`))}, false},
		{"a short answer", []string{createLine(m.HostedUnpaid, w.ShowShort(m.HostedUnpaid))}, true},
		{"a short answer of another amount", []string{createLine(m.HostedUnpaid, withField(w.ShowShort(m.HostedUnpaid), "amount", `"1"`))}, false},
		{"a short answer in a status that it never had", []string{createLine(m.HostedUnpaid, withField(w.ShowShort(m.HostedUnpaid), "status", `"charged"`))}, false},
		{"a short answer about a transaction that is not hosted", []string{fixture.CreateLine(org, 201, w.ChargedPayment, w.ShowShort(w.ChargedPayment))}, false},
		{"a short answer to a repeated txid", []string{fixture.CreateLine(org, 201, m.HostedPaid, w.ShowShort(m.HostedPaid))}, true},
		{"a short reading", []string{getLine(m.HostedUnpaid, w.ShowShort(m.HostedUnpaid))}, false},
		{"a hosted transaction while it waited", []string{getLine(m.HostedPaid, w.Show(whileWaiting))}, true},
		{"a hosted transaction that had a route while it waited", []string{getLine(m.HostedPaid, withField(w.Show(whileWaiting), "route", `"simulator"`))}, false},
		{"a transaction at a terminal before its last", []string{getLine(m.Rerouted, withField(w.Show(authorizing), "amount_dest", `"1"`))}, true},
		{"a conversion", []string{getLine(m.Converted, w.Show(m.Converted))}, true},
		{"a conversion at another rate", []string{getLine(m.Converted, withField(w.Show(m.Converted), "currency_rate", `"1.3334"`))}, false},
		{"a conversion into another currency", []string{getLine(m.Converted, withField(w.Show(m.Converted), "currency_dest", `"GBP"`))}, false},
		{"a reason in Russian", []string{getLine(w.DeclinedPayment, withField(inRussian, "error_description", `"Карта отклонена."`))}, true},
		{"another reason in Russian", []string{getLine(w.DeclinedPayment, withField(inRussian, "error_description", `"Операция отменена до зачисления."`))}, false},
		{"a reason in another language than the answer's", []string{getLine(w.DeclinedPayment, withField(w.Show(w.DeclinedPayment), "error_description", `"Карта отклонена."`))}, false},
		{"an unknown language", []string{getLine(w.DeclinedPayment, withLanguage("xx"))}, false},
		{"a hold that ends at another time", []string{getLine(m.Held, withField(w.Show(m.Held), "hold_expires_at", fixture.Instant(m.Held.HoldUntil+1)))}, false},
		{"a hold with a reason", []string{getLine(m.Captured, withField(w.Show(beforeCapture), "error_code", `"card_declined"`))}, false},
		{"a hold with the end of the hold after its capture", []string{getLine(m.Captured, withField(w.Show(m.Captured), "hold_expires_at", fixture.Instant(1)))}, false},
		{"an action after the end", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "auth_params", `{"type":"none"}`))}, false},
		{"material to sign after the end", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "additional_params_for_auth", `{"a":1}`))}, false},
		{"a page for the payer after the end", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "widget_url", `"https://mizan.example/page"`))}, false},
		{"another address for the payer after the end", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "simple_auth_redirect_url", `"https://mizan.example/page"`))}, false},
		{"a field that no transaction has", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "colour", `"red"`))}, false},
		{"refunds in another order", []string{getLine(m.Refunded, refundsReversed(t, w.Show(m.Refunded)))}, false},
		{"a missing first refund", []string{getLine(m.Refunded, withoutFirstRefund(t, w.Show(m.Refunded)))}, false},
		{"the service's own language", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "merchant_meta", `{"b":[1.50,null],"a":9007199254740993,"lang":"ru"}`))}, true},
		{"metadata that nobody sent", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "merchant_meta", `{"b":[1.50,null],"a":9007199254740993,"c":"ru"}`))}, false},
		{"two answers that contradict each other", []string{getLine(w.ChargedPayment, w.Show(w.ChargedPayment)), getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "amount", `"1"`))}, false},
		{"an unknown link", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "link_id", `"`+uuid.NewString()+`"`))}, false},
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

// The response to a request with an idempotency key shows the record that the claim on the key
// names, or there is no claim.
func TestResponsesToKeyedRequestsAreComparedWithTheClaims(t *testing.T) {
	w := fixture.Copy(t)
	m, org := &w.Trades, w.FirstDemo.Org
	withKey := func(line, withKey string, partner int64) string {
		return strings.Replace(line, `{`, fmt.Sprintf(`{"idempotency_key":%q,"partner_id":%d,`, withKey, partner), 1)
	}
	createLine := func(status int, amount, shown string) string {
		return fmt.Sprintf(`{"method":"POST","path":"/api/v1/transactions","organization_id":%q,"status":%d,"response":%s,`+
			`"body":{"params":{"type":"payment","amount":%q,"currency":"USD"}}}`, org, status, shown, amount)
	}
	keyedCreate := createLine(201, "1018", w.Show(m.WithKeys))
	keyedRefund := fixture.UpdateLine("PUT", "", org, m.WithKeys.ID, `{"params":{"type":"refund"}}`, w.Show(m.WithKeys))
	for _, c := range []struct {
		name    string
		lines   []string
		isSound bool
	}{
		{"a create", []string{withKey(keyedCreate, "create/1", m.Partner)}, true},
		{"a create without a partner", []string{withKey(keyedCreate, "create/1", 0)}, true},
		{"a create by its txid", []string{withKey(fixture.CreateLine(org, 201, m.HostedPaid, w.Show(m.HostedPaid)), "create/2", m.Partner)}, true},
		{"a refund", []string{withKey(keyedRefund, "refund", m.Partner)}, true},
		{"a create whose key is lost", []string{withKey(keyedCreate, "create/2", m.Partner)}, false},
		{"a refund whose key is lost", []string{withKey(keyedRefund, "refund/2", m.Partner)}, false},
		{"a key that names another transaction", []string{withKey(fixture.CreateLine(org, 201, m.ChallengePassed, w.Show(m.ChallengePassed)), "create/1", m.Partner)}, false},
		{"a reading with a key", []string{withKey(strings.Replace(keyedRefund, "PUT", "GET", 1), "nobody's", m.Partner)}, true},
		{"no answer, and the transaction exists", []string{withKey(createLine(0, "1018", "null"), "create/1", m.Partner)}, true},
		{"no answer, and a line without the request's body", []string{withKey(strings.Replace(createLine(0, "1018", "null"), `"body":{`, `"other":{`, 1), "create/1", m.Partner)}, true},
		{"no answer, and no transaction exists", []string{withKey(createLine(0, "1018", "null"), "create/2", m.Partner)}, true},
		{"no answer, and another transaction exists", []string{withKey(createLine(0, "1019", "null"), "create/1", m.Partner)}, false},
		{"a refusal that left nothing", []string{withKey(createLine(422, "1018", "{}"), "create/2", m.Partner)}, true},
		{"a refusal that left something", []string{withKey(createLine(422, "1018", "{}"), "create/1", m.Partner)}, false},
		{"a refusal because the key is another request's", []string{withKey(createLine(409, "1019", "{}"), "create/1", m.Partner)}, true},
		{"a refusal of another partner's key", []string{withKey(createLine(422, "1018", "{}"), "create/1", 1)}, true},
		{"a refusal beside a success", []string{withKey(createLine(422, "0", "{}"), "create/1", m.Partner), withKey(keyedCreate, "create/1", m.Partner)}, true},
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

// A rail's correction does not invalidate responses given before it.
func TestResponsesBeforeACorrectionAreCompared(t *testing.T) {
	w := fixture.Copy(t)
	var lines []string
	runScenario(t, w, func(s *scenarios) {
		l := s.create(s.request(payment.Payment, 300), terms(fees()))
		writeAndAnswer := func(d payment.Decision) {
			stamp := l.write(d, func(d *payment.Decision) { d.Record.RRN = "RRN" })
			w.StartTimes[l.record.ID], l.record.Finished = stamp.Started, stamp.Finished
			lines = append(lines, fixture.CreateLine(w.FirstDemo.Org, 201, l.record, w.Show(l.record)))
		}
		d, ok := s.decider.Answered(l.record, payment.Answer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.CardDeclined}})
		if !ok {
			t.Fatal("it is not refused")
		}
		writeAndAnswer(d)
		if d, ok = s.decider.DecideCorrection(l.record, payment.Failure{Code: payment.ProcessingError}); !ok {
			t.Fatal("it is not corrected")
		}
		writeAndAnswer(d)
	})
	fixture.WantBroken(t, w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, lines...)}))
	for i, wrong := range []string{"finished", "rrn"} {
		changed := withField(lines[i], wrong, `"2026-09-03T10:15:31.000000+00:00"`)
		fixture.WantBroken(t, w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, changed)}), 1)
	}
}
