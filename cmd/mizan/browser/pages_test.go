package browser_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// shownPage is a page that payers see and the tests visit.
type shownPage struct {
	name   string // also the beginning of the names of its screenshots
	text   string // describes the page in the gallery
	status int64
	show   func(tb *tab) // takes the tab to the page
	inDark bool          // the page is also tried in dark colors
}

// The languages and screen widths in which every page is tried.
var (
	triedLanguages = []string{"en", "ar", "ru"}
	triedWidths    = []int64{1280, 768, 320}
)

// shownPages are the pages that payers see, in the order of a payment.
var shownPages = []shownPage{
	{"link", "A payment link with a fixed amount, a description and two products.", 200, showLink, true},
	{"link-amount", "A payment link whose amount the payer enters.", 200, showDynamicLink, false},
	{"link-refused", "The amount is less than the link's least.", 422, showRefusedAmount, true},
	{"product", "The page of a product, with its picture and quantity.", 200, showProduct, false},
	{"product-free", "A product for which there is nothing to pay.", 200, showFreeProduct, false},
	{"checkout", "The checkout: the form for a card.", 200, showCheckout, true},
	{"checkout-fee", "The checkout of a merchant whose payers pay the fee.", 200, showFee, false},
	{"checkout-methods", "The checkout of a merchant with a fee for each method.", 200, showMethods, true},
	{"checkout-refused", "The number of the card is wrong.", 422, showRefusedCard, true},
	{"password", "The bank asks for a one-time password.", 200, showPassword, false},
	{"bank", "The simulated bank of the sandbox, where 3-D Secure is approved or refused.", 200, showBank, true},
	{"bank-over", "The simulated bank after the decision.", 200, showDecidedBank, false},
	{"scan", "A code to scan, with the sandbox's buttons.", 200, showScan, true},
	{"deposit", "A deposit of crypto: the address, its code and the time left.", 200, showDeposit, true},
	{"sign", "A payload to sign with a wallet.", 200, showSignature, true},
	{"payout-institution", "The recipient of a payout chooses an institution.", 200, showInstitutions, false},
	{"payout-card", "The recipient of a payout enters a card.", 200, showPayoutCard, false},
	{"processing", "The provider is at work.", 200, showProcessing, false},
	{"paid", "The payment is charged.", 200, showPaid, true},
	{"paid-out", "The payout is on its way.", 200, showPaidOut, false},
	{"declined", "The card was declined: the payer may try again.", 200, showDeclined, true},
	{"failed", "The payment has failed.", 200, showFailed, false},
	{"receipt", "The receipt of a payment, which can be printed.", 200, showReceipt, false},
	{"returned", "The payment was refunded.", 200, showReturned, false},
	{"expired", "The link to the checkout has expired.", 410, showExpired, false},
	{"not-found", "There is nothing at the address.", 404, showUnknown, false},
	{"closed", "The payment link is closed.", 410, showClosed, false},
	{"too-many", "Too many payments were begun from one address.", 429, showTooMany, false},
}

// distinctHeadings names pages that tell the payer different things, so that each must have another heading.
var distinctHeadings = []string{"checkout", "password", "scan", "sign", "payout-institution", "payout-card", "processing", "paid", "paid-out", "failed", "returned", "expired", "not-found", "closed", "too-many"}

// triedViews returns the views in which a page is tried: with -short one of each language and one of each width, otherwise all.
func (p *shownPage) triedViews() (views []view) {
	for i, v := range p.views() {
		if !testing.Short() || v.isDark || i%(len(triedWidths)+1) == 0 {
			views = append(views, v)
		}
	}
	return views
}

// views returns the views of a page of which there are screenshots.
func (p *shownPage) views() (views []view) {
	for _, lang := range triedLanguages {
		for _, width := range triedWidths {
			views = append(views, view{width: width, lang: lang, scripts: true})
		}
	}
	if p.inDark {
		views = append(views, view{width: 320, lang: "en", scripts: true, isDark: true})
	}
	return views
}

