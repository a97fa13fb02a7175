package api_test

import (
	"bytes"
	"errors"
	"image"
	_ "image/png" // the format of QR codes
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	paymentactor "mizan/actors/payment"
	"mizan/api"
	"mizan/api/checkout"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"

	"github.com/google/uuid"
)

// testLink creates a payment link in the test environment, in which the demo partner has a terminal. Unless it is empty, fields
// ends with a comma.
func (f *fixture) testLink(fields, amount, kind string) *response {
	f.t.Helper()
	return f.partner().post(linksPath, `{`+fields+`"env":"test","amount":{`+amount+`,"currency":"USD"},"amount_type":"`+kind+`","pay_config":{}}`).want(201, "")
}

func TestLinkIsPaidOnItsPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	product := f.product(f.partner(), `"qty":"3",`)
	created := f.testLink(`"name":"Green tea","description":"From the hills","metadata":{"order":7},"products":["`+product+`"],`, `"default":1999`, "fixed")
	id := created.at("data.id")
	page := f.browse(created.at("data.url")).wantPage(200, "Green tea", "From the hills", "$19.99", "no money moves", "RUB\u00a04.50", "× 3 pieces")
	action, _ := page.form()
	checkout := f.send(action, url.Values{}).wantPage(200, checkoutTitle, "$19.99", "Green tea", "× 3 pieces")
	pay, _ := checkout.form()
	list := f.partner().get("/api/v1/transactions?env=test&link_id="+id).want(200, "")
	list.wantFields(map[string]string{
		"data.0.status": "created", "data.0.amount": "1999", "data.0.currency": "USD", "data.0.link_id": id, "data.0.merchant_meta.order": "7",
		"data.1": "(absent)",
	})
	f.partner().get(linksPath + "/" + id).wantFields(map[string]string{"data.payments.count": "0", "data.payments.amount": "0"})
	f.partner().patch(linksPath+"/"+id, `{"amount":{"currency":"EUR"}}`).want(422, "").wantFields(map[string]string{
		"errors.0.field": "amount.currency", "errors.0.detail": "never changes after the first payment",
	})
	f.send(pay, card("4242424242424242")).wantPage(200, "Paid")
	f.transaction(list.at("data.0.id")).wantStatus("charged", "")
	f.partner().get(linksPath + "/" + id).wantFields(map[string]string{"data.payments.count": "1", "data.payments.amount": "1999"})
	f.partner().patch(linksPath+"/"+id, `{"amount":{"default":2500}}`).want(200, "")
	second, _ := f.send(action, url.Values{}).wantPage(200, checkoutTitle, "$25.00").form()
	f.send(second, card("4000000000000002")).wantPage(200, checkoutTitle, "The card was declined.")
	f.send(second, url.Values{"cancel": {"1"}}).wantPage(200, "Not paid")
	f.partner().get(linksPath + "/" + id).wantFields(map[string]string{"data.payments.count": "1", "data.payments.amount": "1999"})
}

func TestLinkPaymentIsNotifiedAsAnyPayment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	receiver := f.newWebhookReceiver()
	address := f.testLink("", `"default":700`, "fixed").at("data.url")
	pay, _ := f.send(address, url.Values{}).wantPage(200, checkoutTitle).form()
	f.send(pay, card("4242424242424242")).wantPage(200, "Paid")
	f.waitForDeliveries()
	byLink := f.deliveryAbout(f.partner().get(transactions + "?env=test").at("data.0.id"))
	_, types := receiver.received()
	f.partner().post(transactions, paymentBody(`"amount":"700"`)).want(201, "")
	f.waitForDeliveries()
	_, both := receiver.received()
	if byLink == "(absent)" || len(types) == 0 || strings.Join(both, " ") != strings.Join(types, " ")+" "+strings.Join(types, " ") {
		t.Errorf("a link's payment is notified as %v, another one as %v", types, both[len(types):])
	}
}

