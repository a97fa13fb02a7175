package api_test

import (
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

// The addresses from which payers come and to which they return.
const (
	shopOK = "https://shop.example/ok?order=1&a=%20b#top"
	shopNo = "https://shop.example/no"
)

const cardRest = `"cardholder":"JOHN DOE","exp_month":"12","exp_year":"2030","cvv":"123"`

// charge creates a card payment and returns the answer.
func (h *fixture) charge(card string) *answer {
	h.t.Helper()
	return h.create(`"type":"payment","amount":"1250","currency":"USD","money_storage":{"type":"bank_card","cardnumber":"` + card + `",` + cardRest + `}`)
}

// create creates a transaction in env test, with return addresses.
func (h *fixture) create(fields string) *answer {
	h.t.Helper()
	return h.partner().post(transactions, `{"params":{"env":"test","returnUrl":"`+shopOK+`","failUrl":"`+shopNo+`",`+fields+`}}`).want(201, "")
}

// hosted creates a payment with a hosted page and returns the answer.
func (h *fixture) hosted(fields string) *answer {
	h.t.Helper()
	return h.partner().post(transactions, `{"params":{"env":"test","type":"payment","amount":"1250","currency":"USD","hosted":true`+fields+`}}`).want(201, "")
}

// transaction reads a transaction.
func (h *fixture) transaction(id string) *answer {
	h.t.Helper()
	return h.partner().get(transactions+"/"+id).want(200, "")
}

// inside returns the path of a URL of the server; ok is false for any other URL.
func (h *fixture) inside(address string) (path string, ok bool) {
	path = strings.TrimPrefix(address, h.base())
	return path, strings.HasPrefix(path, "/")
}

// browse follows redirects as a browser does, as long as they lead to the server. It returns
// the page, or the redirect to another site.
func (h *fixture) browse(address string) *answer {
	h.t.Helper()
	return h.follow(h.visit("GET", address, nil))
}

// send posts a form and follows redirects.
func (h *fixture) send(address string, form url.Values) *answer {
	h.t.Helper()
	return h.follow(h.visit("POST", address, form))
}

func (h *fixture) follow(a *answer) *answer {
	h.t.Helper()
	for range 8 {
		if _, ok := h.inside(a.header.Get("location")); a.status != 303 || !ok {
			return a
		}
		a = h.visit("GET", a.header.Get("location"), nil)
	}
	h.t.Fatal("redirected for ever")
	return nil
}

// visit makes one request of a browser and checks what every answer of a page must have.
func (h *fixture) visit(method, address string, form url.Values) *answer {
	h.t.Helper()
	path, ok := h.inside(address)
	if !ok {
		h.t.Fatalf("%q is not an address of the server", address)
	}
	a := h.anyone().with("content-type", "application/x-www-form-urlencoded").do(method, path, form.Encode())
	for header, want := range map[string]string{"referrer-policy": "no-referrer", "cache-control": "no-store", "x-content-type-options": "nosniff"} {
		if got := a.header.Get(header); got != want {
			h.t.Errorf("%s %s: %s is %q, want %q", method, path, header, got, want)
		}
	}
	if a.status == 303 {
		return a
	}
	policy := a.header.Get("content-security-policy")
	if a.header.Get("content-type") != "text/html; charset=utf-8" || !strings.HasPrefix(policy, "default-src 'none'; base-uri 'none'; style-src 'sha256-") {
		h.t.Errorf("%s %s: headers %v", method, path, a.header)
	}
	if framed := !strings.Contains(policy, "frame-ancestors 'none'"); framed != (strings.HasPrefix(path, "/simulator/") && a.status == 200) {
		h.t.Errorf("%s %s: framed %v: %s", method, path, framed, policy)
	}
	return a
}

// wantPage checks a page's status and heading, and texts in it.
func (a *answer) wantPage(status int, heading string, texts ...string) *answer {
	a.t.Helper()
	if a.status != status || !strings.Contains(a.body, "<h1>"+heading+"</h1>") {
		a.t.Errorf("answered %d %s, want %d %q", a.status, a.body, status, heading)
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			a.t.Errorf("no %q in %s", text, a.body)
		}
	}
	return a
}