// screenshotName returns the name of the screenshot of a page in a view.
func (p *shownPage) screenshotName(v view) string {
	name := fmt.Sprintf("%s-%s-%d", p.name, v.lang, v.width)
	if v.isDark {
		name += "-dark"
	}
	return name + ".png"
}

// Every page keeps the rules of findings_test.go in every view. The test takes a screenshot of each page in each view.
func TestEveryPageIsSound(t *testing.T) {
	s := newSite(t)
	s.prepareFee(t)
	s.prepareMethods(t)
	s.prepareExpired(t)
	folder := screenshotFolder(t)
	tried, total := atomic.Int32{}, int32(0)
	t.Run("pages", func(t *testing.T) {
		for _, p := range shownPages {
			total += int32(len(p.triedViews()))
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				tb := s.open(t, desktop)
				for _, v := range p.triedViews() {
					t.Run(strings.TrimSuffix(p.screenshotName(v), ".png"), func(t *testing.T) {
						tried.Add(1)
						tb.tryPage(t, &p, v, folder)
					})
				}
			})
		}
	})
	if tried.Load() == total { // otherwise the flag -run has selected some of them
		s.compareHeadings(t)
		if *update && !testing.Short() {
			checkScreenshots(t)
		}
	}
}

// tryPage opens a page, checks it and takes its screenshot. Some pages leave for another page by themselves after some seconds,
// so tryPage tries again if that happens during the check.
func (tb *tab) tryPage(t *testing.T, p *shownPage, v view, folder string) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		tb.beginView(t, v, tb.site.newPayerIP()) // each payer has another IP address, because the server limits the requests from one address
		p.show(tb)
		tb.wantStatus(p.status)
		shown := tb.events.current().number
		found, m, err := tb.findings()
		var picture []byte
		var code drawnCode
		if err == nil {
			decode(tb, findCode, &code)
			picture, err = tb.screenshot()
		}
		if err == nil {
			found = append(found, tb.codeFindings(picture, &code)...)
		}
		if err == nil && v.lang == "en" && v.width == 1280 {
			found = append(found, tb.keyboardFindings()...)
		}
		if tb.events.current().number != shown || err != nil {
			if attempt == maxAttempts {
				t.Fatalf("the page leads away before it is checked: %v", err)
			}
			continue
		}
		tb.site.mu.Lock()
		tb.site.headings[p.name+" "+v.lang] = m.Heading
		tb.site.mu.Unlock()
		tb.report(found)
		saveScreenshot(t, folder, p.screenshotName(v), picture, int(v.width))
		return
	}
}

// compareHeadings checks that each page has a heading, and that a heading occurs neither on two pages nor in two languages.
func (s *site) compareHeadings(t *testing.T) {
	t.Helper()
	for _, lang := range triedLanguages {
		pages := make(map[string]string) // names of pages by their heading
		for _, name := range distinctHeadings {
			heading := s.headings[name+" "+lang]
			if other := pages[heading]; heading == "" || other != "" {
				t.Errorf("%s has the heading %q in %s, like %q", name, heading, lang, other)
			}
			pages[heading] = name
		}
	}
	for _, name := range distinctHeadings {
		if english := s.headings[name+" en"]; english == s.headings[name+" ru"] || english == s.headings[name+" ar"] {
			t.Errorf("%s has the heading %q in several languages", name, english)
		}
	}
}

// prepareFee configures the second partner so that its payers pay the fee.
func (s *site) prepareFee(t *testing.T) {
	t.Helper()
	admin := s.Admin().With("x-organization-id", s.Sandbox.Second.OrganizationID)
	terminals := s.send(t, admin, "GET", fmt.Sprintf("/terminals?partner_id=%d", s.Sandbox.Second.PartnerID), nil, http.StatusOK)
	for i := 0; ; i++ {
		id := terminals.at(fmt.Sprintf("data.%d.id", i))
		if id == "" {
			return
		}
		s.send(t, admin, "PATCH", "/terminal/"+id, `{"provider_params":{"fee_bps":"280","fee_mode":"on_top"}}`, http.StatusOK)
	}
}

