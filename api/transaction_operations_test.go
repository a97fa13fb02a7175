package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// operation returns the path of an operation on a transaction.
func operation(name, id string) string { return transactions + "/" + name + "/" + id }

// changeTransaction requests a refund or a cancellation.
func (f *fixture) changeTransaction(id, params string) *response {
	f.t.Helper()
	return f.partner().put(transactions+"/"+id, `{"params":{`+params+`}}`)
}

// setTerminalParams changes the provider_params of the first partner's terminal of the given type (payment or payout), in env
// test.
func (f *fixture) setTerminalParams(transactionType, params string) {
	f.t.Helper()
	list := f.admin().get("/api/v1/terminals").want(200, "")
	for i := range list.rows() {
		row := "data." + string(rune('0'+i)) + "."
		if list.at(row+"type") == transactionType && list.at(row+"env") == "test" && list.at(row+"partner_id") == "1" {
			f.admin().patch("/api/v1/terminal/"+list.at(row+"id"), `{"provider_params":`+params+`}`).want(200, "")
			return
		}
	}
	f.t.Fatalf("no terminal for a %s", transactionType)
}

// payout1250 creates a payout of 1250 minor units to the destination that storage describes.
func (f *fixture) payout1250(storage string) *response {
	f.t.Helper()
	return f.create(`"type":"payout","amount":"1250","currency":"USD","money_storage":` + storage)
}

// good is the number of a card that the simulator charges at once.
const good = "4242424242424242"

func TestFullRefundReturnsEverything(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.charge(good).wantStatus("charged", "").at("id")
	refunded := f.changeTransaction(id, `"type":"refund"`).want(200, "").wantStatus("refunded", "")
	if _, err := uuid.Parse(refunded.at("refund_id")); err != nil || refunded.at("refund_msg") != "The money was returned." || refunded.at("refunded_amount") != "1250" || refunded.at("id") != id {
		t.Errorf("%s", refunded.body)
	}
	f.partner().get(transactions+"/"+id).want(200, refunded.body)
	f.changeTransaction(id, `"type":"refund"`).want(422, `{"error":"invalid_refund_amount","message":"0 is left to refund"}`)
}

func TestPartialRefundReturnsItsAmount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.charge(good).at("id")
	first := f.changeTransaction(id, `"type":"refund","amount":"400"`).want(200, "").wantStatus("refunded", "")
	second := f.changeTransaction(id, `"type":"refund","amount":"100"`).want(200, "")
	if first.at("refunded_amount") != "400" || second.at("refunded_amount") != "500" || first.at("refund_id") == second.at("refund_id") {
		t.Errorf("%s\n%s", first.body, second.body)
	}
	f.changeTransaction(id, `"type":"refund","amount":"751"`).want(422, `{"error":"invalid_refund_amount","message":"750 is left to refund"}`)
	// A refund without an amount refunds everything that is not refunded yet.
	if all := f.changeTransaction(id, `"type":"refund"`).want(200, ""); all.at("refunded_amount") != "1250" {
		t.Errorf("%s", all.body)
	}
}

func TestRefundAmountMustBeAPositiveIntegerOfMinorUnits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.charge(good)
	const notText, notPositive = "amount must be a string of minor units", "amount must be a positive integer of minor units"
	for literal, message := range map[string]string{
		`null`: notText, `100`: notText, `1.5`: notText, `true`: notText, `{}`: notText, `["1"]`: notText, `1e2`: notText, `-1`: notText,
		`""`: notPositive, `"0"`: notPositive, `"-1"`: notPositive, `"+1"`: notPositive, `"01"`: notPositive, `"1.0"`: notPositive, `"1e2"`: notPositive,
		`" 1"`: notPositive, `"١"`: notPositive, `"` + strings.Repeat("9", 79) + `"`: notPositive,
		`"1251"`: "1250 is left to refund", `"115792089237316195423570985008687907853269984665640564039457584007913129639935"`: "1250 is left to refund",
	} {
		f.changeTransaction(transaction.at("id"), `"type":"refund","amount":`+literal).want(422, `{"error":"invalid_refund_amount","message":"`+message+`"}`)
	}
	f.transaction(transaction.at("id")).want(200, transaction.body)
}

func TestRefundRefusedByTheProviderReturnsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.charge("4000000000005126").at("id")
	refused := f.changeTransaction(id, `"type":"refund"`).want(200, "").wantStatus("charged", "")
	if _, err := uuid.Parse(refused.at("refund_id")); err != nil || refused.at("refund_msg") != "The provider refused the refund." || refused.at("refunded_amount") != "0" {
		t.Errorf("%s", refused.body)
	}
}

func TestSlowRefundIsPendingUntilItsOutcome(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.charge("4000000000007726").at("id")
	if slow := f.changeTransaction(id, `"type":"refund"`).want(200, "").wantStatus("refunding", ""); slow.at("refund_msg") != "The refund is under way." || slow.at("refunded_amount") != "0" {
		t.Errorf("%s", slow.body)
	}
	f.changeTransaction(id, `"type":"refund"`).want(409, "")
	f.advanceBy(5 * time.Second)
	if done := f.transaction(id).wantStatus("refunded", ""); done.at("refund_msg") != "The money was returned." || done.at("refunded_amount") != "1250" {
		t.Errorf("%s", done.body)
	}
}

func TestNonReversibleTransactionsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	charged := f.charge(good)
	declined := f.charge("4000000000000002").wantStatus("rejected", "card_declined")
	neverRouted := f.create(`"type":"payment","amount":"1"`).wantStatus("rejected", "unexpected card")
	waiting := f.createHosted("")
	paidOut := f.payout1250(`{"type":"bank_card","cardnumber":"`+good+`"}`).wantStatus("charged", "")
	f.setTerminalParams("payment", `{"two_phase":true}`)
	heldPayment := f.charge(good).wantStatus("payment_suspended", "")
	for state, c := range map[string]struct {
		transaction *response
		changes     []string
	}{
		"charged":                            {charged, []string{"cancel"}},
		"declined":                           {declined, []string{"refund", "cancel"}},
		"never at a provider":                {neverRouted, []string{"refund", "cancel"}},
		"waiting for its payer":              {waiting, []string{"refund", "cancel"}},
		"a payout":                           {paidOut, []string{"refund", "cancel"}},
		"held, so only a cancel is possible": {heldPayment, []string{"refund"}},
	} {
		for _, change := range c.changes {
			if r := f.changeTransaction(c.transaction.at("id"), `"type":"`+change+`"`); r.status != 422 || r.at("error") != "not_reversible" || r.at("message") == "" {
				t.Errorf("%s: %s: %d %s", state, change, r.status, r.body)
			}
		}
		if now := f.transaction(c.transaction.at("id")); now.at("status") != c.transaction.at("status") {
			t.Errorf("%s: %s", state, now.body)
		}
	}
}

func TestChangeNeedsItsType(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.charge(good)
	const noParams = `{"errors":[{"code":"invalid","detail":"the body must have a params object","field":"params"}]}`
	const badType = `{"errors":[{"code":"invalid","detail":"type must be refund or cancel","field":"type"}]}`
	for body, want := range map[string]string{
		`{}`: noParams, `{"params":null}`: noParams, `{"params":[]}`: noParams, `{"type":"refund"}`: noParams, `[]`: noParams, `"refund"`: noParams,
		`{"params":{}}`: badType, `{"params":{"type":null}}`: badType, `{"params":{"type":"void"}}`: badType, `{"params":{"type":"Refund"}}`: badType,
		`{"params":{"type":["refund"]}}`: badType, `{"params":{"Type":"refund"}}`: badType, `{"params":{"amount":"1"}}`: badType,
	} {
		f.partner().put(transactions+"/"+transaction.at("id"), body).want(422, want)
	}
	f.partner().put(transactions+"/"+transaction.at("id"), `{"params":{"type":"refund","type":"cancel"}}`).want(400, "")
	f.partner().with("content-type", "text/plain").put(transactions+"/"+transaction.at("id"), `{"params":{"type":"refund"}}`).want(415, "")
	f.transaction(transaction.at("id")).want(200, transaction.body)
}

