package payments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/valyala/fasthttp"
	"pgregory.net/rapid"

	paymentactor "mizan/actors/payment"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

func readCreation(params []byte) *creation {
	c := new(creation)
	c.read(params)
	return c
}

func fakeFingerprint(number []byte) string { return fmt.Sprintf("print of %d digits", len(number)) }

// parseCreate parses and checks a create request's params, and wipes the body as the server does.
func parseCreate(t testing.TB, params string) *creation {
	t.Helper()
	body := []byte(`{"params":` + params + `}`)
	value, err := createParams(body)
	if err != nil {
		t.Fatalf("%s: %v", params, err)
	}
	c := readCreation(value)
	c.check(fakeFingerprint)
	c.Wipe()
	clear(body)
	return c
}

func problemTexts(c *creation) (list []string) {
	for _, p := range c.problems {
		list = append(list, p.Field+": "+p.Detail)
	}
	return list
}

const cardMember = `"money_storage":{"type":"bank_card","cardnumber":"4242424242424242","cardholder":"JOHN DOE","exp_month":"12","exp_year":"2030","cvv":"123"}`

func TestBodyWithoutParamsIsRefused(t *testing.T) {
	for _, body := range []string{
		`{"type":"payment","amount":"100"}`, `{}`, `{"params":null}`, `{"params":[]}`, `{"params":"{}"}`, `{"Params":{}}`, `[]`, `"params"`, `7`, `null`,
	} {
		_, err := createParams([]byte(body))
		if status, got := responseTo(err); status != 422 || got != `{"error":"wrong params - can't init tx"}` {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
	for _, body := range []string{``, `{"params":{}`, `{"params":{"a":1,"a":2}}`} {
		_, err := createParams([]byte(body))
		if status, got := responseTo(err); status != 400 {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
}

func TestMalformedCreateIsRefused(t *testing.T) {
	const requiredFields = `"type":"payment","amount":"1"`
	for _, c := range []struct{ params, want string }{
		{`{}`, "type: type is required|amount: amount is required"},
		{`{"type":null,"amount":null}`, "type: type is required|amount: amount is required"},
		{`{"type":"refund","amount":"1"}`, "type: type must be payment or payout"},
		{`{"type":"Payment","amount":"1"}`, "type: type must be payment or payout"},
		{`{"type":1,"amount":"1"}`, "type: type must be payment or payout"},
		{`{"Type":"payment","AMOUNT":"1"}`, "type: type is required|amount: amount is required"},

		{`{"type":"payment","amount":1}`, "amount: amount must be a string of minor units"},
		{`{"type":"payment","amount":1.5}`, "amount: amount must be a string of minor units"},
		{`{"type":"payment","amount":true}`, "amount: amount must be a string of minor units"},
		{`{"type":"payment","amount":{"value":"1"}}`, "amount: amount must be a string of minor units"},
		{`{"type":"payment","amount":"0"}`, "amount: amount must be greater than zero"},
		{`{"type":"payment","amount":"-1"}`, "amount: amount must be greater than zero"},
		{`{"type":"payment","amount":""}`, "amount: amount must be a string of digits without leading zeros"},
		{`{"type":"payment","amount":"01"}`, "amount: amount must be a string of digits without leading zeros"},
		{`{"type":"payment","amount":"00"}`, "amount: amount must be a string of digits without leading zeros"},
		{`{"type":"payment","amount":"+1"}`, "amount: amount must be a string of digits without leading zeros"},
		{`{"type":"payment","amount":"1.0"}`, "amount: amount must be a string of digits without leading zeros"},
		{`{"type":"payment","amount":"1e3"}`, "amount: amount must be a string of digits without leading zeros"},
		{`{"type":"payment","amount":"0x10"}`, "amount: amount must be a string of digits without leading zeros"},
		{`{"type":"payment","amount":" 1"}`, "amount: amount must be a string of digits without leading zeros"},
		{`{"type":"payment","amount":"١"}`, "amount: amount must be a string of digits without leading zeros"},
		{`{"type":"payment","amount":"` + strings.Repeat("9", 78) + `"}`, "amount: amount is above 2^256 - 1"},
		{`{"type":"payment","amount":"1` + strings.Repeat("0", 78) + `"}`, "amount: amount is above 2^256 - 1"},
		{`{"type":"payment","amount":"` + strings.Repeat("9", 1_000_000) + `"}`, "amount: amount is above 2^256 - 1"},

		{`{` + requiredFields + `,"currency":"JPY"}`, "currency: unsupported currency JPY"},
		{`{` + requiredFields + `,"currency":"PLN"}`, "currency: unsupported currency PLN"},
		{`{` + requiredFields + `,"currency":"usd"}`, "currency: unsupported currency usd"},
		{`{` + requiredFields + `,"currency":"643"}`, "currency: unsupported currency 643"},
		{`{` + requiredFields + `,"currency":643}`, "currency: unsupported currency 643"},
		{`{` + requiredFields + `,"currency":""}`, "currency: unsupported currency "},
		{`{` + requiredFields + `,"currency":"AED"}`, "currency: unsupported currency AED"},
		{`{` + requiredFields + `,"currency":"` + strings.Repeat("X", 100) + `"}`, "currency: unsupported currency " + strings.Repeat("X", 32)},
		{`{` + requiredFields + `,"env":"live"}`, "env: env must be prod or test"},
		{`{` + requiredFields + `,"env":"PROD"}`, "env: env must be prod or test"},
		{`{` + requiredFields + `,"env":1}`, "env: env must be prod or test"},
		{`{` + requiredFields + `,"network":"TRON"}`, "network: network must be a name in lower case"},
		{`{` + requiredFields + `,"network":"a/b"}`, "network: network must be a name in lower case"},
		{`{` + requiredFields + `,"network":5}`, "network: network must be a name in lower case"},
		{`{` + requiredFields + `,"txid":5}`, "txid: txid must be a string"},
		{`{` + requiredFields + `,"txid":"` + strings.Repeat("ж", 256) + `"}`, "txid: txid must be at most 255 characters"},
		{`{` + requiredFields + `,"description":5}`, "description: description must be a string"},
		{`{` + requiredFields + `,"description":{}}`, "description: description must be a string"},
		{`{` + requiredFields + `,"description":"` + strings.Repeat("𝄞", 2001) + `"}`, "description: description must be at most 2000 characters"},
		{`{` + requiredFields + `,"returnUrl":[],"failUrl":false}`, "returnUrl: returnUrl must be a string|failUrl: failUrl must be a string"},
		{`{` + requiredFields + `,"customer":"me"}`, "customer: customer must be an object"},
		{`{` + requiredFields + `,"merchant_meta":[]}`, "merchant_meta: merchant_meta must be an object"},
		{`{` + requiredFields + `,"merchant_meta":{"a":"` + strings.Repeat("a", maxMerchantMeta) + `"}}`, "merchant_meta: merchant_meta is too large"},
		{`{` + requiredFields + `,"lang":7}`, "lang: lang must be a string"},
		{`{` + requiredFields + `,"hosted":"true","show_widget":1}`, "hosted: hosted must be true or false|show_widget: show_widget must be true or false"},

		{`{` + requiredFields + `,"money_storage":"card"}`, "money_storage: money_storage must be an object"},
		{`{` + requiredFields + `,"money_storage":[]}`, "money_storage: money_storage must be an object"},
		{`{` + requiredFields + `,"money_storage":{"cardnumber":"4242424242424242"}}`, "money_storage.type: money_storage type is required"},
		{`{` + requiredFields + `,"money_storage":{"type":"wallet"}}`, "money_storage.type: invalid money_storage type wallet"},
		{`{` + requiredFields + `,"money_storage":{"type":5}}`, "money_storage.type: invalid money_storage type "},
		{`{` + requiredFields + `,"money_storage":{"type":"direct_debit"}}`, "money_storage.scheme: direct_debit requires scheme: ach, acss, or bacs"},
		{`{` + requiredFields + `,` + strings.Replace(cardMember, `"cvv":"123"`, `"cvv":"1234"`, 1) + `}`, "money_storage.cvv: invalid cvv"},
		{`{` + requiredFields + `,` + strings.Replace(cardMember, `"cvv":"123"`, `"cvv":123`, 1) + `}`, "money_storage.cvv: invalid cvv"},
		{`{` + requiredFields + `,` + strings.Replace(cardMember, `,"cvv":"123"`, ``, 1) + `}`, "money_storage.cvv: cvv is required"},
		{`{` + requiredFields + `,` + strings.Replace(cardMember, `"cvv":"123"`, `"cvv":null`, 1) + `}`, "money_storage.cvv: cvv is required"},
		{`{` + requiredFields + `,` + strings.Replace(cardMember, `"cvv"`, `"CVV"`, 1) + `}`, "money_storage.cvv: cvv is required"},

		{`{"type":"x","amount":"0","currency":"JPY","env":"x","txid":1,` + strings.Replace(cardMember, "4242424242424242", "4242424242424241", 1) + `}`,
			"type: type must be payment or payout|amount: amount must be greater than zero|currency: unsupported currency JPY|env: env must be prod or test|txid: txid must be a string|money_storage.cardnumber: invalid cardnumber"},
	} {
		got := parseCreate(t, c.params)
		if joined := strings.Join(problemTexts(got), "|"); joined != c.want {
			t.Errorf("%.200s: %q, want %q", c.params, joined, c.want)
		}
		if got.Card != nil {
			t.Errorf("%.200s: refused, yet a card was kept", c.params)
		}
	}
}

func TestCreateFieldsAreRead(t *testing.T) {
	c := parseCreate(t, `{"type":"payment","amount":"115792089237316195423570985008687907853269984665640564039457584007913129639935",
		"currency":"USDT","network":"bsc","env":"test","txid":" Order/\u0031 ","description":"caf\u00e9","returnUrl":"https://a/","failUrl":"https://b/",
		"customer":{"email":"a@b"},"lang":"en","merchant_meta": { "k" : [1, {"x":null}] },"hosted":false,"notifyUrl":"https://ignored/","unknown":{"a":1},`+cardMember+`}`)
	if len(c.problems) != 0 {
		t.Fatal(problemTexts(c))
	}
	want := payment.Request{
		Type: payment.Payment, Amount: money.Max, Asset: money.Asset{Currency: "USDT", Network: "bsc", Env: money.Test},
		TxID: " Order/1 ", Description: "café", HasDescription: true, ReturnURL: "https://a/", FailURL: "https://b/",
		Customer: []byte(`{"email":"a@b"}`), MerchantMeta: []byte(`{ "k" : [1, {"x":null}] }`), Lang: "en",
		Method: "bank_card", CardBIN: "424242", CardLast4: "4242", CardFingerprint: "print of 16 digits",
	}
	if got, want := fmt.Sprintf("%+v", c.request), fmt.Sprintf("%+v", want); got != want {
		t.Errorf("request\n%s, want\n%s", got, want)
	}
	card := c.Card
	if got := fmt.Sprintf("%s %s %s %s %s", card.Number, card.Holder, card.ExpMonth, card.ExpYear, card.CVV); got != "4242424242424242 JOHN DOE 12 2030 123" {
		t.Errorf("card %q: it must not alias the body, which is wiped", got)
	}
	if card.Wipe(); len(card.Number) != 0 {
		t.Error("the card can't be wiped")
	}
}

func TestCreateHasDefaultAssets(t *testing.T) {
	for _, c := range []struct {
		params string
		asset  money.Asset
	}{
		{`{"type":"payout","amount":"1"}`, money.Asset{Currency: "RUB", Env: money.Prod}},
		{`{"type":"payout","amount":"1","currency":null,"env":null,"network":null}`, money.Asset{Currency: "RUB", Env: money.Prod}},
		{`{"type":"payout","amount":"1","currency":"ETH"}`, money.Asset{Currency: "ETH", Network: "ethereum", Env: money.Prod}},
		{`{"type":"payout","amount":"1","currency":"TRX","network":""}`, money.Asset{Currency: "TRX", Network: "tron", Env: money.Prod}},
		{`{"type":"payout","amount":"1","currency":"TON","env":"test"}`, money.Asset{Currency: "TON", Network: "ton", Env: money.Test}},
		{`{"type":"payout","amount":"1","currency":"USDT"}`, money.Asset{Currency: "USDT", Env: money.Prod}},
		{`{"type":"payout","amount":"1","currency":"ETH","network":"base"}`, money.Asset{Currency: "ETH", Network: "base", Env: money.Prod}},
	} {
		got := parseCreate(t, c.params)
		if len(got.problems) != 0 || got.request.Asset != c.asset || got.request.HasDescription || got.request.Method != "" || got.Card != nil {
			t.Errorf("%s: %v %+v", c.params, problemTexts(got), got.request)
		}
	}
}

// A create request without credentials is well-formed: the transaction is created and rejected.
func TestMissingCredentialsAreWellFormed(t *testing.T) {
	for _, storage := range []string{"", `,"money_storage":null`, `,"money_storage":{}`, `,"money_storage":{ }`} {
		c := parseCreate(t, `{"type":"payment","amount":"1"`+storage+`}`)
		if len(c.problems) != 0 || c.request.Method != "" || c.request.ReturnURL != "" {
			t.Errorf("%q: %v %+v", storage, problemTexts(c), c.request)
		}
	}
}

func TestBoundsCountCharactersNotBytes(t *testing.T) {
	c := parseCreate(t, `{"type":"payment","amount":"1","txid":"`+strings.Repeat("𝄞", 255)+`","description":"`+strings.Repeat("ж", 2000)+`"}`)
	if len(c.problems) != 0 || utf8.RuneCountInString(c.request.TxID) != 255 || utf8.RuneCountInString(c.request.Description) != 2000 {
		t.Errorf("%v", problemTexts(c))
	}
	if claimLength := len(c.request.TxID) + 20; claimLength > 1200 {
		t.Errorf("the longest txid makes a claim of %d bytes", claimLength)
	}
}

func TestPayoutKeepsNoCVV(t *testing.T) {
	c := parseCreate(t, `{"type":"payout","amount":"1",`+cardMember+`}`)
	if len(c.problems) != 0 || len(c.Card.CVV) != 0 || string(c.Card.Number) != "4242424242424242" {
		t.Errorf("%v", problemTexts(c))
	}
}

func TestEscapedCredentialsAreWiped(t *testing.T) {
	body := []byte(`{"params":{"type":"payment","amount":"1",` + strings.Replace(strings.Replace(cardMember, "4242424242424242", `\u0034242424242424242`, 1), `"123"`, `"\u00312\u0033"`, 1) + `}}`)
	value, err := createParams(body)
	if err != nil {
		t.Fatal(err)
	}
	c := readCreation(value)
	c.check(fakeFingerprint)
	unescaped := []([]byte){c.Storage.CardNumber, c.Storage.CVV, c.Storage.CardHolder}
	if len(c.problems) != 0 || string(unescaped[0]) != "4242424242424242" || string(unescaped[1]) != "123" {
		t.Fatal(problemTexts(c))
	}
	c.Wipe()
	for i, part := range unescaped {
		if bytes.ContainsFunc(part, func(r rune) bool { return r != 0 }) {
			t.Errorf("part %d is still there: %q", i, part)
		}
	}
	if string(c.Card.Number) != "4242424242424242" || string(c.Card.CVV) != "123" {
		t.Error("the card itself must stay")
	}
}

func TestHostedFlagsAreRecognised(t *testing.T) {
	for params, want := range map[string]bool{
		`{"hosted":true}`: true, `{"show_widget":true}`: true, `{"hosted":false,"show_widget":true}`: true,
		`{"hosted":false}`: false, `{}`: false, `{"hosted":null}`: false, `{"Hosted":true}`: false,
	} {
		if got := readCreation([]byte(params)).wantsPage(); got != want {
			t.Errorf("%s: %v", params, got)
		}
	}
}

func TestRefusalsNeverRepeatCredentials(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		canary := rapid.StringMatching(`CANARY[0-9]{10,30}`).Draw(t, "canary")
		key := rapid.SampledFrom([]string{"cardnumber", "cardholder", "exp_month", "exp_year", "cvv"}).Draw(t, "key")
		c := readCreation([]byte(`{"type":"payment","amount":"1","money_storage":{"type":"bank_card","` + key + `":"` + canary + `"}}`))
		c.check(fakeFingerprint)
		if len(c.problems) == 0 {
			t.Fatal("taken")
		}
		if _, body := responseTo(c.problems); strings.Contains(body, "CANARY") {
			t.Fatalf("shown: %s", body)
		}
	})
}

func TestMismatchNamesTheFirstDifferingField(t *testing.T) {
	stored := &payment.Record{Request: payment.Request{
		Type: payment.Payment, Amount: money.FromUint64(5), Asset: money.Asset{Currency: "USDT", Network: "tron", Env: money.Test},
		Description: "d", HasDescription: true, MerchantMeta: []byte(`{"a":1,"b":[2]}`), Customer: []byte(`{"name":"x"}`), Method: "bank_card", CardFingerprint: "p",
		ReturnURL: "r", FailURL: "f", Lang: "en",
	}}
	for _, c := range []struct {
		change func(*payment.Request)
		want   string
	}{
		{func(*payment.Request) {}, ""},
		{func(r *payment.Request) { r.MerchantMeta = []byte(` {"b": [2], "a": 1.0} `) }, ""},
		{func(r *payment.Request) { r.Asset.Network = "" }, ""},
		{func(r *payment.Request) { r.Type = payment.Payout; r.Amount = money.FromUint64(6) }, "type"},
		{func(r *payment.Request) { r.Amount = money.FromUint64(6); r.Asset.Currency = "ETH" }, "amount"},
		{func(r *payment.Request) { r.Asset.Currency = "USDC" }, "currency"},
		{func(r *payment.Request) { r.Asset.Network = "bsc" }, "network"},
		{func(r *payment.Request) { r.Asset.Env = money.Prod }, "env"},
		{func(r *payment.Request) { r.Description = "e" }, "description"},
		{func(r *payment.Request) { r.Description, r.HasDescription = "", false }, "description"},
		{func(r *payment.Request) { r.ReturnURL = "" }, "returnUrl"},
		{func(r *payment.Request) { r.FailURL = "" }, "failUrl"},
		{func(r *payment.Request) { r.Customer = nil }, "customer"},
		{func(r *payment.Request) { r.Lang = "ru" }, "lang"},
		{func(r *payment.Request) { r.MerchantMeta = []byte(`{"a":1}`) }, "merchant_meta"},
		{func(r *payment.Request) { r.Method = "sbp" }, "money_storage"},
		{func(r *payment.Request) { r.CardFingerprint = "q" }, "money_storage"},
	} {
		sent := stored.Request
		c.change(&sent)
		if got := mismatchedField(&sent, false, stored); got != c.want {
			t.Errorf("%+v: %q, want %q", sent, got, c.want)
		}
	}
}

// The credentials of a hosted transaction come from its payer, not from its create.
func TestMismatchIgnoresCredentialsOfHostedCreates(t *testing.T) {
	stored := &payment.Record{Hosted: true, Request: payment.Request{Type: payment.Payment, Method: "bank_card", CardFingerprint: "p"}}
	sent := payment.Request{Type: payment.Payment}
	if got := mismatchedField(&sent, true, stored); got != "" {
		t.Errorf("the same: %q", got)
	}
	if got := mismatchedField(&sent, false, stored); got != "hosted" {
		t.Errorf("another flow: %q", got)
	}
}

func TestHostedCreateKeepsNoCredentials(t *testing.T) {
	c := parseCreate(t, `{"type":"payment","amount":"1","hosted":true,`+cardMember+`}`)
	if len(c.problems) != 0 || c.Card != nil || c.request.Method != "" || c.request.CardBIN+c.request.CardLast4+c.request.CardFingerprint != "" {
		t.Errorf("%v %+v", problemTexts(c), c.request)
	}
	c = parseCreate(t, `{"type":"payment","amount":"1","hosted":true,`+strings.Replace(cardMember, `"cvv":"123"`, `"cvv":"1234"`, 1)+`}`)
	if got := strings.Join(problemTexts(c), "|"); got != "money_storage.cvv: invalid cvv" {
		t.Errorf("they are checked all the same: %q", got)
	}
}

func FuzzCreateBody(f *testing.F) {
	for _, params := range []string{
		`{"type":"payment","amount":"100",` + cardMember + `}`, `{"amount":"1","money_storage":{"type":"direct_debit","scheme":"ach"}}`,
		`{"txid":"\ud83d\ude00","merchant_meta":{"a":{"b":[]}},"customer":{}}`, `{"type":"payout","network":"tron","currency":"USDT","env":"test","amount":"5"}`,
	} {
		f.Add([]byte(`{"params":` + params + `}`))
	}
	h, partner := newShowingHandlers(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		params, err := createParams(body)
		if err != nil {
			if status, answer := responseTo(err); status != 400 && status != 422 || !json.Valid([]byte(answer)) {
				t.Fatalf("%q: %d %s", body, status, answer)
			}
			return
		}
		c := readCreation(params)
		c.check(fakeFingerprint)
		if len(c.problems) > 0 {
			if status, answer := responseTo(c.problems); status != 422 || !json.Valid([]byte(answer)) {
				t.Fatalf("%q: %d %s", body, status, answer)
			}
			return
		}
		before := fmt.Sprintf("%+v", c.request)
		c.Wipe()
		clear(body)
		if after := fmt.Sprintf("%+v", c.request); after != before {
			t.Fatalf("the request aliases the body: %s, was %s", after, before)
		}
		r := &payment.Record{Request: c.request, Status: payment.Created, Terminal: ledger.ID{1}, RailMeta: []byte(`{"a":1}`)}
		if answer := h.appendTransaction(nil, partner, &paymentactor.Result{Record: r, Header: stamp}, partnerView); !json.Valid(answer) {
			t.Fatalf("not JSON: %s", answer)
		}
	})
}

func FuzzAmountField(f *testing.F) {
	for _, literal := range []string{`"1"`, `"0"`, `"-1"`, `1`, `"01"`, `"1e5"`, `" 1"`, `"115792089237316195423570985008687907853269984665640564039457584007913129639936"`, `null`, `"\u0031"`} {
		f.Add(literal)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		params, err := createParams([]byte(`{"params":{"type":"payment","amount":` + literal + `}}`))
		if err != nil {
			return
		}
		c := readCreation(params)
		c.check(fakeFingerprint)
		if len(c.problems) > 0 {
			return
		}
		var text string
		if json.Unmarshal([]byte(literal), &text) != nil {
			t.Fatalf("taken, but not one JSON string: %s", literal)
		}
		isNumber := !slices.ContainsFunc([]byte(text), func(b byte) bool { return b < '0' || b > '9' })
		if !isNumber || len(text) > 78 || text[0] == '0' || c.request.Amount.String() != text {
			t.Fatalf("%s was taken as %v", literal, c.request.Amount)
		}
	})
}

// responseTo returns the response to an error.
func responseTo(err error) (status int, body string) {
	ctx := new(fasthttp.RequestCtx)
	web.WriteError(ctx, err)
	return ctx.Response.StatusCode(), string(ctx.Response.Body())
}
