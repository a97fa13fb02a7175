package api_test

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/api"
	"mizan/ledger/payment"
)

// The URLs to which the merchant wants its payers to return, after a success and after a failure.
const (
	returnURL = "https://shop.example/ok?order=1&a=%20b#top"
	failURL   = "https://shop.example/no"
)

// cardRest has the members that follow the number in the JSON object money_storage of a card.
const cardRest = `"cardholder":"JOHN DOE","exp_month":"12","exp_year":"2030","cvv":"123"`

// charge creates a card payment and returns the response.
func (f *fixture) charge(card string) *response {
	f.t.Helper()
	return f.create(`"type":"payment","amount":"1250","currency":"USD","money_storage":{"type":"bank_card","cardnumber":"` + card + `",` + cardRest + `}`)
}

// Titles of the demo partner's pages on which a payer chooses how to pay, and the recipient of a payout how to be paid.
const (
	checkoutTitle = "Payment to Demo merchant"
	payoutTitle   = "Payout from Demo merchant"
)

// create creates a transaction with the fields and with return addresses, in env test.
func (f *fixture) create(fields string) *response {
	f.t.Helper()
	return f.partner().post(transactions, `{"params":{"env":"test","returnUrl":"`+returnURL+`","failUrl":"`+failURL+`",`+fields+`}}`).want(201, "")
}

// createHosted creates a payment with a hosted page and returns the response.
func (f *fixture) createHosted(fields string) *response {
	f.t.Helper()
	return f.partner().post(transactions, `{"params":{"env":"test","type":"payment","amount":"1250","currency":"USD","hosted":true`+fields+`}}`).want(201, "")
}

// transaction reads a transaction.
func (f *fixture) transaction(id string) *response {
	f.t.Helper()
	return f.partner().get(transactions+"/"+id).want(200, "")
}

// ownPath returns the path of a URL of the server; ok is false for any other URL.
func (f *fixture) ownPath(address string) (path string, ok bool) {
	path = strings.TrimPrefix(address, f.base())
	return path, strings.HasPrefix(path, "/")
}

// browse opens a URL and follows redirects that lead to the server. It returns the page, or the redirect to another site.
func (f *fixture) browse(address string) *response {
	f.t.Helper()
	return f.follow(f.visit("GET", address, nil))
}

// send posts a form and follows redirects.
func (f *fixture) send(address string, form url.Values) *response {
	f.t.Helper()
	return f.follow(f.visit("POST", address, form))
}

// fill sends the form of a page, with its hidden fields and with what the payer types, and follows redirects.
func (f *fixture) fill(page *response, typed url.Values) *response {
	f.t.Helper()
	action, form := page.form()
	maps.Copy(form, typed)
	return f.send(action, form)
}

func (f *fixture) follow(r *response) *response {
	f.t.Helper()
	for range 8 {
		if _, ok := f.ownPath(r.header.Get("location")); r.status != 303 || !ok {
			return r
		}
		r = f.visit("GET", r.header.Get("location"), nil)
	}
	f.t.Fatal("redirected for ever")
	return nil
}

// visit makes one request as a browser does, and checks the headers that every page must have.
func (f *fixture) visit(method, address string, form url.Values) *response {
	f.t.Helper()
	path, ok := f.ownPath(address)
	if !ok {
		f.t.Fatalf("%q is not an address of the server", address)
	}
	r := f.anyone().with("content-type", "application/x-www-form-urlencoded").do(method, path, form.Encode())
	for header, want := range map[string]string{"referrer-policy": "no-referrer", "cache-control": "no-store", "x-content-type-options": "nosniff"} {
		if got := r.header.Get(header); got != want {
			f.t.Errorf("%s %s: %s is %q, want %q", method, path, header, got, want)
		}
	}
	if r.status == 303 {
		return r
	}
	policy := r.header.Get("content-security-policy")
	if r.header.Get("content-type") != "text/html; charset=utf-8" || !strings.HasPrefix(policy, "default-src 'none'; base-uri 'none'; require-trusted-types-for 'script'; script-src 'sha256-") ||
		strings.Count(policy, "script-src") != 1 || !strings.Contains(policy, "; style-src 'sha256-") || strings.Contains(policy, "unsafe") {
		f.t.Errorf("%s %s: headers %v", method, path, r.header)
	}
	if mayBeFramed := !strings.Contains(policy, "frame-ancestors 'none'"); mayBeFramed != (strings.HasPrefix(path, "/simulator/") && r.status == 200) {
		f.t.Errorf("%s %s: framed %v: %s", method, path, mayBeFramed, policy)
	}
	return r
}