// prepareMethods creates a partner whose payers pay a different fee for each payment method.
func (s *site) prepareMethods(t *testing.T) {
	t.Helper()
	partner := s.send(t, s.Admin(), "POST", "/partners", `{"name":"Bread & Sons","login":"bread-and-sons","pass":"c2hhcmVkIG92ZW4"}`, http.StatusCreated).at("id")
	for priority, c := range []struct{ methods, fee string }{{`"bank_card"`, "280"}, {`"direct_debit","qr_code"`, "50"}} {
		s.send(t, s.Admin(), "POST", "/terminal", `{"name":"Fee `+c.fee+`","partner_id":`+partner+`,"provider":"simulator","type":"payment","env":"test",`+
			`"provider_params":{"priority":`+strconv.Itoa(priority)+`,"methods":[`+c.methods+`],"fee_bps":"`+c.fee+`","fee_mode":"on_top"}}`, http.StatusCreated)
	}
	key := s.send(t, s.Admin(), "POST", "/api_keys", `{"partner_id":`+partner+`,"name":"shop"}`, http.StatusCreated).at("key")
	s.methods = s.Anyone().With("x-api-key", key, "x-organization-id", s.Sandbox.OrganizationID)
}

// prepareExpired creates a payment whose checkout has expired. It must run first, because it moves the clock, which must stand
// still during the other tests.
func (s *site) prepareExpired(t *testing.T) {
	t.Helper()
	_, s.expired = s.hosted(t, "payment", `"amount":"123450","currency":"USD"`)
	s.advance(t, 16*time.Minute)
}

func showLink(tb *tab) {
	first, _ := tb.site.product(tb.t, `"price":450,"currency":"USD","qty":"3",`)
	second, _ := tb.site.product(tb.t, `"price":649,"currency":"USD",`)
	_, address := tb.site.link(tb.t, `"name":"Tea for two","description":"From the hills, for a long evening.","image":"`+tb.site.picture+`","products":["`+first+`","`+second+`"],`,
		`"default":1999,"currency":"USD"`, "fixed")
	tb.visit(address)
}

func showDynamicLink(tb *tab) {
	_, address := tb.site.link(tb.t, `"name":"Donation","description":"Every amount helps.",`, `"default":1000,"min":500,"max":123456,"currency":"USD"`, "dynamic")
	tb.visit(address)
}

func showRefusedAmount(tb *tab) {
	showDynamicLink(tb)
	tb.fill("input[name=amount]", "1")
	tb.press(submitButton)
}

func showProduct(tb *tab) {
	_, address := tb.site.product(tb.t, `"price":450,"currency":"EUR","qty":"3",`)
	tb.visit(address)
}

func showFreeProduct(tb *tab) {
	_, address := tb.site.product(tb.t, `"price":0,`)
	tb.visit(address)
}

// hostedIn creates a transaction whose page has the language of the view. It returns the transaction's id and the address of the
// page.
func (tb *tab) hostedIn(kind string) (id, address string) {
	return tb.site.hosted(tb.t, kind, `"amount":"123450","currency":"USD","description":"Red shoes, size 42","lang":"`+tb.view.lang+`"`)
}

func showCheckout(tb *tab) {
	_, address := tb.hostedIn("payment")
	tb.visit(address)
}

func showFee(tb *tab) {
	created := tb.site.create(tb.t, tb.site.SecondPartner(), "payment", `"hosted":true,"amount":"1999","currency":"USD","lang":"`+tb.view.lang+`"`)
	tb.visit(created.at("widget_url"))
}

func showMethods(tb *tab) {
	created := tb.site.create(tb.t, tb.site.methods, "payment", `"hosted":true,"amount":"1999","currency":"USD","lang":"`+tb.view.lang+`"`)
	tb.visit(created.at("widget_url"))
}

