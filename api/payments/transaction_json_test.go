package payments

import (
	"crypto/rand"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	paymentactor "mizan/actors/payment"
	"mizan/api/web/payerpage"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

var (
	started = time.Date(2026, 9, 3, 10, 15, 30, 123456000, time.UTC)
	stamp   = posting.RecordHeader{
		Version: 3, LastSeq: 9, StartedAt: ledger.MicrosOf(started), UpdatedAt: ledger.MicrosOf(started.Add(time.Second)), Due: ledger.MicrosOf(started.Add(30 * time.Minute)),
	}
	partnerView   = viewContext{at: started.Add(time.Minute), includesPayerPage: true}
	transactionID = uuid.MustParse("0f8fad5b-d9cb-469f-a165-70867728950e")
	orgID         = uuid.MustParse("7c9e6679-7425-40de-944b-e07fc1f90ae7")
)

// newShowingHandlers returns handlers that only show transactions, and the partner that owns them.
func newShowingHandlers(t testing.TB) (*Handlers, *directory.Partner) {
	t.Helper()
	keyring, err := secret.CreateKeyring(filepath.Join(t.TempDir(), "keyring"), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{Pages: payerpage.Pages{Base: "https://pay.example", Tokens: keyring.PageTokens()}}), &directory.Partner{Org: orgID, Number: 1}
}

func chargedRecord() *payment.Record {
	return &payment.Record{
		ID: transactionID, Partner: 1, Status: payment.Charged,
		Request: payment.Request{
			Type: payment.Payment, TxID: "order \"1\"", Amount: money.FromUint64(10_000), Asset: money.Asset{Currency: "USD", Env: money.Test},
			Description: "Two <apples>", HasDescription: true, MerchantMeta: []byte(`{"k":"v"}`), Customer: []byte(`{"email":"a@b"}`),
			ReturnURL: "https://a/", FailURL: "https://b/", Method: "bank_card", CardBIN: "424242", CardLast4: "4242", CardFingerprint: "p",
		},
		Fee: money.FromUint64(250), AmountWithFee: money.FromUint64(10_000), DestAmount: money.FromUint64(9_750),
		MerchantAmount: money.Signed{Abs: money.FromUint64(9_750)},
		Terminal:       ledger.ID{1}, Route: "simulator", RRN: "123456789012", FinishedAt: ledger.MicrosOf(started.Add(time.Second)),
	}
}

// setAction changes a charged transaction to one whose payer has ten minutes to act.
func setAction(r *payment.Record, a payment.Action) {
	a.Until = ledger.MicrosOf(started.Add(10 * time.Minute))
	r.Status, r.FinishedAt, r.RRN, r.Action = payment.ActionRequired, 0, "", &a
}

// waitingReplacements are pairs of texts. In the JSON of a charge that waits for its payer the second text
// of each pair replaces the first, which is in fullJSON.
var waitingReplacements = []string{`"status":"charged"`, `"status":"action_required"`, `"2026-09-03T10:15:31.123456+00:00"`, `null`, `,"rrn":"123456789012"`, ``}

// pageMember is the member with the address of the payer's page; the test replaces ADDRESS by the address.
const pageMember = `"simple_auth_redirect_url":"ADDRESS",`

func TestTransactionIsShown(t *testing.T) {
	const fullJSON = `{"id":"0f8fad5b-d9cb-469f-a165-70867728950e","txid":"order \"1\"","type":"payment","status":"charged","error_description":"","error_code":null,` +
		`"amount":"10000","amount_with_fee":"10000","amount_dest":"9750","merchant_amount":"9750","currency":"USD","currency_dest":"USD","env":"test","scale":2,` +
		`"description":"Two <apples>","merchant_meta":{"k":"v"},"payment_method":{"type":"bank_card","brand":"visa","bin":"424242","last4":"4242"},"customer":{"email":"a@b"},"started":"2026-09-03T10:15:30.123456+00:00","finished":"2026-09-03T10:15:31.123456+00:00",` +
		`"widget_url":null,"auth_params":null,"additional_params_for_auth":{},"route":"simulator","rrn":"123456789012"}`
	const rrnMember = `"rrn":"123456789012"`
	for _, c := range []struct {
		name   string
		change func(*payment.Record)
		// pairs of texts: the second text replaces the first, which is in fullJSON
		replacements []string
	}{
		{"charged", func(*payment.Record) {}, nil},
		{"no txid", func(r *payment.Record) { r.TxID = "" }, []string{`"order \"1\""`, `null`}},
		{"payout", func(r *payment.Record) { r.Type = payment.Payout },
			[]string{`"type":"payment"`, `"type":"payout"`, `"auth_params":null,"additional_params_for_auth":{},`, ``}},
		{"negative merchant amount", func(r *payment.Record) { r.MerchantAmount = money.Difference(money.Amount{}, money.FromUint64(7)) },
			[]string{`"merchant_amount":"9750"`, `"merchant_amount":"-7"`}},
		{"never routed", func(r *payment.Record) {
			r.Terminal, r.Route, r.RRN, r.Status, r.Failure = ledger.ID{}, "", "", payment.Rejected, payment.Failure{Code: payment.NoTerminal}
		}, []string{`"status":"charged","error_description":"","error_code":null`, `"status":"rejected","error_description":"no terminal available","error_code":"no_terminal"`,
			`"Two <apples>"`, `null`, `"route":"simulator","rrn":"123456789012"`, `"route":""`}},
		{"not final", func(r *payment.Record) { r.Status, r.FinishedAt = payment.Charging, 0 },
			[]string{`"status":"charged"`, `"status":"charging"`, `"2026-09-03T10:15:31.123456+00:00"`, `null`}},
		{"no description", func(r *payment.Record) { r.HasDescription, r.Description = false, "" }, []string{`"Two <apples>"`, `null`}},
		{"empty description", func(r *payment.Record) { r.Description = "" }, []string{`"Two <apples>"`, `""`}},
		{"terminal's own text", func(r *payment.Record) { r.TerminalText = "Shop" }, []string{`"Two <apples>"`, `"Shop"`}},
		{"terminal's own text, nothing sent", func(r *payment.Record) { r.TerminalText, r.HasDescription, r.Description = "Shop", false, "" }, []string{`"Two <apples>"`, `"Shop"`}},
		{"no meta", func(r *payment.Record) { r.MerchantMeta = nil }, []string{`{"k":"v"}`, `{}`}},
		{"asset with a network", func(r *payment.Record) { r.Asset = money.Asset{Currency: "USDT", Network: "bsc", Env: money.Prod} },
			[]string{`"currency":"USD","currency_dest":"USD","env":"test","scale":2`, `"currency":"USDT","currency_dest":"USDT","network":"bsc","env":"prod","scale":18`}},
		{"unresolved scale", func(r *payment.Record) { r.Asset = money.Asset{Currency: "USDT", Env: money.Prod} },
			[]string{`"currency":"USD","currency_dest":"USD","env":"test","scale":2`, `"currency":"USDT","currency_dest":"USDT","env":"prod","scale":null`}},
		{"converted", func(r *payment.Record) {
			r.Rate, r.SettlementAsset = parsedRate(t, "0.9250"), money.Asset{Currency: "USDT", Network: "bsc", Env: money.Test}
		}, []string{`"currency_dest":"USD","env":"test","scale":2`, `"currency_dest":"USDT","currency_rate":"0.925","env":"test","scale":2,"network_dest":"bsc","scale_dest":18`}},
		{"held", func(r *payment.Record) {
			r.Status, r.FinishedAt, r.HoldUntil = payment.PaymentHeld, 0, ledger.MicrosOf(started.Add(time.Hour))
		}, []string{`"status":"charged"`, `"status":"payment_suspended"`, `"2026-09-03T10:15:31.123456+00:00"`, `null`, rrnMember, rrnMember + `,"hold_expires_at":"2026-09-03T11:15:30.123456+00:00"`}},
		{"captured", func(r *payment.Record) { r.CapturedAmount = money.FromUint64(6_000) }, []string{rrnMember, rrnMember + `,"captured_amount":"6000"`}},
		{"an empty txid", func(r *payment.Record) { r.TxID, r.EmptyTxID = "", true }, []string{`"order \"1\""`, `""`}},
		{"a refund under way", func(r *payment.Record) {
			r.Refunds = []payment.RefundRecord{{ID: transactionID, Amount: money.FromUint64(7), Status: payment.RefundIsPending, CreatedAt: ledger.MicrosOf(started)}}
		}, []string{rrnMember, rrnMember + `,"refund_id":"0f8fad5b-d9cb-469f-a165-70867728950e","refund_msg":"The refund is under way.","refunded_amount":"0","refunds":[` +
			`{"refund_id":"0f8fad5b-d9cb-469f-a165-70867728950e","amount":"7","fee_amount":"0","status":"pending","error_code":null,"msg":"The refund is under way.",` +
			`"created":"2026-09-03T10:15:30.123456+00:00","finished":null}]`}},
		{"a refund, and then a refused refund", func(r *payment.Record) {
			at := ledger.MicrosOf(started)
			r.Status, r.RefundedAmount = payment.Refunded, money.FromUint64(4_000)
			r.Refunds = []payment.RefundRecord{
				{ID: transactionID, Amount: r.RefundedAmount, RefundedFee: money.FromUint64(3), Status: payment.RefundSucceeded, CreatedAt: at, FinishedAt: at},
				{ID: orgID, Amount: money.FromUint64(1), Status: payment.RefundFailed, Failure: payment.Failure{Code: payment.RefundDeclined, Detail: "Why."}, CreatedAt: at, FinishedAt: at},
			}
		}, []string{`"status":"charged"`, `"status":"refunded"`, rrnMember, rrnMember + `,"refund_id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","refund_msg":"Why.","refunded_amount":"4000","refunds":[` +
			`{"refund_id":"0f8fad5b-d9cb-469f-a165-70867728950e","amount":"4000","fee_amount":"3","status":"succeeded","error_code":null,"msg":"The money was returned.",` +
			`"created":"2026-09-03T10:15:30.123456+00:00","finished":"2026-09-03T10:15:30.123456+00:00"},` +
			`{"refund_id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","amount":"1","fee_amount":"0","status":"failed","error_code":"refund_refused","msg":"Why.",` +
			`"created":"2026-09-03T10:15:30.123456+00:00","finished":"2026-09-03T10:15:30.123456+00:00"}]`}},
		{"money taken back, which has no error code", func(r *payment.Record) { r.Failure = payment.Failure{Code: payment.TakenBack} },
			[]string{`"error_description":"","error_code":null`, `"error_description":"The rail took the money back (chargeback).","error_code":null`}},
		{"a customer", func(r *payment.Record) { r.Customer = []byte(`{"name":"J","x":[1]}`) }, []string{`{"email":"a@b"}`, `{"name":"J","x":[1]}`}},
		{"no credentials", func(r *payment.Record) { r.Method, r.CardBIN = "", "" }, []string{`{"type":"bank_card","brand":"visa","bin":"424242","last4":"4242"}`, `null`}},
		{"another method", func(r *payment.Record) { r.Method, r.CardBIN = "sbp", "" }, []string{`{"type":"bank_card","brand":"visa","bin":"424242","last4":"4242"}`, `{"type":"sbp"}`}},
		{"a card of an unknown scheme", func(r *payment.Record) { r.CardBIN = "999999" }, []string{`"brand":"visa","bin":"424242"`, `"brand":null,"bin":"999999"`}},
		{"created by a payment link", func(r *payment.Record) { r.LinkID = orgID }, []string{rrnMember, rrnMember + `,"link_id":"7c9e6679-7425-40de-944b-e07fc1f90ae7"`}},
		{"reversed with a return id", func(r *payment.Record) { r.Status, r.ReturnID = payment.Reversed, transactionID },
			[]string{`"status":"charged"`, `"status":"reversed"`, `"rrn":"123456789012"`, `"rrn":"123456789012","return_id":"0f8fad5b-d9cb-469f-a165-70867728950e"`}},

		{"3-D Secure", func(r *payment.Record) {
			setAction(r, payment.Action{Type: "auth_3ds_form", Method: "post", URL: "https://acs/?a=1&b=2", Params: []byte(`{"creq":"x"}`)})
		}, append(waitingReplacements, `"auth_params":null,"additional_params_for_auth":{},`,
			`"auth_params":{"type":"auth_3ds_form","version":"1.0","method":"post","url":"https://acs/?a=1&b=2","params":{"creq":"x"}},"additional_params_for_auth":{},`+pageMember)},
		{"an action without params", func(r *payment.Record) {
			setAction(r, payment.Action{Type: "redirect", Method: "get", URL: "https://acs/"})
		},
			append(waitingReplacements, `"auth_params":null,"additional_params_for_auth":{},`,
				`"auth_params":{"type":"redirect","version":"1.0","method":"get","url":"https://acs/","params":{}},"additional_params_for_auth":{},`+pageMember)},
		{"an action of type none", func(r *payment.Record) { setAction(r, payment.Action{Type: "none"}) },
			append(waitingReplacements, `"auth_params":null,"additional_params_for_auth":{},`,
				`"auth_params":{"type":"none","version":"1.0","method":"get","url":"","params":{}},"additional_params_for_auth":{},`+pageMember)},
		{"an action only on the payer's page", func(r *payment.Record) { setAction(r, payment.Action{Page: "https://qr/"}) },
			append(waitingReplacements, `"additional_params_for_auth":{},`, `"additional_params_for_auth":{},`+pageMember)},
		{"material to sign", func(r *payment.Record) { setAction(r, payment.Action{Material: []byte(`{"otp":"required"}`)}) },
			append(waitingReplacements, `"additional_params_for_auth":{},`, `"additional_params_for_auth":{"otp":"required"},`+pageMember)},
		{"material with a deadline", func(r *payment.Record) {
			setAction(r, payment.Action{Material: []byte(`{"tx":"00","expires_at":"soon","n":[1, 2]}`), ExpiresAt: ledger.MicrosOf(started.Add(time.Minute))})
		}, append(waitingReplacements, `"additional_params_for_auth":{},`,
			`"additional_params_for_auth":{"tx":"00","n":[1, 2],"expires_at":"2026-09-03T10:16:30.123456+00:00"},`+pageMember+`"expires_at":"2026-09-03T10:16:30.123456+00:00",`)},
		{"destinations to choose from", func(r *payment.Record) {
			r.Type = payment.Payout
			setAction(r, payment.Action{Material: []byte(`{"not":"shown"}`), Destinations: []payment.Destination{{ID: "b1", Name: "Bank \"1\""}, {ID: "b2", Name: "Bank 2"}}})
		}, append(waitingReplacements, `"type":"payment"`, `"type":"payout"`, `"auth_params":null,"additional_params_for_auth":{},`,
			pageMember+`"availble_destinations":[{"target_bank_id":"b1","name":"Bank \"1\""},{"target_bank_id":"b2","name":"Bank 2"}],`)},
		{"an action that is over", func(r *payment.Record) {
			setAction(r, payment.Action{Type: "redirect", Method: "get", URL: "https://acs/", Material: []byte(`{"a":1}`), Destinations: []payment.Destination{{ID: "b"}}, ExpiresAt: 1})
			r.Status = payment.Charging
		}, append(waitingReplacements, "action_required", "charging")},
	} {
		h, partner := newShowingHandlers(t)
		r := chargedRecord()
		c.change(r)
		want := fullJSON
		for i := 0; i < len(c.replacements); i += 2 {
			if !strings.Contains(want, c.replacements[i]) {
				t.Fatalf("%s: the whole does not have %s", c.name, c.replacements[i])
			}
			want = strings.Replace(want, c.replacements[i], c.replacements[i+1], 1)
		}
		want = strings.Replace(want, "ADDRESS", h.cfg.Pages.Address(orgID, transactionID, started.Add(16*time.Minute)), 1)
		got := string(h.appendTransaction(nil, partner, &paymentactor.Result{Record: r, Header: stamp}, partnerView))
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, want)
		}
	}
}

