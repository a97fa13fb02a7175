package utp_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

func TestEachStatusHasItsVerdict(t *testing.T) {
	for status, want := range map[string]payment.Verdict{
		"charged": payment.VerdictCharged, "refunded": payment.VerdictCharged, "refunding": payment.VerdictCharged, "reversed": payment.VerdictCharged,
		"rejected": payment.VerdictRefused, "failed": payment.VerdictFailed, "action_required": payment.VerdictAction,
		"payment_suspended": payment.VerdictHeld, "payout_suspended": payment.VerdictHeld,
		"created": payment.VerdictPending, "new": payment.VerdictPending, "authorizing": payment.VerdictPending, "charging": payment.VerdictPending,
		"pre_authorized_3ds": payment.VerdictPending, "auth_required": payment.VerdictPending, "unknown": payment.VerdictPending,
		"cancelled": payment.VerdictPending, "a_status_of_tomorrow": payment.VerdictPending,
	} {
		platform := startPlatform(t, respond(201, theirBody(status)))
		submitted, inquired := platform.submit(platform.payCall()), platform.inquire(platform.question(actors.Pay, 0))
		if submitted.Verdict != want || inquired.Verdict != want {
			t.Errorf("%s is %v when called and %v when asked, want %v", status, submitted.Verdict, inquired.Verdict, want)
		}
		if want == payment.VerdictPending && string(submitted.Status) != status {
			t.Errorf("%s is passed on as %q", status, submitted.Status)
		}
	}
}

func TestFailureHasTheOtherPlatformsReason(t *testing.T) {
	for body, want := range map[string]payment.Failure{
		theirBody("rejected", `"error_description":"card_declined"`):                                            {Code: "card_declined"},
		theirBody("rejected", `"error_description":""`):                                                         {Code: "card_declined", Detail: "The platform rejected the transaction."},
		theirBody("rejected", `"error_description":"Trop peu","error_code":"insufficient_funds"`):               {Code: "insufficient_funds"},
		theirBody("rejected", `"error_description":"insufficient balance","error_code":"insufficient_balance"`): {Code: "card_declined", Detail: "insufficient balance"},
		theirBody("failed", `"error_description":"Lost","error_code":7`):                                        {Code: "processing_error", Detail: "Lost"},
		theirBody("failed", `"error_description":"processing_error"`):                                           {Code: "processing_error"},
		theirBody("failed", `"error_description":null,"error_code":null`):                                       {Code: "processing_error", Detail: "The transaction failed at the platform."},
	} {
		r := startPlatform(t, respond(201, body))
		if o := r.submit(r.payCall()); o.Failure != want {
			t.Errorf("%s: the reason is %q, want %q", body, o.Failure, want)
		}
	}
}

func TestPayerActionIsPassedOn(t *testing.T) {
	const page = `"simple_auth_redirect_url":"https://theirs.example/pay/1"`
	platform := startPlatform(t, respond(201, theirBody("action_required", page,
		`"auth_params":{"type":"auth_3ds_form","version":"1.0","method":"post","url":"https://acs.example/","params":{"creq":"abc","n":7}}`)))
	a := platform.submit(platform.payCall()).Action
	if a == nil || a.Type != "auth_3ds_form" || a.Method != "post" || a.URL != "https://acs.example/" || a.Page != "https://theirs.example/pay/1" ||
		string(a.Params) != `{"creq":"abc"}` || a.Material != nil || a.Destinations != nil {
		t.Errorf("a 3-D Secure form is %+v", a)
	}
	platform = startPlatform(t, respond(201, theirBody("action_required", page, `"auth_params":null`,
		`"additional_params_for_auth":{"type":"signature","expires_at":"2026-09-03 10:20:30.123456 Etc/UTC"}`)))
	a = platform.submit(platform.payCall()).Action
	if a == nil || a.Type != "" || !strings.Contains(string(a.Material), `"signature"`) || a.ExpiresAt != ledger.MicrosOf(time.Date(2026, 9, 3, 10, 20, 30, 123456000, time.UTC)) {
		t.Errorf("material is %+v", a)
	}
	platform = startPlatform(t, respond(201, theirBody("action_required", page, `"additional_params_for_auth":{}`,
		`"availble_destinations":[{"target_bank_id":"b1","name":"First"},{"name":"none"},{"target_bank_id":"b2","name":"Second"}]`)))
	a = platform.submit(platform.payCall()).Action
	if a == nil || a.Material != nil || len(a.Destinations) != 2 || a.Destinations[1] != (payment.Destination{ID: "b2", Name: "Second"}) {
		t.Errorf("destinations are %+v", a)
	}
}

