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

// inStatus returns a copy of a transaction in another status; change sets the other fields to fit the status.
func inStatus(r *payment.Record, status payment.Status, change func(*payment.Record)) *payment.Record {
	changed := *r
	changed.Status = status
	change(&changed)
	return &changed
}

// withField replaces a field of a response, or adds it; an empty value removes the field.
func withField(response, field, value string) string {
	pattern := regexp.MustCompile(`,"` + field + `":("[^"]*"|\{[^}]*\}|null|\d+)`)
	if value == "" {
		return pattern.ReplaceAllString(response, "")
	}
	if !pattern.MatchString(response) {
		return strings.TrimSuffix(response, "}") + `,"` + field + `":` + value + `}`
	}
	return pattern.ReplaceAllLiteralString(response, `,"`+field+`":`+value)
}

// twoRefunds matches a response's list of two refunds.
var twoRefunds = regexp.MustCompile(`"refunds":\[(\{[^}]*\}),(\{[^}]*\})\]`)

// replaceRefunds replaces the two refunds in a response by list. In list, $1 and $2 stand for the two refunds.
func replaceRefunds(t *testing.T, response, list string) string {
	t.Helper()
	if !twoRefunds.MatchString(response) {
		t.Fatalf("%s has no two refunds", response)
	}
	return twoRefunds.ReplaceAllString(response, `"refunds":[`+list+`]`)
}

func refundsReversed(t *testing.T, response string) string {
	return replaceRefunds(t, response, `$2,$1`)
}

func withoutFirstRefund(t *testing.T, response string) string {
	return replaceRefunds(t, response, `$2`)
}