func TestCancelBeforeSettlement(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	unfinished := f.charge("4000000000000077").wantStatus("charging", "")
	waiting := f.charge("4000000000003220").wantStatus("action_required", "")
	f.setTerminalParams("payment", `{"two_phase":true}`)
	held := f.charge(good).wantStatus("payment_suspended", "")
	for _, created := range []*response{unfinished, waiting, held} {
		cancelled := f.changeTransaction(created.at("id"), `"type":"cancel","amount":"1"`).want(200, "").wantStatus("failed", "cancelled")
		if cancelled.at("finished") == "null" || cancelled.at("auth_params") != "null" || cancelled.at("simple_auth_redirect_url") != "(absent)" || cancelled.at("hold_expires_at") != "(absent)" {
			t.Errorf("%s", cancelled.body)
		}
		f.changeTransaction(created.at("id"), `"type":"cancel"`).want(422, "")
	}
	f.advanceBy(10 * time.Second)
	f.transaction(unfinished.at("id")).wantStatus("failed", "cancelled")
	account := f.auditor().get("/api/v1/ledger/accounts/L:partner:1:available?currency=USD&env=test")
	if account.at("data.0.balance") != "100000000" {
		t.Errorf("something was kept: %s", account.body)
	}
}

func TestCommitCapturesTheHold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setTerminalParams("payment", `{"two_phase":true}`)
	f.setTerminalParams("payout", `{"two_phase":true}`)
	for _, body := range []string{"", "{}", `{"params":null}`, `{"params":{}}`, `{"params":{"money_storage_meta":{}}}`, `{"params":{"money_storage_meta":7}}`, `{"money_storage_meta":{}}`} {
		heldPayment := f.charge(good).wantStatus("payment_suspended", "")
		if heldPayment.at("finished") != "null" || heldPayment.at("captured_amount") != "(absent)" || !strings.HasPrefix(heldPayment.at("hold_expires_at"), "2026-09-10T10:15:30.") {
			t.Errorf("held: %s", heldPayment.body)
		}
		captured := f.partner().post(operation("commit", heldPayment.at("id")), body).want(200, "").wantStatus("charged", "")
		if captured.at("captured_amount") != "1250" || captured.at("finished") == "null" || captured.at("hold_expires_at") != "(absent)" {
			t.Errorf("%s: %s", body, captured.body)
		}
		f.partner().post(operation("commit", heldPayment.at("id")), body).want(409, `{"error":"conflict","message":"nothing is held"}`)
	}
	held := f.payout1250(`{"type":"bank_card","cardnumber":"`+good+`"}`).wantStatus("payout_suspended", "")
	f.partner().post(operation("commit", held.at("id")), "").want(200, "").wantStatus("charged", "")
}