// wantRedirect checks that a redirect leads to an address.
func (a *answer) wantRedirect(address string) *answer {
	a.t.Helper()
	if got := a.header.Get("location"); a.status != 303 || got != address {
		a.t.Errorf("answered %d to %q, want 303 to %q", a.status, got, address)
	}
	return a
}

// wantStatus checks a transaction's status and its reason, by code or description.
func (a *answer) wantStatus(status, reason string) *answer {
	a.t.Helper()
	description, code := a.at("error_description"), a.at("error_code")
	ok := description == reason && (reason != "" || code == "null")
	if slices.Contains(payment.Codes(), payment.Code(reason)) {
		ok = code == reason && strings.Contains(description, " ") && !strings.Contains(description, "_")
	}
	if a.at("status") != status || !ok {
		a.t.Errorf("%s, want %s %q", a.body, status, reason)
	}
	return a
}

var (
	formTag   = regexp.MustCompile(`<form method="post" action="([^"]+)">`)
	hiddenTag = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
	unescape  = strings.NewReplacer("&amp;", "&", "&#34;", `"`, "&#39;", "'", "&#43;", "+", "&lt;", "<", "&gt;", ">")
)

// form returns the target of a page's form, and its hidden fields.
func (a *answer) form() (action string, fields url.Values) {
	a.t.Helper()
	found := formTag.FindStringSubmatch(a.body)
	if a.status != 200 || found == nil {
		a.t.Fatalf("no form in %d %s", a.status, a.body)
	}
	fields = url.Values{}
	for _, hidden := range hiddenTag.FindAllStringSubmatch(a.body, -1) {
		fields.Set(unescape.Replace(hidden[1]), unescape.Replace(hidden[2]))
	}
	return unescape.Replace(found[1]), fields
}

// answerChallenge presses a button of the simulator's page.
func (h *fixture) answerChallenge(shown *answer, button string) *answer {
	h.t.Helper()
	shown.wantPage(200, "Simulated bank")
	action, fields := shown.form()
	fields.Set("decision", button)
	return h.visit("POST", action, fields)
}

// advanceBy moves the manual clock.
func (h *fixture) advanceBy(d time.Duration) {
	h.t.Helper()
	at := h.Clock.Now().Add(d).Format(time.RFC3339Nano)
	h.admin().do("PUT", "/api/v1/sandbox/clock", `{"now":"`+at+`"}`).want(200, "")
}

func TestPasswordIsAcceptedOnThePage(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, c := range []struct{ typed, status, reason, title, back string }{
		{"123456", "charged", "", "Paid", shopOK},
		{"654321", "rejected", "authentication_failed", "Not paid", shopNo},
	} {
		made := h.charge("4000002500003155").wantStatus("action_required", "")
		address := made.at("simple_auth_redirect_url")
		action, _ := h.browse(address).wantPage(200, "Confirm with a password", "12.50 USD").form()
		h.send(action, url.Values{"otp": {""}}).wantPage(422, "Confirm with a password", "Type the password")
		h.send(action, url.Values{"otp": {strings.Repeat("1", 65)}}).wantPage(422, "Confirm with a password")
		h.send(action, nil).wantPage(422, "Confirm with a password")
		h.transaction(made.at("id")).wantStatus("action_required", "")

		link := `<a href="` + strings.ReplaceAll(c.back, "&", "&amp;") + `">`
		h.send(action, url.Values{"otp": {c.typed}}).wantPage(200, c.title, link)
		h.transaction(made.at("id")).wantStatus(c.status, c.reason)
		// Anything typed afterwards is too late.
		h.send(action, url.Values{"otp": {"123456"}}).wantPage(200, c.title, link)
		h.transaction(made.at("id")).wantStatus(c.status, c.reason)
	}
}

func TestLinkOfAnIdlePayerExpires(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, card := range []string{"4000002500003155", "4000000000003220"} {
		made := h.charge(card).wantStatus("action_required", "")
		address := made.at("simple_auth_redirect_url")
		h.advanceBy(15*time.Minute - time.Second)
		if a := h.visit("GET", address, nil); a.status == 410 {
			t.Errorf("%s: the link is over too early", card)
		}
		h.advanceBy(time.Second)
		h.browse(address).wantPage(410, "This link is no longer valid")
		h.advanceBy(15 * time.Minute)
		h.transaction(made.at("id")).wantStatus("rejected", "payer action expired")
		h.browse(address).wantPage(410, "This link is no longer valid")
		h.send(address, url.Values{"otp": {"123456"}}).wantPage(410, "This link is no longer valid")
		h.transaction(made.at("id")).wantStatus("rejected", "payer action expired")
	}
}