func TestPayerEntersTheAmountOfADynamicLink(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	created := f.testLink("", `"default":1000,"min":500,"max":123456`, "dynamic")
	page := f.browse(created.at("data.url")).wantPage(200, "Payment", "Amount in USD", `value="10.00"`,
		`<p class="hint" id="amount-hint">The amount must be at least $5.00. The amount must be at most $1,234.56.</p>`)
	action, _ := page.form()
	for typed, want := range map[string]string{
		"": "Enter the amount.", "x": "as a number", "0": "The amount must be at least $5.00.", "4.99": "The amount must be at least $5.00.", "1234.57": "The amount must be at most $1,234.56.", "5.001": "The amount has too many decimal places. Enter it, for example, as 12.50.",
	} {
		refused := f.send(action, url.Values{"amount": {typed}}).wantPage(422, "Payment", want)
		if !strings.Contains(refused.body, `value="`+typed+`"`) {
			t.Errorf("%q is not shown again: %s", typed, refused.body)
		}
	}
	f.send(action, url.Values{"amount": {"1,234.56"}}).wantPage(200, checkoutTitle, "$1,234.56")
	list := f.partner().get("/api/v1/transactions?env=test&link_id="+created.at("data.id")).want(200, "")
	list.wantFields(map[string]string{"data.0.amount": "123456", "data.1": "(absent)"})
}

// If the merchant sets no bounds, the bounds of every payment apply: one minor unit, and 10^15 minor units.
func TestRefusedAmountNamesTheBoundsOfEveryPayment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const most = "The amount must be at most $10,000,000,000,000.00."
	address := f.testLink("", `"default":1000`, "dynamic").at("data.url")
	for typed, want := range map[string]string{
		"0": "The amount must be at least $0.01.", "0.00": "The amount must be at least $0.01.", "12.345": "too many decimal places. Enter it, for example, as 12.50.",
		"10000000000000.01": most, "12345678901234567890123": most, strings.Repeat("9", 64): most, strings.Repeat("9", 384): most, strings.Repeat("9", 385): "as a number",
	} {
		f.send(address, url.Values{"amount": {typed}}).wantPage(422, "Payment", `<p class="wrong" id="amount-wrong" role="alert">`, want)
	}
	f.send(address, url.Values{"amount": {"10000000000000"}}).wantPage(200, checkoutTitle, "$10,000,000,000,000.00")
}

func TestProductIsPaidAtItsOwnAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	created := f.partner().post(productsPath, `{"header":"Tea","text":"Green","price":450,"currency":"USD","qty":"3","env":"test"}`).want(201, "")
	action, _ := f.browse(created.at("data.url")).wantPage(200, "Tea", "Green", "$4.50", "$13.50").form()
	pay, _ := f.send(action, url.Values{}).wantPage(200, checkoutTitle, "$13.50", "Tea").form()
	f.send(pay, card("4242424242424242")).wantPage(200, "Paid")
	f.partner().get("/api/v1/transactions?env=test").wantFields(map[string]string{
		"data.0.amount": "1350", "data.0.link_id": "(absent)", "data.0.merchant_meta.product_id": created.at("data.id"), "data.0.status": "charged",
	})
	free := f.partner().post(productsPath, `{"header":"Gift","text":"Free","price":0,"env":"test"}`).want(201, "")
	page := f.browse(free.at("data.url")).wantPage(200, "Gift", "There is nothing to pay here.")
	if strings.Contains(page.body, "<form") {
		t.Errorf("%s", page.body)
	}
	f.send(free.at("data.url"), url.Values{}).wantPage(422, "Gift", "There is nothing to pay here.")
	open := f.partner().post(productsPath, `{"header":"Donation","text":"Any amount","currency":"EUR","qty":"3","env":"test"}`).want(201, "")
	page = f.browse(open.at("data.url")).wantPage(200, "Donation", "Amount in EUR", `value=""`, "<p>3 pieces</p>")
	page.wantNoText("×") // the page shows no price that "×" could multiply
	action, _ = page.form()
	f.send(action, url.Values{"amount": {"7"}}).wantPage(200, checkoutTitle, "€7.00")
}

func TestAddressWithoutAnOfferIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	link := f.testLink("", `"default":100`, "fixed")
	product := f.partner().post(productsPath, `{"header":"Tea","text":"Green","price":450,"env":"test"}`).want(201, "")
	for path, created := range map[string]*response{linksPath: link, productsPath: product} {
		record, address := path+"/"+created.at("data.id"), created.at("data.url")
		f.partner().patch(record, `{"active":false}`).want(200, "")
		f.browse(address).wantPage(410, "No payments are accepted here")
		f.send(address, url.Values{}).wantPage(410, "No payments are accepted here")
		f.partner().patch(record, `{"active":true}`).want(200, "")
		f.browse(address).wantStatusOf(200)
		f.partner().do("DELETE", record, "").want(204, "")
		f.browse(address).wantPage(410, "No payments are accepted here")
		f.file(address + "/qr.svg").wantStatusOf(200)
		for _, unknown := range []string{uuid.NewString(), "x"} {
			f.browse(strings.Replace(address, created.at("data.id"), unknown, 1)).wantPage(404, "Page not found")
			f.browse(strings.Replace(address, created.at("data.id"), unknown, 1)+"/qr.png").wantPage(404, "Page not found")
		}
	}
	f.browse(f.base()+"/pay/p/"+link.at("data.id")).wantPage(404, "Page not found")
	second := f.testLink("", `"default":100`, "fixed")
	f.admin().patch("/api/v1/partners/1", `{"active":false}`).want(200, "")
	f.browse(second.at("data.url")).wantPage(410, "No payments are accepted here")
}

func TestPaymentsBegunByOneAddressAreBounded(t *testing.T) {
	t.Parallel()
	f, stop := countRefusals(t)
	address := f.testLink("", `"default":100`, "fixed").at("data.url")
	for range 10 {
		f.send(address, url.Values{}).wantPage(200, checkoutTitle)
	}
	f.send(address, url.Values{}).wantPage(429, "Too many attempts")
	f.browse(address).wantStatusOf(200)
	if rows := f.partner().get("/api/v1/transactions?env=test").rows(); rows != 10 {
		t.Errorf("%d payments were created", rows)
	}
	if refused := stop(); refused[ledger.LimitPagePayments] != 1 || len(refused) != 1 {
		t.Errorf("refused by %v", refused)
	}
}

func TestCardsSentByOneAddressAreBounded(t *testing.T) {
	t.Parallel()
	f, stop := countRefusals(t)
	for range 20 {
		pay, _ := f.browse(f.createHosted("").at("widget_url")).form()
		f.send(pay, card("4242424242424241")).wantPage(422, checkoutTitle) // a malformed card number does not count as an attempt
		f.send(pay, card("4242424242424242")).wantPage(200, "Paid")
	}
	created := f.createHosted("")
	pay, _ := f.browse(created.at("widget_url")).wantPage(200, checkoutTitle).form()
	f.send(pay, card("4242424242424242")).wantPage(429, "Too many attempts")
	f.transaction(created.at("id")).wantStatus("created", "")
	if refused := stop(); refused[ledger.LimitPageAttempts] != 1 || len(refused) != 1 {
		t.Errorf("refused by %v", refused)
	}
}

func TestCodeLeadsToThePage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	link := f.testLink("", `"default":100`, "fixed")
	product := f.partner().post(productsPath, `{"header":"Tea","text":"Green"}`).want(201, "")
	for _, created := range []*response{link, product} {
		address := created.at("data.url")
		if created.at("data.qr_url") != address+"/qr.svg" {
			t.Errorf("%s", created.body)
		}
		for query, side := range map[string]int{"": 512, "?size=64": 64, "?size=333": 333, "?size=2048": 2048} {
			r := f.file(address + "/qr.png" + query)
			picture, _, err := image.Decode(bytes.NewReader([]byte(r.body)))
			if err != nil || picture.Bounds().Dx() != side || picture.Bounds().Dy() != side {
				t.Fatalf("%s: %v %v", query, picture, err)
			}
			if decoded := scanned(t, []byte(r.body)); decoded != address && decoded != "" {
				t.Errorf("%s: the code says %q, want %s", query, decoded, address)
			}
		}
		for _, size := range []string{"63", "2049", "x", "-1", "1e3", "064", "%2B64"} {
			f.browse(address + "/qr.png?size=" + size).wantStatusOf(422)
		}
		svg := f.file(address + "/qr.svg")
		if svg.status != 200 || svg.header.Get("Content-Type") != "image/svg+xml" || svg.header.Get("Content-Security-Policy") == "" || !strings.HasPrefix(svg.body, "<svg ") {
			t.Errorf("%d %v %.80s", svg.status, svg.header, svg.body)
		}
		f.file(address + "/qr.gif").wantStatusOf(404)
	}
}