func parsedRate(t *testing.T, text string) money.Rate {
	t.Helper()
	r, err := money.ParseRate(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// hostedRecord returns a hosted transaction, which waits until its payer has entered the credentials.
func hostedRecord() *payment.Record {
	r := chargedRecord()
	r.Status, r.Hosted, r.Terminal, r.Route, r.RRN, r.FinishedAt, r.Method, r.CardFingerprint = payment.Created, true, ledger.ID{}, "", "", 0, "", ""
	return r
}

func TestHostedCreateReturnsItsShortForm(t *testing.T) {
	h, _ := newShowingHandlers(t)
	address := h.cfg.Pages.Address(orgID, transactionID, started.Add(16*time.Minute))
	want := `{"id":"0f8fad5b-d9cb-469f-a165-70867728950e","status":"created","type":"payment","env":"test","txid":"order \"1\"",` +
		`"amount":"10000","currency":"USD","started":"2026-09-03T10:15:30.123456+00:00","widget_url":"` + address + `"}`
	r := hostedRecord()
	if got := string(h.appendHosted(nil, orgID, &paymentactor.Result{Record: r, Header: stamp}, partnerView)); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	r.Status, r.TxID = payment.Charged, ""
	want = strings.NewReplacer(`"created"`, `"charged"`, `"order \"1\""`, `null`, `"`+address+`"`, `null`).Replace(want)
	if got := string(h.appendHosted(nil, orgID, &paymentactor.Result{Record: r, Header: stamp}, partnerView)); got != want {
		t.Errorf("charged: %s, want\n%s", got, want)
	}
}

// Both addresses in the response open the same page, for 15 minutes after the response.
func TestWaitingHostedTransactionShowsItsPage(t *testing.T) {
	h, partner := newShowingHandlers(t)
	fields := make(map[string]any)
	if err := json.Unmarshal(h.appendTransaction(nil, partner, &paymentactor.Result{Record: hostedRecord(), Header: stamp}, partnerView), &fields); err != nil {
		t.Fatal(err)
	}
	for field, expires := range map[string]time.Time{"widget_url": started.Add(16 * time.Minute), "simple_auth_redirect_url": started.Add(16 * time.Minute)} {
		address, _ := fields[field].(string)
		token, isPage := strings.CutPrefix(address, "https://pay.example/pay/0f8fad5b-d9cb-469f-a165-70867728950e?token=")
		org, err := h.cfg.Pages.Open(transactionID, token, expires.Add(-time.Microsecond))
		_, openErr := h.cfg.Pages.Open(transactionID, token, expires)
		if !isPage || org != orgID || err != nil || openErr != payerpage.ErrExpired {
			t.Errorf("%s %q opens %v, %v, and when its time is over %v", field, address, org, err, openErr)
		}
	}
	if fields["description"] != nil || fields["route"] != "" || fields["auth_params"] != nil {
		t.Errorf("before routing: %v", fields)
	}
}

// Only a caller that reads the transaction with the partner's own key gets an address that
// opens the payer's page, and nobody gets one after the payer's time.
func TestPageAddressesAreForThePartnerKeyWithinThePayersTime(t *testing.T) {
	h, partner := newShowingHandlers(t)
	waitingRecord := chargedRecord()
	setAction(waitingRecord, payment.Action{Type: "redirect", Method: "get", URL: "https://acs/", Material: []byte(`{"a":1}`), ExpiresAt: ledger.MicrosOf(started.Add(time.Minute))})
	payoutRecord := chargedRecord()
	payoutRecord.Type = payment.Payout
	setAction(payoutRecord, payment.Action{Destinations: []payment.Destination{{ID: "b1"}}})
	for name, c := range map[string]struct {
		record    *payment.Record
		payerTime time.Duration
		hasWidget bool
	}{"hosted": {hostedRecord(), 30 * time.Minute, true}, "payer acts": {waitingRecord, 10 * time.Minute, false}, "payout": {payoutRecord, 10 * time.Minute, false}} {
		show := func(v viewContext) map[string]any {
			var members map[string]any
			if err := json.Unmarshal(h.appendTransaction(nil, partner, &paymentactor.Result{Record: c.record, Header: stamp}, v), &members); err != nil {
				t.Fatal(err)
			}
			return members
		}
		lastMoment := started.Add(c.payerTime - time.Microsecond)
		for includesPage, want := range map[bool]any{true: h.cfg.Pages.Address(orgID, transactionID, lastMoment.Add(15*time.Minute)), false: nil} {
			shown := show(viewContext{at: lastMoment, includesPayerPage: includesPage})
			address, isShown := shown["simple_auth_redirect_url"]
			if widget := shown["widget_url"]; !isShown || address != want || c.hasWidget && widget != want || !c.hasWidget && widget != nil {
				t.Errorf("%s, includes the page %v: %v and %v", name, includesPage, address, widget)
			}
		}
		expired := show(viewContext{at: started.Add(c.payerTime), includesPayerPage: true})
		for _, field := range []string{"simple_auth_redirect_url", "availble_destinations", "expires_at"} {
			if _, isShown := expired[field]; isShown {
				t.Errorf("%s: past its end it has %s", name, field)
			}
		}
		if expired["widget_url"] != nil || expired["auth_params"] != nil {
			t.Errorf("%s: past its end it shows %v %v", name, expired["widget_url"], expired["auth_params"])
		}
	}
}

func TestDescriptionsAreInThePartnersLanguage(t *testing.T) {
	for lang, want := range map[string][2]string{
		"":   {"insufficient balance", "The provider refused the refund."},
		"en": {"insufficient balance", "The provider refused the refund."},
		"ru": {"недостаточно средств на балансе", "Провайдер отказал в возврате."},
		"fr": {"insufficient balance", "The provider refused the refund."},
	} {
		h, partner := newShowingHandlers(t)
		partner.Lang = lang
		r := chargedRecord()
		r.Failure = payment.Failure{Code: payment.InsufficientBalance}
		r.Refunds = []payment.RefundRecord{{ID: transactionID, Status: payment.RefundFailed, Failure: payment.Failure{Code: payment.RefundDeclined}}}
		var shown struct {
			Description string `json:"error_description"`
			Message     string `json:"refund_msg"`
		}
		if err := json.Unmarshal(h.appendTransaction(nil, partner, &paymentactor.Result{Record: r, Header: stamp}, partnerView), &shown); err != nil {
			t.Fatal(err)
		}
		if got := [2]string{shown.Description, shown.Message}; got != want {
			t.Errorf("%q: %q, want %q", lang, got, want)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"params":{"type":"payment","amount":"12345","currency":"USD","txid":"order-000000123456","env":"test","returnUrl":"https://shop.example/return","failUrl":"https://shop.example/fail",` + cardMember + `,"description":"Order 123456","merchant_meta":{"order":"123456"}}}`)
	fingerprint := func([]byte) string { return "0123456789abcdef0123456789abcdef" }
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		params, err := createParams(body)
		if err != nil {
			b.Fatal(err)
		}
		c := readCreation(params)
		if c.check(fingerprint); len(c.problems) != 0 {
			b.Fatal(c.problems)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	r := chargedRecord()
	h, partner := newShowingHandlers(b)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = h.appendTransaction(buf[:0], partner, &paymentactor.Result{Record: r, Header: stamp}, partnerView)
	}
	b.SetBytes(int64(len(buf)))
}