func TestReceivingBankIsChosenOnThePage(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, method := range []string{"open_banking", "sepa"} {
		made := h.create(`"type":"payout","amount":"1250","currency":"EUR","money_storage":{"type":"`+method+`"}`).wantStatus("action_required", "")
		address, bank := made.at("simple_auth_redirect_url"), made.at("availble_destinations.1.target_bank_id")
		page := h.browse(address).wantPage(200, "Choose your bank", "12.50 EUR", `<input type="radio" name="target_bank_id" value="`+bank+`" required> `+made.at("availble_destinations.1.name"))
		action, _ := page.form()
		for _, wrong := range []url.Values{nil, {"target_bank_id": {""}}, {"target_bank_id": {"nobody"}}} {
			h.send(action, wrong).wantPage(422, "Choose your bank", "Choose one of the banks.")
		}
		h.transaction(made.at("id")).wantStatus("action_required", "")
		h.send(action, url.Values{"target_bank_id": {bank}}).wantPage(200, "The money is on its way to you")
		h.transaction(made.at("id")).wantStatus("charged", "")
	}
}

func TestPageNeedsItsToken(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, other := h.hosted(""), h.hosted("")
	address, _ := h.inside(made.at("widget_url"))
	otherDoor, _ := h.inside(other.at("widget_url"))
	path, query, _ := strings.Cut(address, "?token=")
	_, otherQuery, _ := strings.Cut(otherDoor, "?token=")
	org, tag, _ := strings.Cut(query, ".")
	theirs := h.second().post(transactions, `{"params":{"env":"test","type":"payment","amount":"1","hosted":true}}`).want(201, "")
	_, foreign, _ := strings.Cut(theirs.at("widget_url"), "?token=")
	foreignOrg, _, _ := strings.Cut(foreign, ".")
	flipped := []byte(tag)
	flipped[0] ^= 1

	want := h.visit("GET", "/pay/"+uuid.NewString()+"?token="+query, nil).wantPage(404, "Page not found")
	for _, token := range []string{
		"", "x", ".", query[:len(query)-1], query + "A", query + ".", "." + tag, org + ".", org + tag, otherQuery, foreign, foreignOrg + "." + tag,
		org + "." + string(flipped), strings.ToLower(query), tag + "." + org, strings.Repeat("A", 4000),
		org[:21] + string(org[21]+1) + "." + tag, // another encoding of the same bytes
	} {
		for _, end := range []string{"", "/return"} {
			for _, method := range []string{"GET", "POST"} {
				a := h.visit(method, path+end+"?token="+token, nil).wantPage(404, "Page not found")
				if a.body != want.body {
					t.Errorf("%s %q: %s, an unknown id %s", method, token, a.body, want.body)
				}
			}
		}
	}
	for _, unknown := range []string{"x", strings.ToUpper(made.at("id")) + "x", uuid.Nil.String()} {
		h.visit("GET", "/pay/"+unknown+"?token="+query, nil).wantPage(404, "Page not found")
	}
	h.visit("GET", path, nil).wantPage(404, "Page not found")
	h.visit("GET", address, nil).wantPage(200, "Pay by card")
}

func TestTokensAreInNoLog(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made := h.charge("4000000000003220")
	address := made.at("simple_auth_redirect_url")
	_, token, _ := strings.Cut(address, "?token=")
	back := h.answerChallenge(h.browse(address), "approve").header.Get("location")
	_, second, _ := strings.Cut(back, "?token=")
	h.browse(back)
	h.browse(address)
	if log := h.log.String(); strings.Contains(log, token) || strings.Contains(log, second) || token == "" || second == "" {
		t.Errorf("%s", log)
	}
	for len(h.observed) > 0 {
		if seen := <-h.observed; strings.Contains(seen, token) {
			t.Errorf("observed %s", seen)
		}
	}
}

func TestMerchantTextsAreEscaped(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made := h.hosted(`,"description":"<script>alert(1)</script>\"'><img src=x>"`)
	page := h.browse(made.at("widget_url")).wantPage(200, "Pay by card", "&lt;script&gt;alert(1)&lt;/script&gt;")
	if strings.Contains(page.body, "<script") || strings.Contains(page.body, "<img") {
		t.Errorf("%s", page.body)
	}
}