// Material is the data that the payer must sign or answer. For the kinds of material that every platform has, we
// know which members an answer must have. So we refuse an incomplete answer before the other platform gets a
// request.
func TestRequiredMembersOfMaterial(t *testing.T) {
	for material, want := range map[string]string{
		`{"type":"otp","digits":6}`: "otp", `{"payload":"p","sequence":7,"expires_at":"2026-09-03T10:20:30+00:00"}`: "signature", `{"type":"otp","payload":"p"}`: "otp",
		`{"type":"eip712"}`: "", `{"type":7}`: "", `{"payload":{"a":1}}`: "", `{"payload":""}`: "",
	} {
		r := startPlatform(t, respond(201, theirBody("action_required", `"additional_params_for_auth":`+material)))
		if a := r.submit(r.payCall()).Action; a == nil || strings.Join(a.Requires, " ") != want {
			t.Errorf("%s: %+v, want %q", material, a, want)
		}
	}
}

// A browser is never sent to an address that would run code.
func TestOnlyWebAddressesArePassedOn(t *testing.T) {
	r := startPlatform(t, respond(201, theirBody("action_required", `"simple_auth_redirect_url":"javascript:alert(1)"`,
		`"auth_params":{"type":"redirect","method":"get","url":"data:text/html,x"}`)))
	if a := r.submit(r.payCall()).Action; a == nil || a.Page != "" || a.URL != "" || a.Type != "" {
		t.Errorf("the action is %+v", a)
	}
}

// An inquiry returns the payer's action only to a caller that does not know it.
func TestInquiryDoesNotRepeatAKnownAction(t *testing.T) {
	platform := startPlatform(t, respond(200, theirBody("action_required", `"simple_auth_redirect_url":"https://theirs.example/pay/1"`)))
	q := platform.question(actors.Pay, 0)
	if o := platform.inquire(q); o.Action == nil || o.Action.Page != "https://theirs.example/pay/1" {
		t.Errorf("a caller that lost the answer gets %+v", o.Action)
	}
	q.ActionKnown = true
	if o := platform.inquire(q); o.Action != nil || o.Verdict != payment.VerdictAction {
		t.Errorf("a caller that knows the action gets %v %+v", o.Verdict, o.Action)
	}
}

// The address of the other platform's page expires before our payer's time is over, and the payload to be signed
// may expire too. Both are read again, even if the response with the other platform's id was lost.
func TestExpiredPagesAndPayloadsAreReadAgain(t *testing.T) {
	freshBody := theirBody("action_required", `"simple_auth_redirect_url":"https://theirs.example/pay/2"`, `"additional_params_for_auth":{"payload":"p2"}`)
	platform := startPlatform(t, respond(200, freshBody))
	firstAction := platform.submit(platform.payCall()).Action
	q := platform.question(actors.Pay, 0)
	q.ActionKnown = true
	o := platform.Reissue(t.Context(), q)
	if now := platform.clock.Now(); o.Verdict != payment.VerdictAction || o.Action == nil || o.Action.Page != "https://theirs.example/pay/2" ||
		o.Action.PageUntil != ledger.MicrosOf(now.Add(10*time.Minute)) || firstAction.PageUntil != o.Action.PageUntil || string(o.Action.Material) != `{"payload":"p2"}` || !q.ActionKnown {
		t.Errorf("%+v with %+v", o, o.Action)
	}
	listedBody := `{"data":[` + strings.Replace(freshBody, "https://theirs.example/pay/2", "", 1) + `],"cursor":{"cursor_value":null}}`
	platform = startPlatform(t, func(w http.ResponseWriter, got receivedRequest, n int) {
		if strings.Contains(got.query, "limit=") {
			respond(200, listedBody)(w, got, n)
			return
		}
		respond(200, freshBody)(w, got, n)
	})
	q = platform.question(actors.Pay, 0)
	q.Meta = nil
	if o := platform.inquire(q); o.Action == nil || o.Action.Page != "https://theirs.example/pay/2" {
		t.Errorf("found in a list: %+v with %+v", o, o.Action)
	}
	if requests := platform.requests(); len(requests) != 2 || requests[1].path != "/api/v1/transactions/their-id" {
		t.Errorf("%+v", requests)
	}
}