// wantPage checks a page's status and heading, and texts in it.
func (r *response) wantPage(status int, heading string, texts ...string) *response {
	r.t.Helper()
	if r.status != status || !strings.Contains(r.body, "<h1>"+heading+"</h1>") && !strings.Contains(r.body, "<h1><bdi>"+heading+"</bdi></h1>") {
		r.t.Errorf("responded %d %s, want %d %q", r.status, r.body, status, heading)
	}
	for _, text := range texts {
		if !strings.Contains(r.body, text) {
			r.t.Errorf("no %q in %s", text, r.body)
		}
	}
	return r
}

// wantRedirect checks that the response redirects to the given URL.
func (r *response) wantRedirect(address string) *response {
	r.t.Helper()
	if got := r.header.Get("location"); r.status != 303 || got != address {
		r.t.Errorf("responded %d to %q, want 303 to %q", r.status, got, address)
	}
	return r
}

// wantStatus checks a transaction's status, and its reason: an error code or a description.
func (r *response) wantStatus(status, reason string) *response {
	r.t.Helper()
	description, code := r.at("error_description"), r.at("error_code")
	ok := description == reason && (reason != "" || code == "null")
	if slices.Contains(payment.Codes(), payment.Code(reason)) {
		ok = code == reason && strings.Contains(description, " ") && !strings.Contains(description, "_")
	}
	if r.at("status") != status || !ok {
		r.t.Errorf("%s, want %s %q", r.body, status, reason)
	}
	return r
}

var (
	formTag   = regexp.MustCompile(`<form method="post" action="([^"]+)">`)
	hiddenTag = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
	unescape  = strings.NewReplacer("&amp;", "&", "&#34;", `"`, "&#39;", "'", "&#43;", "+", "&lt;", "<", "&gt;", ">")
)

// form returns the target of a page's form, and its hidden fields.
func (r *response) form() (action string, fields url.Values) {
	r.t.Helper()
	match := formTag.FindStringSubmatch(r.body)
	if r.status != 200 && r.status != 422 || match == nil {
		r.t.Fatalf("no form in %d %s", r.status, r.body)
	}
	fields = url.Values{}
	for _, input := range hiddenTag.FindAllStringSubmatch(r.body, -1) {
		fields.Set(unescape.Replace(input[1]), unescape.Replace(input[2]))
	}
	return unescape.Replace(match[1]), fields
}

// answerChallenge presses a button of the simulator's page.
func (f *fixture) answerChallenge(page *response, button string) *response {
	f.t.Helper()
	page.wantPage(200, "Simulated bank")
	action, fields := page.form()
	fields.Set("decision", button)
	return f.visit("POST", action, fields)
}

// advanceBy moves the manual clock.
func (f *fixture) advanceBy(d time.Duration) {
	f.t.Helper()
	at := f.Clock.Now().Add(d).Format(time.RFC3339Nano)
	f.admin().do("PUT", "/api/v1/sandbox/clock", `{"now":"`+at+`"}`).want(200, "")
}