func TestOnlyWebReturnURLsAreUsed(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, address := range []string{
		"javascript:alert(1)", "data:text/html,x", "//shop.example", "/ok", "shop.example", `https:\\shop.example`, "file:///etc/passwd",
		`https://a\r\nSet-Cookie: b=c`, `https://shop.example/\u0000`,
	} {
		made := h.partner().post(transactions, `{"params":{"env":"test","type":"payment","amount":"1250","currency":"USD","returnUrl":"`+strings.ReplaceAll(address, `\\`, `\\\\`)+
			`","failUrl":"https://shop.example/","money_storage":{"type":"bank_card","cardnumber":"4000000000003220",`+cardRest+`}}}`).want(201, "")
		outcome := h.follow(h.answerChallenge(h.browse(made.at("simple_auth_redirect_url")), "approve")).wantPage(200, "Paid")
		if strings.Contains(outcome.body, "<a ") {
			t.Errorf("%q is linked: %s", address, outcome.body)
		}
	}
}

func TestPagesSpeakTheLanguageOfTheTransactionOrThePartner(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.browse(h.hosted(`,"lang":"ru"`).at("widget_url")).wantPage(200, "Оплата картой", `<html lang="ru">`)
	h.browse(h.hosted(`,"lang":"de"`).at("widget_url")).wantPage(200, "Pay by card", `<html lang="en">`)
	h.admin().patch("/api/v1/partners/1", `{"lang":"ru"}`).want(200, "")
	h.browse(h.hosted("").at("widget_url")).wantPage(200, "Оплата картой")
	h.browse(h.hosted(`,"lang":"en"`).at("widget_url")).wantPage(200, "Pay by card")
}

func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	address, _ := h.inside(h.charge("4000002500003155").at("simple_auth_redirect_url"))
	form := h.anyone().with("content-type", "application/x-www-form-urlencoded")
	for body, status := range map[string]int{
		"otp=&x=" + strings.Repeat("x", 64<<10-7): 422, "otp=&x=" + strings.Repeat("x", 64<<10-6): 413,
		"otp=1&otp=1": 400, "otp=%zz": 400, "otp=%4": 400, "otp=%ff": 400, "%6ftp=1&otp=2": 400,
		"otp=" + strings.Repeat("&x=1", 2): 400, "a=1&": 422, "&&&": 422, "OTP=123456": 422,
	} {
		if a := form.post(address, body); a.status != status {
			t.Errorf("%.40q: %d %s", body, a.status, a.body)
		}
	}
	for contentType, status := range map[string]int{
		"application/x-www-form-urlencoded; charset=UTF-8": 422, "Application/X-WWW-Form-Urlencoded": 422,
		"application/json": 415, "multipart/form-data; boundary=x": 415, "": 415, "application/x-www-form-urlencoded; charset=koi8-r": 415,
	} {
		h.anyone().with("content-type", contentType).post(address, "otp=").want(status, "")
	}
}

// Payers are sent to https addresses, and in the sandbox to those of the developer's machine.
// This holds for links, for redirects, and for the way back from a rail.
func TestPagesLeadToHTTPSOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ env, address, leads string }{
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
			h := newFixture(t, func(cfg *api.Config) { cfg.Env = c.env })
			made := h.partner().post(transactions, `{"params":{"env":"test","type":"payment","amount":"1250","currency":"USD","hosted":true,"returnUrl":"`+c.address+`","failUrl":"`+c.address+`"}}`).want(201, "")
			action, _ := h.browse(made.at("widget_url")).form()
			page := h.send(action, card("4000000000000002")).wantPage(200, "Not paid")
			if linked := strings.Contains(page.body, `href="`+c.address); linked != (c.leads != "") {
				t.Errorf("the page links: %v\n%s", linked, page.body)
			}
			address, _ := h.inside(made.at("widget_url"))
			path, query, _ := strings.Cut(address, "?")
			back := h.visit("GET", h.base()+path+"/return?"+query, nil)
			if got := back.header.Get("location"); strings.HasPrefix(got, "/pay/") != (c.leads == "") || c.leads != "" && got != c.leads {
				t.Errorf("the way back leads to %q", got)
			}
		})
	}
}