// Rule 1 (responses agree with the store) finds each wrong response to a request that changed or read a transaction.
func TestResponsesToOperationsAreComparedWithTheStore(t *testing.T) {
	w := fixture.Copy(t)
	trades, org := &w.Trades, w.FirstDemo.Org
	getLine := func(r *payment.Record, response string) string {
		return fmt.Sprintf(`{"method":"GET","path":"/api/v1/transactions/%v","organization_id":%q,"status":200,"response":%s}`, r.ID, org, response)
	}
	putLine := func(r *payment.Record, kind, response string) string {
		return fixture.UpdateLine("PUT", "", org, r.ID, `{"params":{"type":"`+kind+`"}}`, response)
	}
	postLine := func(path string, r *payment.Record, response string) string {
		return fixture.UpdateLine("POST", path, org, r.ID, `{}`, response)
	}
	asNotFound := func(line string) string {
		return strings.Replace(line, `"status":200,"response":`, `"status":404,"response":`, 1)
	}
	recordBeforeCapture := inStatus(trades.Captured, payment.PaymentHeld, func(r *payment.Record) {
		r.Fee, r.AmountWithFee, r.MerchantAmount, r.DestAmount = money.FromUint64(20), money.FromUint64(2_020), money.Signed{Abs: money.FromUint64(2_000)}, money.FromUint64(2_000)
		r.CapturedAmount, r.RefundedAmount, r.Refunds, r.FinishedAt, r.RRN = money.Amount{}, money.Amount{}, nil, 0, ""
	})
	recordBeforeRefund := inStatus(trades.Refunded, payment.Charged, func(r *payment.Record) { r.RefundedAmount, r.Refunds = money.Amount{}, nil })
	responseAfterFirstRefund := w.Show(inStatus(trades.Refunded, payment.Refunded, func(r *payment.Record) { r.Refunds, r.RefundedAmount = r.Refunds[:1], r.Refunds[0].Amount }))
	recordWhileWaiting := inStatus(trades.HostedPaid, payment.Created, func(r *payment.Record) {
		r.Terminal, r.Route, r.FinishedAt, r.RRN, r.Hosted, r.Method, r.CardBIN = ledger.ID{}, "", 0, "", true, "", ""
		r.AmountWithFee, r.DestAmount, r.MerchantAmount = r.Amount, r.Amount, money.Signed{Abs: r.Amount}
	})
	recordWhileAuthorizing := inStatus(trades.Rerouted, payment.Authorizing, func(r *payment.Record) { r.FinishedAt, r.RRN = 0, "" })
	recordBeforeReturn := inStatus(trades.Reversed, payment.Charged, func(r *payment.Record) {
		r.Failure, r.ReturnID, r.RefundedAmount, r.Refunds, r.FinishedAt = payment.Failure{}, ledger.ID{}, money.Amount{}, nil, enteredAt(t, w, trades.Reversed, payment.Charged)
	})
	createLine := func(r *payment.Record, response string) string { return fixture.CreateLine(org, 201, r, response) }
	responseWithLanguage := func(lang string) string {
		return strings.Replace(w.Show(w.DeclinedPayment), string(w.DeclinedPayment.MerchantMeta), strings.TrimSuffix(string(w.DeclinedPayment.MerchantMeta), "}")+`,"lang":"`+lang+`"}`, 1)
	}
	responseInRussian := responseWithLanguage("ru")
	for _, c := range []struct {
		name    string
		lines   []string
		isSound bool
	}{
		{"a refund", []string{putLine(trades.Refunded, "refund", w.Show(trades.Refunded))}, true},
		{"a refund before the last", []string{putLine(trades.Refunded, "refund", responseAfterFirstRefund), putLine(trades.Refunded, "refund", w.Show(trades.Refunded))}, true},
		{"a refund with an unknown id", []string{putLine(trades.Captured, "refund", withField(w.Show(trades.Captured), "refund_id", `"`+uuid.NewString()+`"`))}, false},
		{"a third refund of a transaction with two", []string{
			putLine(trades.Refunded, "refund", responseAfterFirstRefund), putLine(trades.Refunded, "refund", withField(responseAfterFirstRefund, "refund_id", `"`+uuid.NewString()+`"`)), getLine(trades.Refunded, w.Show(trades.Refunded)),
		}, false},
		{"a refund of a charge that has none", []string{putLine(w.ChargedPayment, "refund", withField(w.Show(w.ChargedPayment), "refund_id", `"`+uuid.NewString()+`"`))}, false},
		{"a refund without its id", []string{putLine(trades.Refunded, "refund", withField(w.Show(trades.Refunded), "refund_id", ""))}, false},
		{"a cancellation without a refund", []string{putLine(trades.Voided, "cancel", w.Show(trades.Voided))}, true},
		{"more refunded than there is", []string{getLine(trades.Refunded, withField(w.Show(trades.Refunded), "refunded_amount", `"668"`))}, false},
		{"less refunded than there is", []string{getLine(trades.Refunded, responseAfterFirstRefund)}, true},
		{"another sum than its refunds make", []string{getLine(trades.Refunded, withField(w.Show(trades.Refunded), "refunded_amount", `"333"`))}, false},
		{"a refund of another fee", []string{getLine(trades.Refunded, strings.Replace(w.Show(trades.Refunded), `"fee_amount":"`, `"fee_amount":"9`, 1))}, false},
		{"a refund that failed", []string{getLine(trades.RefundRefused, w.Show(trades.RefundRefused))}, true},
		{"a refund that failed and was answered as done", []string{getLine(trades.RefundRefused, strings.Replace(w.Show(trades.RefundRefused), `"status":"failed"`, `"status":"succeeded"`, 1))}, false},
		{"a refund at another time", []string{getLine(trades.RefundRefused, strings.Replace(w.Show(trades.RefundRefused), `"created":"2`, `"created":"3`, 1))}, false},
		{"another error_code", []string{getLine(w.DeclinedPayment, withField(w.Show(w.DeclinedPayment), "error_code", `"insufficient_funds"`))}, false},
		{"a success with an error_code", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "error_code", `"card_declined"`))}, false},
		{"another way of paying", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "payment_method", `{"type":"sbp"}`))}, false},
		{"another customer", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "customer", `{"email":"x"}`))}, false},
		{"a charge before its refund", []string{getLine(trades.Refunded, w.Show(recordBeforeRefund))}, true},
		{"a charge before its refund and its return", []string{getLine(trades.Reversed, w.Show(recordBeforeReturn))}, true},
		{"a hold before a part of it was captured", []string{getLine(trades.Captured, w.Show(recordBeforeCapture))}, true},
		{"a hold of another amount", []string{getLine(trades.Captured, withField(w.Show(recordBeforeCapture), "amount_with_fee", `"1515"`))}, false},
		{"a capture", []string{postLine("commit/", trades.Captured, w.Show(trades.Captured))}, true},
		{"a capture of another part", []string{postLine("commit/", trades.Captured, withField(w.Show(trades.Captured), "captured_amount", `"1501"`))}, false},
		{"a capture that never happened", []string{postLine("commit/", trades.Held, w.Show(inStatus(trades.Held, payment.Charged, func(*payment.Record) {})))}, false},
		{"an answer about another transaction", []string{postLine("commit/", trades.Held, w.Show(trades.Captured))}, false},
		{"an answer about no transaction", []string{postLine("continue/", trades.Held, `{}`)}, true},
		{"a read that shows no transaction", []string{getLine(trades.Held, `{}`)}, false},
		{"a commit of a known transaction that is answered as unknown", []string{getLine(trades.Held, w.Show(trades.Held)), asNotFound(postLine("commit/", trades.Held, `{}`))}, false},
		{"a refund of a known transaction that is answered as unknown", []string{getLine(trades.Held, w.Show(trades.Held)), asNotFound(putLine(trades.Held, "refund", `{}`))}, false},
		{"a short answer to the creation of a hosted transaction", []string{createLine(trades.HostedUnpaid, w.CreationResponse(trades.HostedUnpaid))}, true},
		{"a short answer of another amount", []string{createLine(trades.HostedUnpaid, withField(w.CreationResponse(trades.HostedUnpaid), "amount", `"1"`))}, false},
		{"a short answer in a status that it never had", []string{createLine(trades.HostedUnpaid, withField(w.CreationResponse(trades.HostedUnpaid), "status", `"charged"`))}, false},
		{"a short answer about a transaction that is not hosted", []string{fixture.CreateLine(org, 201, w.ChargedPayment, w.CreationResponse(w.ChargedPayment))}, false},
		{"a short answer to a repeated txid", []string{fixture.CreateLine(org, 201, trades.HostedPaid, w.CreationResponse(trades.HostedPaid))}, true},
		{"a short answer to a read", []string{getLine(trades.HostedUnpaid, w.CreationResponse(trades.HostedUnpaid))}, false},
		{"a hosted transaction while it waited", []string{getLine(trades.HostedPaid, w.Show(recordWhileWaiting))}, true},
		{"a hosted transaction that had a route while it waited", []string{getLine(trades.HostedPaid, withField(w.Show(recordWhileWaiting), "route", `"simulator"`))}, false},
		{"a transaction at a terminal before its last", []string{getLine(trades.Rerouted, withField(w.Show(recordWhileAuthorizing), "amount_dest", `"1"`))}, true},
		{"a conversion", []string{getLine(trades.Converted, w.Show(trades.Converted))}, true},
		{"a conversion at another rate", []string{getLine(trades.Converted, withField(w.Show(trades.Converted), "currency_rate", `"1.3334"`))}, false},
		{"a conversion into another currency", []string{getLine(trades.Converted, withField(w.Show(trades.Converted), "currency_dest", `"GBP"`))}, false},
		{"a reason in Russian", []string{getLine(w.DeclinedPayment, withField(responseInRussian, "error_description", `"Карта отклонена."`))}, true},
		{"another reason in Russian", []string{getLine(w.DeclinedPayment, withField(responseInRussian, "error_description", `"Операция отменена до зачисления."`))}, false},
		{"a reason in another language than the answer's", []string{getLine(w.DeclinedPayment, withField(w.Show(w.DeclinedPayment), "error_description", `"Карта отклонена."`))}, false},
		{"an unknown language", []string{getLine(w.DeclinedPayment, responseWithLanguage("xx"))}, false},
		{"a hold that ends at another time", []string{getLine(trades.Held, withField(w.Show(trades.Held), "hold_expires_at", fixture.FormatInstant(trades.Held.HoldUntil+1)))}, false},
		{"a hold with a reason", []string{getLine(trades.Captured, withField(w.Show(recordBeforeCapture), "error_code", `"card_declined"`))}, false},
		{"a hold with the end of the hold after its capture", []string{getLine(trades.Captured, withField(w.Show(trades.Captured), "hold_expires_at", fixture.FormatInstant(1)))}, false},
		{"an action after the end", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "auth_params", `{"type":"none"}`))}, false},
		{"material to sign after the end", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "additional_params_for_auth", `{"a":1}`))}, false},
		{"a page for the payer after the end", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "widget_url", `"https://mizan.example/page"`))}, false},
		{"another address for the payer after the end", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "simple_auth_redirect_url", `"https://mizan.example/page"`))}, false},
		{"a field that no transaction has", []string{getLine(w.ChargedPayment, withField(w.Show(w.ChargedPayment), "colour", `"red"`))}, false},
		{"refunds in another order", []string{getLine(trades.Refunded, refundsReversed(t, w.Show(trades.Refunded)))}, false},
		{"a missing first refund", []string{getLine(trades.Refunded, withoutFirstRefund(t, w.Show(trades.Refunded)))}, false},
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