func TestPageIsInTheBrowsersLanguage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	address := strings.TrimPrefix(f.testLink("", `"default":123456,"min":100`, "dynamic").at("data.url"), f.base())
	for header, want := range map[string]string{
		"": "en", "ru": "ru", "ru-RU,en;q=0.9": "ru", "en;q=0.5, ru;q=0.7": "ru", "xx,ru;q=0.1": "ru", "xx": "en", "ru;q=0,en": "en", "*": "en", "ru;q=x": "en",
		strings.Repeat("xx,", 40) + "ru": "en",
	} {
		if r := f.anyone().with("Accept-Language", header).get(address); !strings.Contains(r.body, `<html lang="`+want+`" `) {
			t.Errorf("%q: %.60q", header, r.body)
		}
	}
	refused := f.anyone().with("Accept-Language", "ru", "Content-Type", "application/x-www-form-urlencoded").post(address, "amount=0,99")
	if refused.status != 422 || !strings.Contains(refused.body, "Минимальная сумма —") {
		t.Errorf("%d %s", refused.status, refused.body)
	}
}

// scanned returns the text that another program reads from a QR code, or "" if that program is not installed.
func scanned(t *testing.T, picture []byte) string {
	t.Helper()
	zbarimg, err := exec.LookPath("zbarimg")
	if err != nil {
		t.Log("NOT TRIED: no zbarimg here (Debian's zbar-tools), the QR code is not read back")
		return ""
	}
	file := filepath.Join(t.TempDir(), "code.png")
	must(t, os.WriteFile(file, picture, 0o600))
	text, err := exec.Command(zbarimg, "--quiet", "--raw", "-Sdisable", "-Sqrcode.enable", file).Output()
	if err != nil {
		t.Errorf("zbarimg: %v", err)
		return "unreadable"
	}
	return strings.TrimSpace(string(text))
}

// The page of a transaction is in the language that the transaction names, else in the browser's, else in the partner's.
func TestPageOfATransactionHasTheRightLanguage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	titleOf := func(address, header string) string {
		t.Helper()
		path := strings.TrimPrefix(address, f.base())
		body := f.anyone().with("Accept-Language", header).get(path).body
		_, rest, _ := strings.Cut(body, "<h1>")
		title, _, _ := strings.Cut(rest, "</h1>")
		return title
	}
	plain, russian := f.opened(f.createHosted("").at("widget_url")), f.opened(f.createHosted(`,"lang":"ru"`).at("widget_url"))
	for _, c := range []struct{ address, header, want string }{
		{plain, "", checkoutTitle}, {plain, "ru", "Платёж в пользу Demo merchant"}, {plain, "xx", checkoutTitle},
		{russian, "", "Платёж в пользу Demo merchant"}, {russian, "en", "Платёж в пользу Demo merchant"},
		{f.base() + "/pay/" + uuid.NewString(), "ru", "Страница не найдена"}, {f.base() + "/pay/" + uuid.NewString(), "", "Page not found"},
	} {
		if got := titleOf(c.address, c.header); got != c.want {
			t.Errorf("%s with %q: %q, want %q", c.address, c.header, got, c.want)
		}
	}
	f.admin().patch("/api/v1/partners/1", `{"lang":"ru"}`).want(200, "")
	for header, want := range map[string]string{"": "Платёж в пользу Demo merchant", "en": checkoutTitle, "xx": "Платёж в пользу Demo merchant"} {
		if got := titleOf(plain, header); got != want {
			t.Errorf("of the partner, with %q: %q, want %q", header, got, want)
		}
	}
}

// file requests a file at a public URL.
func (f *fixture) file(address string) *response {
	f.t.Helper()
	path, _ := f.ownPath(address)
	return f.anyone().get(path)
}

func (r *response) wantStatusOf(status int) {
	r.t.Helper()
	if r.status != status {
		r.t.Errorf("responded %d, want %s", r.status, strconv.Itoa(status))
	}
}