func TestPartialCommitReleasesTheRemainder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setTerminalParams("payment", `{"two_phase":true,"fee_bps":"1000"}`)
	heldPayment := f.charge(good).wantStatus("payment_suspended", "")
	const notText, notPositive = "amount must be a string of minor units", "amount must be a positive integer of minor units"
	for literal, message := range map[string]string{
		`400`: notText, `true`: notText, `"0"`: notPositive, `"-4"`: notPositive, `"1251"`: "1250 is held", `"x"`: notPositive,
	} {
		f.partner().post(operation("commit", heldPayment.at("id")), `{"params":{"amount":`+literal+`}}`).want(422, `{"error":"invalid_capture_amount","message":"`+message+`"}`)
	}
	f.partner().post(operation("commit", heldPayment.at("id")), `{"params":5}`).want(422, `{"errors":[{"code":"invalid","detail":"the body must have a params object","field":"params"}]}`)
	f.partner().post(operation("commit", heldPayment.at("id")), `[]`).want(422, "")
	f.partner().with("content-type", "text/plain").post(operation("commit", heldPayment.at("id")), `{}`).want(415, "")
	f.transaction(heldPayment.at("id")).want(200, heldPayment.body)
	captured := f.partner().post(operation("commit", heldPayment.at("id")), `{"params":{"amount":"400"}}`).want(200, "").wantStatus("charged", "")
	for path, want := range map[string]string{"amount": "1250", "captured_amount": "400", "merchant_amount": "360"} {
		if got := captured.at(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	f.changeTransaction(heldPayment.at("id"), `"type":"refund","amount":"401"`).want(422, `{"error":"invalid_refund_amount","message":"400 is left to refund"}`)
}

func TestExpiredHoldIsReleased(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setTerminalParams("payment", `{"two_phase":true,"hold_ttl_seconds":60}`)
	heldPayment := f.charge(good).wantStatus("payment_suspended", "")
	if !strings.HasPrefix(heldPayment.at("hold_expires_at"), "2026-09-03T10:16:30.") {
		t.Errorf("%s", heldPayment.body)
	}
	f.advanceBy(61 * time.Second)
	if expired := f.transaction(heldPayment.at("id")).wantStatus("failed", "hold expired"); expired.at("hold_expires_at") != "(absent)" {
		t.Errorf("%s", expired.body)
	}
	f.partner().post(operation("commit", heldPayment.at("id")), "").want(409, "")
}

func TestHostedTransactionContinues(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	browserData := `"browser_data":{"language":"en","timezone":-180,"user_agent":"test","screen":{"w":1}}`
	transaction := f.createHosted(`,"description":"Shoes","txid":"h-1","merchant_meta":{"a":1}`)
	beforeRouting := f.transaction(transaction.at("id")).wantStatus("created", "")
	if beforeRouting.at("description") != "null" || beforeRouting.at("route") != "" || beforeRouting.at("widget_url") != transaction.at("widget_url") || beforeRouting.at("auth_params") != "null" || beforeRouting.at("finished") != "null" {
		t.Errorf("before routing: %s", beforeRouting.body)
	}
	paid := f.partner().post(operation("continue", transaction.at("id")), `{`+goodCard+`,"route":"simulator",`+browserData+`}`).want(200, "").wantStatus("charged", "")
	for path, want := range map[string]string{
		"description": "Shoes", "route": "simulator", "widget_url": "null", "simple_auth_redirect_url": "(absent)", "txid": "h-1", "merchant_meta.a": "1", "amount_dest": "1250",
	} {
		if got := paid.at(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	f.transaction(transaction.at("id")).want(200, paid.body)

	challenged := f.partner().post(operation("continue", f.createHosted("").at("id")), `{`+strings.Replace(goodCard, good, "4000000000003220", 1)+`}`).want(200, "").wantStatus("action_required", "")
	if challenged.at("auth_params.type") != "redirect" || challenged.at("widget_url") != "null" || challenged.at("simple_auth_redirect_url") == "(absent)" {
		t.Errorf("%s", challenged.body)
	}
	declined := f.createHosted("").at("id")
	for _, status := range []string{"created", "created", "rejected"} {
		f.partner().post(operation("continue", declined), `{`+strings.Replace(goodCard, good, "4000000000000002", 1)+`}`).want(200, "").wantStatus(status, "card_declined")
	}
	unrouted := f.createHosted("").at("id")
	f.partner().post(operation("continue", unrouted), `{"money_storage":{"type":"sbp"},"route":"elsewhere"}`).
		want(422, `{"errors":[{"code":"flow_not_continuable","detail":"the route is not offered for this transaction","field":"route"}]}`)
	f.transaction(unrouted).wantStatus("created", "")
}

func TestContinueChecksTheSameFieldsAsCreate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.createHosted("").at("id")
	payout := f.partner().post(transactions, `{"params":{"env":"test","type":"payout","amount":"5","currency":"USD","show_widget":true}}`).want(201, "").at("id")
	for _, c := range []struct{ id, body, field, detail string }{
		{id, `{}`, "money_storage", "money_storage is required"},
		{id, `{"params":{` + goodCard + `}}`, "money_storage", "money_storage is required"},
		{id, `{"money_storage":null}`, "money_storage", "money_storage is required"},
		{id, `{"money_storage":{}}`, "money_storage", "money_storage is required"},
		{id, `{"money_storage":"card"}`, "money_storage", "money_storage must be an object"},
		{id, `{"money_storage":{"type":"wallet"}}`, "money_storage.type", "invalid money_storage type wallet"},
		{id, `{"money_storage":{"type":"direct_debit"}}`, "money_storage.scheme", "direct_debit requires scheme: ach, acss, or bacs"},
		{id, `{` + strings.Replace(goodCard, `"123"`, `"1234"`, 1) + `}`, "money_storage.cvv", "invalid cvv"},
		{payout, `{"money_storage":{"type":"direct_debit","scheme":"acss"}}`, "money_storage.scheme", "acss is accepted for payments only"},
		{id, `{` + goodCard + `,"route":7}`, "route", "route must be a string"},
		{id, `{` + goodCard + `,"route":"` + strings.Repeat("r", 65) + `"}`, "route", "route must be at most 64 characters"},
		{id, `{` + goodCard + `,"browser_data":[]}`, "browser_data", "browser_data must be an object"},
		{id, `{` + goodCard + `,"browser_data":{"language":1}}`, "browser_data.language", "language must be a string"},
		{id, `{` + goodCard + `,"browser_data":{"timezone":"UTC"}}`, "browser_data.timezone", "timezone must be an integer"},
		{id, `{` + goodCard + `,"browser_data":{"timezone":1.5}}`, "browser_data.timezone", "timezone must be an integer"},
		{id, `{` + goodCard + `,"browser_data":{"user_agent":{}}}`, "browser_data.user_agent", "user_agent must be a string"},
	} {
		f.partner().post(operation("continue", c.id), c.body).want(422, `{"errors":[{"code":"invalid","detail":"`+c.detail+`","field":"`+c.field+`"}]}`)
	}
	f.transaction(id).wantStatus("created", "")
	// For a payout, a card needs nothing but its number.
	f.partner().post(operation("continue", payout), `{"money_storage":{"type":"bank_card","cardnumber":"`+good+`"},"route":null,"browser_data":{"language":null}}`).want(200, "").wantStatus("charged", "")
}

func TestContinueIsRefusedInOtherStates(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	continuedID := f.createHosted("").at("id")
	f.partner().post(operation("continue", continuedID), `{`+goodCard+`}`).want(200, "").wantStatus("charged", "")
	lateID := f.createHosted("").at("id")
	f.advanceBy(actionTTL + time.Second)
	f.transaction(lateID).wantStatus("rejected", "payer action expired")
	for state, id := range map[string]string{"continued already": continuedID, "not hosted": f.charge(good).at("id"), "too late": lateID} {
		r := f.partner().post(operation("continue", id), `{`+goodCard+`}`)
		if r.status != 422 || r.at("errors.0.code") != "flow_not_continuable" || r.at("errors.0.detail") == "" {
			t.Errorf("%s: %d %s", state, r.status, r.body)
		}
	}
}

// Material is what a payer enters to authenticate, such as a one-time password (OTP).
func TestMaterialIsAcceptedBareAndWrapped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct{ body, status, reason string }{
		{`{"additional_params_for_auth":{"otp":"123456"}}`, "charged", ""},
		{`{"params":{"additional_params_for_auth":{"otp":"123456"}}}`, "charged", ""},
		{`{"params":{"otp":"123456"}}`, "charged", ""},
		{`{"additional_params_for_auth":{"otp":"123456"},"params":{"additional_params_for_auth":{"otp":"000000"}}}`, "charged", ""},
		{`{"additional_params_for_auth":{"otp":"000000"},"params":{"otp":"123456"}}`, "rejected", "authentication_failed"},
		{`{"additional_params_for_auth":null,"params":{"otp":"123456"}}`, "charged", ""},
		{`{"additional_params_for_auth":{"otp":"123456","status":"failed"}}`, "charged", ""},
		{`{"additional_params_for_auth":{"otp":"000000","status":"charged"}}`, "rejected", "authentication_failed"},
	} {
		transaction := f.charge("4000002500003155").wantStatus("action_required", "")
		if transaction.at("additional_params_for_auth.type") != "otp" || transaction.at("simple_auth_redirect_url") == "(absent)" || transaction.at("auth_params.type") != "none" {
			t.Errorf("%s", transaction.body)
		}
		done := f.partner().post(operation("additional_params_for_auth", transaction.at("id")), c.body).want(200, "").wantStatus(c.status, c.reason)
		if done.at("additional_params_for_auth") != "{}" {
			t.Errorf("%s: %s", c.body, done.body)
		}
		f.partner().post(operation("additional_params_for_auth", transaction.at("id")), c.body).want(409, "")
	}
}

func TestMaterialIsRequired(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.charge("4000002500003155").at("id")
	const missingMaterial = `{"errors":[{"code":"invalid","detail":"additional_params_for_auth is required","field":"additional_params_for_auth"}]}`
	const noObject = `{"errors":[{"code":"invalid","detail":"additional_params_for_auth must be an object","field":"additional_params_for_auth"}]}`
	for body, want := range map[string]string{
		`{}`: missingMaterial, `{"otp":"123456"}`: missingMaterial, `{"params":{}}`: missingMaterial, `{"params":null}`: missingMaterial, `{"params":"123456"}`: missingMaterial,
		`{"params":{"additional_params_for_auth":null}}`: missingMaterial, `{"additional_params_for_auth":null}`: missingMaterial,
		`{"additional_params_for_auth":"123456"}`: noObject, `{"additional_params_for_auth":[]}`: noObject, `{"params":{"additional_params_for_auth":7}}`: noObject,
		`{"additional_params_for_auth":7,"params":{"otp":"123456"}}`: noObject,
	} {
		f.partner().post(operation("additional_params_for_auth", id), body).want(422, want)
	}
	const emptyMaterial = `{"errors":[{"code":"invalid","detail":"additional_params_for_auth must not be empty","field":"additional_params_for_auth"}]}`
	const missingOTP = `{"errors":[{"code":"invalid","detail":"otp is required, a text that is not empty","field":"additional_params_for_auth.otp"}]}`
	for material, want := range map[string]string{
		`{}`: emptyMaterial, `{"status":"charged"}`: emptyMaterial, `{"st\u0061tus":null}`: emptyMaterial,
		`{"OTP":"123456"}`: missingOTP, `{"otp":""}`: missingOTP, `{"otp":"\u0020"}`: missingOTP, `{"otp":123456}`: missingOTP, `{"otp":{"otp":"123456"}}`: missingOTP, `{"a":"otp"}`: missingOTP,
	} {
		f.partner().post(operation("additional_params_for_auth", id), `{"additional_params_for_auth":`+material+`}`).want(422, want)
		f.partner().post(operation("additional_params_for_auth", id), `{"params":{"additional_params_for_auth":`+material+`}}`).want(422, want)
	}
	f.partner().post(operation("additional_params_for_auth", id), `[]`).want(422, "")
	f.transaction(id).wantStatus("action_required", "")
}

func TestDestinationIsChosen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const missingBank = `{"error":"id and target_bank_id are required"}`
	for _, method := range []string{"sepa", "open_banking"} {
		created := f.payout1250(`{"type":"`+method+`"}`).wantStatus("action_required", "")
		bank := created.at("availble_destinations.0.target_bank_id")
		if bank == "(absent)" || created.at("availble_destinations.0.name") == "" || created.at("simple_auth_redirect_url") == "(absent)" || created.at("auth_params") != "(absent)" || created.at("widget_url") != "null" {
			t.Errorf("%s", created.body)
		}
		path := operation("choose_target_destination", created.at("id"))
		for _, body := range []string{"", `{}`, `{"target_bank_id":null}`, `{"target_bank_id":""}`, `{"target_bank_id":7}`, `{"params":{"target_bank_id":"` + bank + `"}}`, `[]`, `"x"`} {
			f.partner().post(path, body).want(400, missingBank)
		}
		f.partner().post(path, `{"target_bank_id"`).want(400, `{"error":"bad_request","message":"the body is not strict JSON"}`)
		if r := f.partner().post(path, `{"target_bank_id":"nobody's"}`).want(422, ""); r.at("errors.0.field") != "target_bank_id" {
			t.Errorf("%s", r.body)
		}
		done := f.partner().post(path, `{"target_bank_id":"`+bank+`"}`).want(200, "").wantStatus("charged", "")
		if done.at("availble_destinations") != "(absent)" {
			t.Errorf("%s", done.body)
		}
		f.partner().post(path, `{"target_bank_id":"`+bank+`"}`).want(409, "")
	}
}

func TestPayerActionsAreShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for card, want := range map[string][2]string{"4000000000003220": {"redirect", "get"}, "4000000000003063": {"auth_3ds_form", "post"}} {
		transaction := f.charge(card).wantStatus("action_required", "")
		if transaction.at("auth_params.type") != want[0] || transaction.at("auth_params.method") != want[1] || transaction.at("auth_params.version") != "1.0" ||
			!strings.HasPrefix(transaction.at("auth_params.url"), f.base()) || !strings.HasPrefix(transaction.at("auth_params.params"), "{") || transaction.at("widget_url") != "null" {
			t.Errorf("%s: %s", card, transaction.body)
		}
		pageAddress := f.base() + "/pay/" + transaction.at("id") + "?token="
		if !strings.HasPrefix(transaction.at("simple_auth_redirect_url"), pageAddress) {
			t.Errorf("%s: %s", card, transaction.body)
		}
		f.advanceBy(time.Minute)
		later := f.transaction(transaction.at("id"))
		renewedAddress := later.at("simple_auth_redirect_url")
		if renewedAddress == transaction.at("simple_auth_redirect_url") || !strings.HasPrefix(renewedAddress, pageAddress) {
			t.Errorf("%s: a minute later the address is %s", card, renewedAddress)
		}
		later.want(200, strings.Replace(transaction.body, transaction.at("simple_auth_redirect_url"), renewedAddress, 1)) // only the URL has changed
	}
	// For these payment methods the API publishes no action of the payer: the page is the only way to pay.
	for _, method := range []string{"sbp", "qr_code", "crypto"} {
		response := f.create(`"type":"payment","amount":"1250","currency":"USD","money_storage":{"type":"`+method+`"}`).wantStatus("action_required", "")
		if response.at("auth_params") != "null" || response.at("widget_url") != "null" || response.at("additional_params_for_auth") != "{}" || response.at("simple_auth_redirect_url") == "(absent)" {
			t.Errorf("%s: %s", method, response.body)
		}
	}
	f.advanceBy(actionTTL)
	expiring := f.charge("4000000000003220")
	f.advanceBy(actionTTL + time.Second)
	if expired := f.transaction(expiring.at("id")).wantStatus("rejected", "payer action expired"); expired.at("auth_params") != "null" || expired.at("simple_auth_redirect_url") != "(absent)" {
		t.Errorf("%s", expired.body)
	}
}

func TestOperationsOnUnknownIDsAre404(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, id := range []string{"x", strings.ReplaceAll(uuid.NewString(), "-", ""), "%00", uuid.NewString()} {
		f.changeTransaction(id, `"type":"refund"`).want(404, "")
		f.partner().post(operation("commit", id), "").want(404, "")
		f.partner().post(operation("continue", id), `{`+goodCard+`}`).want(404, "")
		f.partner().post(operation("additional_params_for_auth", id), `{"params":{"a":1}}`).want(404, "")
		f.partner().post(operation("choose_target_destination", id), `{"target_bank_id":"1"}`).want(404, "")
	}
}