func showRefusedCard(tb *tab) {
	showCheckout(tb)
	tb.pay(cardInvalid)
}

func showPassword(tb *tab) {
	showCheckout(tb)
	tb.pay(cardPassword)
}

func showBank(tb *tab) {
	showCheckout(tb)
	tb.pay(cardRedirect)
	tb.waitFor("the simulated bank", isAtTheBank)
}

func showDecidedBank(tb *tab) {
	showBank(tb)
	bank := tb.events.current().url
	tb.press(approveButton)
	tb.visit(bank)
}

// showAction creates a transaction for which the payer has to do something, and opens the page for that.
func (tb *tab) showAction(kind, fields string) {
	created := tb.site.create(tb.t, tb.site.Partner(), kind, fields+`,"lang":"`+tb.view.lang+`"`)
	tb.visit(created.at("simple_auth_redirect_url"))
}

func showScan(tb *tab) {
	tb.showAction("payment", `"amount":"123450","currency":"RUB","money_storage":{"type":"sbp"}`)
}

func showDeposit(tb *tab) {
	tb.showAction("payment", `"amount":"1234567","currency":"USDT","network":"tron","money_storage":{"type":"crypto"}`)
}

func showSignature(tb *tab) {
	tb.showAction("payment", `"amount":"1250000000000000","currency":"ETH","money_storage":{"type":"native_gas"}`)
}

func showInstitutions(tb *tab) {
	tb.showAction("payout", `"amount":"123450","currency":"EUR","money_storage":{"type":"open_banking"}`)
}

func showPayoutCard(tb *tab) {
	_, address := tb.hostedIn("payout")
	tb.visit(address)
}

func showProcessing(tb *tab) {
	showCheckout(tb)
	tb.pay(cardSlow) // the clock stands still, so the payment is never charged
}

func showPaid(tb *tab) {
	showCheckout(tb)
	tb.pay(cardCharged)
}

func showPaidOut(tb *tab) {
	showPayoutCard(tb)
	tb.pay(cardCharged)
}

func showDeclined(tb *tab) {
	showCheckout(tb)
	tb.pay(cardDeclined)
}

func showFailed(tb *tab) {
	showCheckout(tb)
	tb.pay(cardFailed)
}

func showReceipt(tb *tab) {
	showPaid(tb)
	tb.do(chromedp.Click(chromedp.CSS(receiptLink)))
	tb.waitFor("the receipt", func(d document) bool { return strings.Contains(d.url, "/receipt?") && d.isLoaded })
}

func showReturned(tb *tab) {
	id, address := tb.hostedIn("payment")
	tb.visit(address)
	tb.pay(cardCharged)
	tb.site.send(tb.t, tb.site.Partner(), "PUT", "/transactions/"+id, `{"params":{"type":"refund"}}`, http.StatusOK)
	tb.visit(address)
}

func showExpired(tb *tab) { tb.visit(tb.site.expired) }

func showUnknown(tb *tab) { tb.visit(tb.site.BaseURL + "/pay/l/00000000-0000-4000-8000-000000000000") }

func showClosed(tb *tab) {
	id, address := tb.site.link(tb.t, "", `"default":1999,"currency":"USD"`, "fixed")
	tb.site.send(tb.t, tb.site.Partner(), "PATCH", "/links/"+id, `{"active":false}`, http.StatusOK)
	tb.visit(address)
}

func showTooMany(tb *tab) {
	const allowedInAMinute = 10
	_, address := tb.site.link(tb.t, "", `"default":1999,"currency":"USD"`, "fixed")
	form := tb.site.Anyone().With("content-type", "application/x-www-form-urlencoded", "x-forwarded-for", tb.payerIP)
	for range allowedInAMinute {
		if answer, err := form.Post(strings.TrimPrefix(address, tb.site.BaseURL), ""); err != nil || answer.Status != http.StatusOK {
			tb.fatal(fmt.Sprint("a payment does not begin: ", answer, err))
		}
	}
	tb.visit(address)
	tb.press(submitButton)
}