func TestPasswordIsAcceptedOnThePage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct{ password, status, reason, title, returnAddress string }{
		{"123456", "charged", "", "Paid", returnURL},
		{"654321", "rejected", "authentication_failed", "Not paid", failURL},
		{" 123 456\u00a0", "charged", "", "Paid", returnURL}, {"١٢٣٤٥٦", "charged", "", "Paid", returnURL}, {"۱۲۳ ۴۵۶", "charged", "", "Paid", returnURL},
		{"\u200f১২৩৪৫৬\u200e", "charged", "", "Paid", returnURL},
	} {
		transaction := f.charge("4000002500003155").wantStatus("action_required", "")
		address := transaction.at("simple_auth_redirect_url")
		action, _ := f.browse(address).wantPage(200, "Confirm with a password", "$12.50").form()
		f.send(action, url.Values{"otp": {""}}).wantPage(422, "Confirm with a password", "Enter the password")
		f.send(action, url.Values{"otp": {" \u00a0"}}).wantPage(422, "Confirm with a password", "Enter the password")
		f.send(action, url.Values{"otp": {strings.Repeat("1", 65)}}).wantPage(422, "Confirm with a password")
		f.send(action, nil).wantPage(422, "Confirm with a password")
		f.transaction(transaction.at("id")).wantStatus("action_required", "")

		link := `href="` + strings.ReplaceAll(c.returnAddress, "&", "&amp;") + `">`
		f.send(action, url.Values{"otp": {c.password}}).wantPage(200, c.title, link)
		f.transaction(transaction.at("id")).wantStatus(c.status, c.reason)
		// A password that is sent after the deadline has no effect.
		f.send(action, url.Values{"otp": {"123456"}}).wantPage(200, c.title, link)
		f.transaction(transaction.at("id")).wantStatus(c.status, c.reason)
	}
}

func TestLinkOfAnIdlePayerExpires(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, card := range []string{"4000002500003155", "4000000000003220"} {
		transaction := f.charge(card).wantStatus("action_required", "")
		address := transaction.at("simple_auth_redirect_url")
		f.advanceBy(15*time.Minute - time.Second)
		if r := f.visit("GET", address, nil); r.status == 410 {
			t.Errorf("%s: the link is over too early", card)
		}
		f.advanceBy(time.Second)
		f.browse(address).wantPage(410, "This link is no longer valid")
		f.advanceBy(15 * time.Minute)
		f.transaction(transaction.at("id")).wantStatus("rejected", "payer action expired")
		f.browse(address).wantPage(410, "Time has run out")
		f.send(address, url.Values{"otp": {"123456"}}).wantPage(410, "Time has run out")
		f.transaction(transaction.at("id")).wantStatus("rejected", "payer action expired")
	}
}

func TestReceivingBankIsChosenOnThePage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, method := range []string{"open_banking", "sepa"} {
		transaction := f.create(`"type":"payout","amount":"1250","currency":"EUR","money_storage":{"type":"`+method+`"}`).wantStatus("action_required", "")
		address, bank := transaction.at("simple_auth_redirect_url"), transaction.at("availble_destinations.1.target_bank_id")
		page := f.browse(address).wantPage(200, "Choose your bank", "€12.50", `<input type="radio" name="target_bank_id" value="`+bank+`" required> <span><bdi>`+transaction.at("availble_destinations.1.name"))
		action, _ := page.form()
		for _, wrong := range []url.Values{nil, {"target_bank_id": {""}}, {"target_bank_id": {"nobody"}}} {
			f.send(action, wrong).wantPage(422, "Choose your bank", "Choose one of the banks.")
		}
		f.transaction(transaction.at("id")).wantStatus("action_required", "")
		f.send(action, url.Values{"target_bank_id": {bank}}).wantPage(200, "The money is on its way to you")
		f.transaction(transaction.at("id")).wantStatus("charged", "")
	}
}

func TestPageNeedsItsToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction, otherTransaction := f.createHosted(""), f.createHosted("")
	address, _ := f.ownPath(transaction.at("widget_url"))
	otherAddress, _ := f.ownPath(otherTransaction.at("widget_url"))
	path, query, _ := strings.Cut(address, "?token=")
	_, otherQuery, _ := strings.Cut(otherAddress, "?token=")
	org, tag, _ := strings.Cut(query, ".")
	foreignPayment := f.second().post(transactions, `{"params":{"env":"test","type":"payment","amount":"1","hosted":true}}`).want(201, "")
	_, foreignToken, _ := strings.Cut(foreignPayment.at("widget_url"), "?token=")
	foreignOrg, _, _ := strings.Cut(foreignToken, ".")
	flippedTag := []byte(tag)
	flippedTag[0] ^= 1

	want := f.visit("GET", "/pay/"+uuid.NewString()+"?token="+query, nil).wantPage(404, "Page not found")
	for _, token := range []string{
		"", "x", ".", query[:len(query)-1], query + "A", query + ".", "." + tag, org + ".", org + tag, otherQuery, foreignToken, foreignOrg + "." + tag,
		org + "." + string(flippedTag), strings.ToLower(query), tag + "." + org, strings.Repeat("A", 4000),
		org[:21] + string(org[21]+1) + "." + tag, // another encoding of the same bytes
	} {
		for _, suffix := range []string{"", "/return"} {
			for _, method := range []string{"GET", "POST"} {
				r := f.visit(method, path+suffix+"?token="+token, nil).wantPage(404, "Page not found")
				if r.body != want.body {
					t.Errorf("%s %q: %s, an unknown id %s", method, token, r.body, want.body)
				}
			}
		}
	}
	for _, unknown := range []string{"x", strings.ToUpper(transaction.at("id")) + "x", uuid.Nil.String()} {
		f.visit("GET", "/pay/"+unknown+"?token="+query, nil).wantPage(404, "Page not found")
	}
	f.visit("GET", path, nil).wantPage(404, "Page not found")
	f.browse(address).wantPage(200, checkoutTitle)
}

func TestTokensAreInNoLog(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.charge("4000000000003220")
	address := transaction.at("simple_auth_redirect_url")
	_, token, _ := strings.Cut(address, "?token=")
	location := f.answerChallenge(f.browse(address), "approve").header.Get("location")
	_, secondToken, _ := strings.Cut(location, "?token=")
	f.browse(location)
	f.browse(address)
	if log := f.log.String(); strings.Contains(log, token) || strings.Contains(log, secondToken) || token == "" || secondToken == "" {
		t.Errorf("%s", log)
	}
	for len(f.observed) > 0 {
		if seen := <-f.observed; strings.Contains(seen, token) {
			t.Errorf("observed %s", seen)
		}
	}
}

func TestMerchantTextsAreEscaped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted(`,"description":"<script>alert(1)</script>\"'><img src=x>"`)
	page := f.browse(transaction.at("widget_url")).wantPage(200, checkoutTitle, "&lt;script&gt;alert(1)&lt;/script&gt;")
	if strings.Contains(page.body, "<script>") || strings.Contains(page.body, "<img") {
		t.Errorf("%s", page.body)
	}
}

func TestOnlyWebReturnURLsAreUsed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, address := range []string{
		"javascript:alert(1)", "data:text/html,x", "//shop.example", "/ok", "shop.example", `https:\\shop.example`, "file:///etc/passwd",
		`https://a\r\nSet-Cookie: b=c`, `https://shop.example/\u0000`,
	} {
		transaction := f.partner().post(transactions, `{"params":{"env":"test","type":"payment","amount":"1250","currency":"USD","returnUrl":"`+strings.ReplaceAll(address, `\\`, `\\\\`)+
			`","failUrl":"https://shop.example/","money_storage":{"type":"bank_card","cardnumber":"4000000000003220",`+cardRest+`}}}`).want(201, "")
		outcome := f.follow(f.answerChallenge(f.browse(transaction.at("simple_auth_redirect_url")), "approve")).wantPage(200, "Paid")
		if strings.Contains(outcome.body, `class="button"`) || strings.Contains(outcome.body, "data-go=\"") {
			t.Errorf("%q is linked: %s", address, outcome.body)
		}
	}
}