// The response to a request with an idempotency key shows the record that the claim on the key names (a claim is the row that
// makes a key unique). If the request was refused, there is no such claim, unless another request made it.
func TestResponsesToKeyedRequestsAreComparedWithTheClaims(t *testing.T) {
	w := fixture.Copy(t)
	trades, org := &w.Trades, w.FirstDemo.Org
	withKey := func(line, key string, partner int64) string {
		return strings.Replace(line, `{`, fmt.Sprintf(`{"idempotency_key":%q,"partner_id":%d,`, key, partner), 1)
	}
	createLine := func(status int, amount, response string) string {
		return fmt.Sprintf(`{"method":"POST","path":"/api/v1/transactions","organization_id":%q,"status":%d,"response":%s,`+
			`"body":{"params":{"type":"payment","amount":%q,"currency":"USD"}}}`, org, status, response, amount)
	}
	keyedCreate := createLine(201, "1018", w.Show(trades.WithKeys))
	keyedRefund := fixture.UpdateLine("PUT", "", org, trades.WithKeys.ID, `{"params":{"type":"refund"}}`, w.Show(trades.WithKeys))
	for _, c := range []struct {
		name    string
		lines   []string
		isSound bool
	}{
		{"a create", []string{withKey(keyedCreate, "create/1", trades.Partner)}, true},
		{"a create without a partner", []string{withKey(keyedCreate, "create/1", 0)}, true},
		{"a create by its txid", []string{withKey(fixture.CreateLine(org, 201, trades.HostedPaid, w.Show(trades.HostedPaid)), "create/2", trades.Partner)}, true},
		{"a refund", []string{withKey(keyedRefund, "refund", trades.Partner)}, true},
		{"a create whose key is lost", []string{withKey(keyedCreate, "create/2", trades.Partner)}, false},
		{"a refund whose key is lost", []string{withKey(keyedRefund, "refund/2", trades.Partner)}, false},
		{"a key that names another transaction", []string{withKey(fixture.CreateLine(org, 201, trades.ChallengePassed, w.Show(trades.ChallengePassed)), "create/1", trades.Partner)}, false},
		{"a read with a key", []string{withKey(strings.Replace(keyedRefund, "PUT", "GET", 1), "nobody's", trades.Partner)}, true},
		{"no answer, and the transaction exists", []string{withKey(createLine(0, "1018", "null"), "create/1", trades.Partner)}, true},
		{"no answer, and a line without the request's body", []string{withKey(strings.Replace(createLine(0, "1018", "null"), `"body":{`, `"other":{`, 1), "create/1", trades.Partner)}, true},
		{"no answer, and no transaction exists", []string{withKey(createLine(0, "1018", "null"), "create/2", trades.Partner)}, true},
		{"no answer, and another transaction exists", []string{withKey(createLine(0, "1019", "null"), "create/1", trades.Partner)}, false},
		{"a refusal that left nothing", []string{withKey(createLine(422, "1018", "{}"), "create/2", trades.Partner)}, true},
		{"a refusal that left something", []string{withKey(createLine(422, "1018", "{}"), "create/1", trades.Partner)}, false},
		{"a refusal because the key is another request's", []string{withKey(createLine(409, "1019", "{}"), "create/1", trades.Partner)}, true},
		{"a refusal of another partner's key", []string{withKey(createLine(422, "1018", "{}"), "create/1", 1)}, true},
		{"a refusal beside a success", []string{withKey(createLine(422, "0", "{}"), "create/1", trades.Partner), withKey(keyedCreate, "create/1", trades.Partner)}, true},
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

// Responses that were sent before a provider corrected an outcome stay correct.
func TestResponsesBeforeACorrectionAreCompared(t *testing.T) {
	w := fixture.Copy(t)
	var lines []string
	runScenario(t, w, func(s *scenarios) {
		transaction := s.create(s.request(payment.Payment, 300), terms(fees()))
		writeAndAnswer := func(d payment.Decision) {
			header := transaction.write(d, func(d *payment.Decision) { d.Record.RRN = "RRN" })
			w.StartTimes[transaction.record.ID], transaction.record.FinishedAt = header.StartedAt, header.FinishedAt
			lines = append(lines, fixture.CreateLine(w.FirstDemo.Org, 201, transaction.record, w.Show(transaction.record)))
		}
		d, ok := s.decider.DecideProviderAnswer(transaction.record, payment.ProviderAnswer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.CardDeclined}})
		if !ok {
			t.Fatal("it is not refused")
		}
		writeAndAnswer(d)
		if d, ok = s.decider.DecideCorrection(transaction.record, payment.Failure{Code: payment.ProcessingError}); !ok {
			t.Fatal("it is not corrected")
		}
		writeAndAnswer(d)
	})
	fixture.WantBroken(t, w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, lines...)}))
	for i, wrongField := range []string{"finished", "rrn"} {
		changedLine := withField(lines[i], wrongField, `"2026-09-03T10:15:31.000000+00:00"`)
		fixture.WantBroken(t, w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, changedLine)}), 1)
	}
}