// The page shows the total that is charged, fee included, before the payer pays.
func TestPayerSeesTheFeeBeforePaying(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	terminals := f.admin().get("/api/v1/terminals?partner_id=1").want(200, "")
	setFee := func(fields string) {
		f.t.Helper()
		for i := range terminals.rows() {
			path := "/api/v1/terminal/" + terminals.at("data."+strconv.Itoa(i)+".id")
			f.admin().patch(path, `{"provider_params":{`+fields+`}}`).want(200, "")
		}
	}
	setFee(`"fee_bps":"280","fee_mode":"on_top"`)
	address := f.testLink("", `"default":1999`, "fixed").at("data.url")
	page := f.send(address, url.Values{}).wantPage(200, checkoutTitle, "Pay $20.54", "$19.99", "$0.55", `name="total" value="2054"`)
	action, _ := page.form()
	agreed := card("4242424242424242")
	agreed.Set("total", "2054")

	setFee(`"fee_bps":"500","fee_mode":"on_top"`)
	f.send(action, agreed).wantPage(422, checkoutTitle, "The fee has changed", "Pay $20.98")
	list := f.partner().get(transactions + "?env=test")
	list.wantFields(map[string]string{"data.0.status": "created"})

	setFee(`"fee_bps":"100","fee_mode":"on_top"`)
	f.send(action, agreed).wantPage(200, "Paid", "$20.18")
	f.transaction(list.at("data.0.id")).wantFields(map[string]string{"amount": "1999", "amount_with_fee": "2018"})

	setFee(`"fee_bps":"280","fee_mode":"deduct"`)
	f.send(address, url.Values{}).wantPage(200, checkoutTitle, "Pay $19.99", `name="total" value="1999"`)
}

// feeRaiser raises the terminals' fee after the server has checked the total that the payer saw, and before it sends the payment.
type feeRaiser struct {
	checkout.Payers
	raise func()
}

// Continue implements checkout.Payers.
func (r *feeRaiser) Continue(c paymentactor.Continue) (paymentactor.Result, error) {
	if r.raise != nil {
		r.raise()
	}
	return r.Payers.Continue(c)
}

// If the fee is raised at the last moment, the payer's form does not count as an attempt, and the payer sees the new total.
func TestFeeRaisedBetweenTheCheckAndTheChargeIsShown(t *testing.T) {
	t.Parallel()
	payers := new(feeRaiser)
	f := newFixture(t, func(cfg *api.Config) { payers.Payers, cfg.Payers = cfg.Payers, payers })
	id, action := f.payerForm("")
	payers.raise = func() { f.setTerminalParams("payment", `{"fee_bps":"500","fee_mode":"on_top"}`) }
	f.send(action, card("4242424242424242")).wantPage(422, checkoutTitle, "The fee has changed", "Pay $13.12", "$0.62").wantNoText("4242424242424242")
	f.transaction(id).wantFields(map[string]string{"status": "created", "error_code": "null"})
	second := f.send(action, card(declinedCard)).wantPage(200, checkoutTitle, "The card was declined.", "You can try 2 more times.")
	f.fill(second, card("4242424242424242")).wantPage(200, "Paid", "$13.12")
	f.wantRouting(id, "1 refused card_declined", "2 accepted null")
}

// Limits apply to a link's payments as to all other payments.
func TestLimitsApplyToLinkPayments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createLimit(`{"partner_id":1,"kind":"daily_volume","currency":"USD","env":"test","max_amount":"2500"}`)
	address := f.testLink("", `"default":1999`, "fixed").at("data.url")
	for _, title := range []string{"Paid", "Not paid"} {
		pay, _ := f.send(address, url.Values{}).wantPage(200, checkoutTitle).form()
		f.send(pay, card("4242424242424242")).wantPage(200, title)
	}
}