func TestEachOperationHasItsOwnRequest(t *testing.T) {
	for operation, want := range map[actors.Operation]receivedRequest{
		actors.Capture: {method: "POST", path: "/api/v1/transactions/commit/their-id", body: `{"params":{"amount":"400","money_storage_meta":{}}}`},
		actors.Void:    {method: "PUT", path: "/api/v1/transactions/their-id", body: `{"params":{"type":"cancel"}}`},
		actors.Refund:  {method: "PUT", path: "/api/v1/transactions/their-id", body: `{"params":{"amount":"400","type":"refund"}}`},
	} {
		platform := startPlatform(t, respond(200, theirBody("charging")))
		platform.submit(platform.followUpCall(operation, 400))
		got := platform.requests()[0]
		if got.method != want.method || got.path != want.path || got.body != want.body || got.header.Get("idempotency-key") != requestID.String() {
			t.Errorf("%v asks %s %s %s with key %q", operation, got.method, got.path, got.body, got.header.Get("idempotency-key"))
		}
	}
}

func TestOutcomeOfAnOperationFollowsFromTheTransaction(t *testing.T) {
	const refundID = `"refund_id":"r2"`
	for name, c := range map[string]struct {
		operation                   actors.Operation
		returnedBefore              uint64 // total amount of earlier refunds
		meta                        string // stored in addition to the id
		theirTransaction            string
		wantSubmitted, wantInquired payment.Verdict
	}{
		"captured":                      {actors.Capture, 0, "", theirBody("charged", `"captured_amount":"400"`), payment.VerdictCharged, payment.VerdictCharged},
		"still held":                    {actors.Capture, 0, "", theirBody("payment_suspended"), payment.VerdictPending, payment.VerdictNotFound},
		"capture refused":               {actors.Capture, 0, "", theirBody("payment_suspended", `"error_description":"no"`), payment.VerdictRefused, payment.VerdictNotFound},
		"the hold is gone":              {actors.Capture, 0, "", theirBody("failed", `"error_description":"hold expired"`), payment.VerdictFailed, payment.VerdictFailed},
		"voided":                        {actors.Void, 0, "", theirBody("failed"), payment.VerdictCharged, payment.VerdictCharged},
		"rejected already":              {actors.Void, 0, "", theirBody("rejected"), payment.VerdictCharged, payment.VerdictCharged},
		"settled before the void":       {actors.Void, 0, "", theirBody("charged"), payment.VerdictRefused, payment.VerdictRefused},
		"not voided yet":                {actors.Void, 0, "", theirBody("action_required"), payment.VerdictPending, payment.VerdictNotFound},
		"refunded":                      {actors.Refund, 0, "", theirBody("refunded", refundID, `"refunded_amount":"400"`), payment.VerdictCharged, payment.VerdictCharged},
		"refunded, no amount shown":     {actors.Refund, 0, "", theirBody("refunded", refundID), payment.VerdictCharged, payment.VerdictCharged},
		"refund in progress":            {actors.Refund, 0, "", theirBody("refunding", refundID), payment.VerdictPending, payment.VerdictPending},
		"refund refused":                {actors.Refund, 0, "", theirBody("charged", refundID, `"refund_msg":"refund_refused"`), payment.VerdictRefused, payment.VerdictRefused},
		"refund not decided":            {actors.Refund, 0, "", theirBody("charged", refundID, `"refund_msg":""`), payment.VerdictPending, payment.VerdictPending},
		"refund never arrived":          {actors.Refund, 0, "", theirBody("charged"), payment.VerdictPending, payment.VerdictNotFound},
		"only the earlier refund":       {actors.Refund, 300, `,"utp_refund_id":"r2"`, theirBody("refunded", refundID, `"refunded_amount":"300"`), payment.VerdictPending, payment.VerdictNotFound},
		"another refund":                {actors.Refund, 300, `,"utp_refund_id":"r1"`, theirBody("refunded", refundID, `"refunded_amount":"700"`), payment.VerdictCharged, payment.VerdictCharged},
		"another refund is refused":     {actors.Refund, 300, `,"utp_refund_id":"r1"`, theirBody("refunded", refundID, `"refunded_amount":"300"`, `"refund_msg":"no"`), payment.VerdictRefused, payment.VerdictRefused},
		"another refund is not decided": {actors.Refund, 300, `,"utp_refund_id":"r1"`, theirBody("refunded", refundID, `"refunded_amount":"300"`), payment.VerdictPending, payment.VerdictPending},
		"more than requested":           {actors.Refund, 0, "", theirBody("refunded", refundID, `"refunded_amount":"1000"`), payment.VerdictCharged, payment.VerdictCharged},
	} {
		platform := startPlatform(t, respond(200, c.theirTransaction))
		call, q := platform.followUpCall(c.operation, 400), platform.question(c.operation, 400)
		call.Meta = []byte(`{"utp_id":"their-id"` + c.meta + `}`)
		call.RefundedAmount = money.FromUint64(c.returnedBefore)
		q.ChargeState = call.ChargeState
		submitted, inquired := platform.submit(call), platform.inquire(q)
		if submitted.Verdict != c.wantSubmitted || inquired.Verdict != c.wantInquired {
			t.Errorf("%s: %v when answered and %v when asked, want %v and %v", name, submitted.Verdict, inquired.Verdict, c.wantSubmitted, c.wantInquired)
		}
		isDecided := c.wantSubmitted == payment.VerdictCharged || c.wantSubmitted == payment.VerdictRefused
		wantStored := c.operation == actors.Refund && (isDecided || strings.Contains(c.meta, "r2"))
		if strings.Contains(string(submitted.Meta), `"utp_refund_id":"r2"`) != wantStored {
			t.Errorf("%s: kept %s", name, submitted.Meta)
		}
		if isLogged := strings.Contains(platform.log.String(), "has moved another amount"); isLogged != (name == "more than requested") {
			t.Errorf("%s: the operator reads %q", name, platform.log)
		}
	}
}