func TestPagesUseTheLanguageOfTheTransactionOrThePartner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.browse(f.createHosted(`,"lang":"ru"`).at("widget_url")).wantPage(200, "Платёж в пользу Demo merchant", `<html lang="ru" dir="ltr">`)
	f.browse(f.createHosted(`,"lang":"de"`).at("widget_url")).wantPage(200, "Zahlung an Demo merchant", `<html lang="de" dir="ltr">`, "12,50\u00a0$")
	f.admin().patch("/api/v1/partners/1", `{"lang":"ru"}`).want(200, "")
	f.browse(f.createHosted("").at("widget_url")).wantPage(200, "Платёж в пользу Demo merchant")
	f.browse(f.createHosted(`,"lang":"en"`).at("widget_url")).wantPage(200, checkoutTitle)
}

func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	address, _ := f.ownPath(f.charge("4000002500003155").at("simple_auth_redirect_url"))
	form := f.anyone().with("content-type", "application/x-www-form-urlencoded")
	for body, status := range map[string]int{
		"otp=&x=" + strings.Repeat("x", 64<<10-7): 422, "otp=&x=" + strings.Repeat("x", 64<<10-6): 413,
		"otp=1&otp=1": 400, "otp=%zz": 400, "otp=%4": 400, "otp=%ff": 400, "%6ftp=1&otp=2": 400,
		"otp=" + strings.Repeat("&x=1", 2): 400, "a=1&": 422, "&&&": 422, "OTP=123456": 422,
	} {
		if r := form.post(address, body); r.status != status {
			t.Errorf("%.40q: %d %s", body, r.status, r.body)
		}
	}
	for contentType, status := range map[string]int{
		"application/x-www-form-urlencoded; charset=UTF-8": 422, "Application/X-WWW-Form-Urlencoded": 422,
		"application/json": 415, "multipart/form-data; boundary=x": 415, "": 415, "application/x-www-form-urlencoded; charset=koi8-r": 415,
	} {
		f.anyone().with("content-type", contentType).post(address, "otp=").want(status, "")
	}
}

// Pages lead payers to https URLs only, and in the sandbox also to http URLs of the developer's machine. This holds for links on
// pages and for the redirect of a payer who returns from a provider.
func TestPagesLeadToHTTPSOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ env, address, target string }{
		{"production", "https://shop.example/no", "https://shop.example/no"},
		{"production", "http://shop.example/no", ""},
		{"production", "http://127.0.0.1:3000/no", ""},
		{"production", "HTTP://localhost/no", ""},
		{"sandbox", "https://shop.example/no", "https://shop.example/no"},
		{"sandbox", "http://shop.example/no", ""},
		{"sandbox", "http://localhost.shop.example/no", ""},
		{"sandbox", "http://127.0.0.1:3000/no", "http://127.0.0.1:3000/no"},
		{"sandbox", "http://[::1]:3000/no", "http://[::1]:3000/no"},
		{"sandbox", "http://localhost:3000/no", "http://localhost:3000/no"},
	} {
		t.Run(c.env+" "+c.address, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, func(cfg *api.Config) { cfg.Env = c.env })
			transaction := f.partner().post(transactions, `{"params":{"env":"test","type":"payment","amount":"1250","currency":"USD","hosted":true,"returnUrl":"`+c.address+`","failUrl":"`+c.address+`"}}`).want(201, "")
			action, _ := f.browse(transaction.at("widget_url")).form()
			page := f.send(action, card("4000000000000119")).wantPage(200, "Not paid")
			if isLinked := strings.Contains(page.body, `href="`+c.address); isLinked != (c.target != "") {
				t.Errorf("the page links: %v\n%s", isLinked, page.body)
			}
			address, _ := f.ownPath(transaction.at("widget_url"))
			path, query, _ := strings.Cut(address, "?")
			redirect := f.visit("GET", f.base()+path+"/return?"+query, nil)
			if got := redirect.header.Get("location"); strings.HasPrefix(got, "/pay/") != (c.target == "") || c.target != "" && got != c.target {
				t.Errorf("the way back leads to %q", got)
			}
		})
	}
}