// If the currency of a link changes while a payer has its page open, a payment in the earlier currency is refused. So all
// payments of a link have the same currency.
func TestPaymentInAnAbandonedCurrencyDoesNotBegin(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	created := f.testLink("", `"default":500`, "fixed")
	id, err := uuid.Parse(created.at("data.id"))
	must(t, err)
	begin := func(currency money.Currency) ledger.Code {
		t.Helper()
		partner, _ := f.directory.Partner(f.seed.First.Org, f.seed.First.Partner)
		_, err := f.payments.Create(paymentactor.Create{Author: ledger.ByPayer.Author(), Org: f.seed.First.Org, Partner: partner, Hosted: true, Request: payment.Request{
			Type: payment.Payment, Amount: money.FromUint64(500), Asset: money.Asset{Currency: currency, Env: money.Test}, LinkID: id,
		}})
		var refusal *ledger.Refusal
		if errors.As(err, &refusal) {
			return refusal.Code
		}
		must(t, err)
		return ""
	}
	change := func(currency string, status int) {
		t.Helper()
		f.partner().patch(linksPath+"/"+id.String(), `{"amount":{"currency":"`+currency+`"}}`).want(status, "")
	}
	change("EUR", 200)
	if code := begin("USD"); code != ledger.Conflict {
		t.Errorf("a payment in the abandoned currency: %q", code)
	}
	change("USD", 200)
	change("EUR", 200)
	change("USD", 200)
	if code := begin("EUR"); code != ledger.Conflict {
		t.Errorf("a payment in the abandoned currency: %q", code)
	}
	if code := begin("USD"); code != "" {
		t.Errorf("a payment in the link's currency: %q", code)
	}
	change("EUR", 422)
	if code := begin("USD"); code != "" {
		t.Errorf("a second payment: %q", code)
	}
}

func TestPagesHaveTheMerchantsBranding(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	logo := f.partner().upload(grayPNG(t, 40, 20)).want(201, "").at("data.url")
	branding := `{"display_name":"Tea & Co","logo":"` + logo + `","color":"#ffcc00","support_email":"help@shop.example","terms_url":"https://shop.example/terms"}`
	f.admin().patch("/api/v1/partners/1", `{"branding":`+branding+`}`).want(200, "").wantFields(map[string]string{
		"data.branding.display_name": "Tea & Co", "data.branding.logo": logo, "data.branding.color": "#ffcc00",
		"data.branding.support_email": "help@shop.example", "data.branding.terms_url": "https://shop.example/terms",
	})
	texts := []string{"Tea &amp; Co", `src="` + strings.TrimSuffix(strings.TrimPrefix(logo, f.base()), ".png") + `-logo"`, "--brand:#ffcc00;--on-brand:#000", "mailto:help@shop.example", `href="https://shop.example/terms"`}
	page := f.browse(f.testLink("", `"default":100`, "fixed").at("data.url")).wantPage(200, "Payment", texts...)
	action, _ := page.form()
	f.send(action, url.Values{}).wantPage(200, "Payment to Tea &amp; Co", texts...)
	f.admin().patch("/api/v1/partners/1", `{"branding":{"color":null}}`).want(200, "").wantFields(map[string]string{"data.branding.color": "null", "data.branding.logo": logo})
	for body, want := range map[string]string{
		`{"color":"yellow"}`:                                  "branding.color: must be of the form #rrggbb",
		`{"logo":"https://other.example/a.png"}`:              "branding.logo: is not the address of an image that was uploaded here",
		`{"support_email":"nobody"}`:                          "branding.support_email: is not an e-mail address",
		`{"terms_url":"https://shop.example:99999/"}`:         "branding.terms_url: must be an http or https address without credentials",
		`{"terms_url":"javascript:alert(1)"}`:                 "branding.terms_url: must be an http or https address without credentials",
		`{"display_name":"` + strings.Repeat("x", 101) + `"}`: "branding.display_name: display_name must be at most 100 characters",
		`7`: "branding: branding must be an object",
	} {
		if r := f.admin().patch("/api/v1/partners/1", `{"branding":`+body+`}`); r.status != 422 || r.fieldProblems() != want {
			t.Errorf("%s: %d %s, want %s", body, r.status, r.fieldProblems(), want)
		}
	}
	f.admin().patch("/api/v1/partners/1", `{"branding":null}`).want(200, "").wantFields(map[string]string{"data.branding": "null"})
	foreign := f.second().upload(grayPNG(t, 4, 2)).want(201, "").at("data.url")
	f.admin().patch("/api/v1/partners/1", `{"branding":{"logo":"`+foreign+`"}}`).want(422, "")
}