// After a repeated request the transaction is read: the cached first response may be outdated, and a refusal may
// only mean that the request is a repetition.
func TestARepeatedOperationIsReadAgain(t *testing.T) {
	const currentState = `"refund_id":"r1","refunded_amount":"400"`
	for name, firstAnswer := range map[string]func(http.ResponseWriter, receivedRequest, int){
		"the first answer again": func(w http.ResponseWriter, got receivedRequest, n int) {
			w.Header().Set("x-idempotent-replay", "true")
			respond(200, theirBody("refunding", `"refund_id":"r1"`))(w, got, n)
		},
		"refused, because it was done already": respond(422, `{"error":"invalid_refund_amount","message":"0 is left to refund"}`),
		"a conflict with the same request":     respond(409, `{"error":"conflict"}`),
	} {
		platform := startPlatform(t, func(w http.ResponseWriter, platform receivedRequest, n int) {
			if n == 1 {
				firstAnswer(w, platform, n)
				return
			}
			respond(200, theirBody("refunded", currentState))(w, platform, n)
		})
		platform.expectVerdict(platform.submit(platform.followUpCall(actors.Refund, 400)), payment.VerdictCharged, false)
		if got := platform.requests(); len(got) != 2 || got[1].method != "GET" {
			t.Errorf("%s: asked %d times", name, len(got))
		}
	}
}

func TestRefusedOperationHasAReason(t *testing.T) {
	platform := startPlatform(t, func(w http.ResponseWriter, platform receivedRequest, n int) {
		if n == 1 {
			respond(422, `{"error":"not_reversible","message":"no"}`)(w, platform, n)
			return
		}
		respond(200, theirBody("charged"))(w, platform, n)
	})
	o := platform.submit(platform.followUpCall(actors.Refund, 400))
	if o.Verdict != payment.VerdictRefused || o.Failure.Detail != "The platform did not do it: not_reversible." {
		t.Errorf("%v %q", o.Verdict, o.Failure)
	}
}

func TestMaterialAndChoicesArePassedOn(t *testing.T) {
	platform := startPlatform(t, respond(200, theirBody("charged")))
	call := platform.followUpCall(actors.Complete, 0)
	call.Material = []byte(`{"otp":"123456"}`)
	platform.expectVerdict(platform.submit(call), payment.VerdictCharged, false)
	got := platform.requests()[0]
	if got.path != "/api/v1/transactions/additional_params_for_auth/their-id" || got.body != `{"additional_params_for_auth":{"otp":"123456"}}` {
		t.Errorf("material goes to %s as %s", got.path, got.body)
	}
	call = platform.followUpCall(actors.Complete, 0)
	call.Choice = `b"1`
	platform.expectVerdict(platform.submit(call), payment.VerdictCharged, false)
	got = platform.requests()[1]
	if got.path != "/api/v1/transactions/choose_target_destination/their-id" || got.body != `{"target_bank_id":"b\"1"}` {
		t.Errorf("a choice goes to %s as %s", got.path, got.body)
	}
	platform.expectVerdict(platform.submit(platform.followUpCall(actors.Complete, 0)), payment.VerdictCharged, false)
	if got = platform.requests()[2]; got.method != "GET" || got.path != "/api/v1/transactions/their-id" {
		t.Errorf("a payer who came back makes us ask %s %s", got.method, got.path)
	}
}
