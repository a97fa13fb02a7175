package api_test

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// testBanner is the banner that pages show in the test environment.
const testBanner = `<aside class="banner"><p>Test mode: no money moves.</p></aside>`

var timerTag = regexp.MustCompile(`role="timer" data-left="(\d+)"`)

// wantWait checks a page about too many attempts: it must link back to the given URL and show how long to wait.
func (r *response) wantWait(address string) {
	r.t.Helper()
	r.wantPage(429, "Too many attempts", testBanner, `<a class="button" href="`+address+`">Continue</a>`)
	timer := timerTag.FindStringSubmatch(r.body)
	if timer == nil || timer[1] != r.header.Get("retry-after") {
		r.t.Fatalf("%q, retry-after %s", timer, r.header.Get("retry-after"))
	}
	left, err := strconv.Atoi(timer[1])
	must(r.t, err)
	if left < 1 || left > 60 || !strings.Contains(r.body, `<meta http-equiv="refresh" content="`+strconv.Itoa(left+1)+`; url=`+address+`">`) {
		r.t.Errorf("%d seconds are left: %s", left, r.body)
	}
}

// A payer who has sent too many cards continues the same payment, and types only the card's number and CVV again.
func TestTooManyCardsLeadBackToThePayment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	link := f.testLink(`"fail_url":"`+failURL+`",`, `"default":100`, "fixed").at("data.url")
	for range 20 {
		f.tryCard(f.createHosted("").at("widget_url"), "4242424242424242").wantPage(200, "Paid")
	}
	pay, _ := f.send(link, url.Values{}).wantPage(200, checkoutTitle).form()
	refused := f.send(pay, card("4242424242424242"))
	refused.wantWait(pay)
	refused.wantNoText(link, failURL, "4242424242424242")
	f.browse(pay).wantPage(200, checkoutTitle, `value="JOHN DOE"`, `value="12/30"`)
	f.transaction(f.partner().get(transactions+"?env=test").at("data.0.id")).wantStatus("created", "")
}

// A visitor who has begun too many payments goes back to the link.
func TestTooManyPaymentsLeadBackToTheLink(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	link := f.testLink("", `"default":100`, "fixed")
	for range 10 {
		f.send(link.at("data.url"), url.Values{}).wantPage(200, checkoutTitle)
	}
	f.send(link.at("data.url"), url.Values{}).wantWait("/pay/l/" + link.at("data.id"))
}

// A page with a notice, such as an error, shows testBanner if and only if the link or payment is in the test environment.
func TestNoticesShowTheTestMode(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.admin().post("/api/v1/terminal", `{"name":"n","partner_id":1,"provider":"simulator","type":"payment","env":"prod"}`)
	for env, banners := range map[string]int{"test": 1, "prod": 0} {
		check := func(r *response, status int, heading string) {
			t.Helper()
			if n := strings.Count(r.wantPage(status, heading).body, testBanner); n != banners {
				t.Errorf("%s, %s: %d banners", env, heading, n)
			}
		}
		link := f.partner().post(linksPath, `{"env":"`+env+`","amount":{"default":1250,"currency":"USD"},"amount_type":"fixed","pay_config":{}}`).want(201, "")
		f.partner().patch(linksPath+"/"+link.at("data.id"), `{"active":false}`).want(200, "")
		check(f.browse(link.at("data.url")), 410, "No payments are accepted here")
		create := func(currency string) *response {
			return f.partner().post(transactions, `{"params":{"env":"`+env+`","type":"payment","amount":"1250","currency":"`+currency+`","hosted":true}}`).want(201, "")
		}
		idle := create("USD")
		lasting := f.opened(idle.at("widget_url"))
		check(f.anyone().with("content-type", "application/json").post(lasting, "{}"), 415, "That did not work")
		f.advanceBy(16 * time.Minute)
		check(f.browse(idle.at("widget_url")), 410, "This link is no longer valid")
		f.advanceBy(30 * time.Minute)
		check(f.browse(idle.at("widget_url")), 410, "Time has run out")
	}
	f.useTerminals("payment")
	f.browse(f.createHosted("").at("widget_url")).wantPage(200, "Payment", testBanner)
}

// The page of a closed link leads to the link's fail_url. There is no transaction, so a placeholder for its id becomes empty.
func TestClosedLinkLeadsToItsFailURL(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for sent, want := range map[string]string{
		failURL: `<a class="button" href="` + failURL + `">`, "https://shop.example/no?id={transaction_id}": `<a class="button" href="https://shop.example/no?id=">`,
		"http://shop.example/no": "",
	} {
		link := f.testLink(`"fail_url":"`+sent+`",`, `"default":1250`, "fixed")
		f.partner().patch(linksPath+"/"+link.at("data.id"), `{"active":false}`).want(200, "")
		for _, method := range []string{"GET", "POST"} {
			closed := f.visit(method, link.at("data.url"), nil).wantPage(410, "No payments are accepted here", want)
			if want == "" {
				closed.wantNoText(`class="button"`)
			}
		}
	}
}

// A card number in a wrong field is not shown again, whatever digits the payer's keyboard has.
func TestNumberInTheWrongFieldIsNotShownInAnyDigits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	link := f.testLink("", `"default":1000,"min":500`, "dynamic").at("data.url")
	for _, zero := range []rune{'0', '٠', '۰', '০', '０', '०', '𝟘'} {
		number := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return zero + r - '0'
			}
			return r
		}, "4242 4242 4242 4242")
		f.partner().post(transactions, `{"params":{"env":"test","type":"payment","amount":"1250","hosted":true,"currency":"`+number+`","money_storage":{"type":"`+number+`"}}}`).want(422, "").wantNoText(number)
		_, action := f.payerForm("")
		form := card("4242424242424241")
		form.Set("cardholder", number)
		f.send(action, form).wantPage(422, checkoutTitle).wantNoText(number)
		f.send(link, url.Values{"amount": {number + " x"}}).wantPage(422, "Payment").wantNoText(number)
	}
}

// A payment that ends before a terminal takes it is shown with the total that its page had promised.
func TestPaymentThatEndsEarlyIsShownWithItsFee(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setTerminalParams("payment", `{"fee_fixed":"50","fee_mode":"on_top"}`)
	cancel := url.Values{"cancel": {"1"}}
	begin := func() (id, address string) {
		id, action := f.payerForm("")
		f.browse(action).wantPage(200, checkoutTitle, "Pay $13.00")
		return id, action
	}
	_, action := begin()
	f.send(action, cancel).wantPage(200, "Not paid", "$13.00").wantNoText("$12.50")
	_, action = begin()
	f.tryCard(action, declinedCard).wantPage(200, checkoutTitle)
	f.send(action, cancel).wantPage(200, "Not paid", "$13.00").wantNoText("$12.50")
	_, action = begin()
	f.advanceBy(actionTTL)
	f.browse(action).wantPage(200, "Not paid", "$13.00").wantNoText("$12.50")
	f.addToBlocklist("bin", "424242")
	id, action := begin()
	f.tryCard(action, "4242424242424242").wantPage(200, "Not paid", "$13.00").wantNoText("$12.50")
	f.setTerminalParams("payment", `{"fee_fixed":"75","fee_mode":"on_top"}`) // the payer has agreed to the earlier fee
	f.browse(action).wantPage(200, "Not paid", "$13.00").wantNoText("$12.50")
	f.transaction(id).wantFields(map[string]string{"amount_with_fee": "1250"})
}
