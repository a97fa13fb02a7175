package page

import (
	"crypto/sha256"
	"encoding/base64"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/api/checkout/texts"
	"mizan/api/web/locale"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

var (
	dollars = Sum{Amount: money.MustParse("1250"), Asset: money.Asset{Currency: "USD", Env: money.Prod}}
	byCard  = []Method{{Type: "bank_card", Total: dollars}}
)

// pagesWithText returns each page with the same text in every field.
func pagesWithText(text string) []Page {
	order := Order{Shop: Shop{Merchant: text, Brand: Brand{SupportEmail: text, TermsURL: "https://shop.example/terms"}}, Sum: dollars, Text: text, MayCancel: true}
	fields := []Field{{Name: text, Value: text}}
	methods := []Method{{Type: "bank_card", Total: dollars}, {Type: "direct_debit", Total: dollars, Fields: []string{"account_number", "sort_code"}}, {Type: "qr_code", Total: dollars}}
	typed := func() map[string][]byte {
		return map[string][]byte{"expiry": []byte(text), "cardholder": []byte(text), "account_number": []byte(text), "sort_code": []byte(text)}
	}
	wrong := WrongFields{"cardnumber": true, "cardholder": true, "expiry": true, "cvv": true, "account_number": true}
	pages := []Page{
		Checkout{Order: order, Self: "/pay/a?token=b.c-_", Methods: methods[:1], Wrong: wrong, Typed: typed(), Left: time.Minute, Price: &dollars, Fee: &dollars},
		Checkout{Order: order, Self: "/pay/a?token=b.c-_", Methods: methods[1:2], Declined: text, AttemptsLeft: 2},
		Checkout{Order: order, Self: "/pay/a?token=b.c-_", Methods: methods, Wrong: wrong, WrongMethod: true, Typed: typed(), TotalRose: true, Brands: []CardBrand{{4000, 4999, "visa"}}},
		Password{Order: order, Self: "/pay/a?token=b.c-_", Wrong: true},
		Signature{Order: order, Self: "/pay/a?token=b.c-_", Payload: text, Sequence: text, Left: time.Minute, Wrong: true},
		Scan{Order: order, Self: "/pay/a?token=b.c-_", Code: Code{Side: 29, Path: "M4 4h7v1h-7z"}, Deposit: text, Link: "https://rail.example/?a=b&c=d", Left: time.Minute,
			Simulated: &SimulatedForm{Post: "/simulator/challenge", Fields: fields}},
		Choice{Order: order, Self: "/pay/a?token=b.c-_", Banks: []Bank{{ID: text, Name: text}}, Wrong: true},
		ProviderForm{Order: order, Target: "https://acs.example/step?a=b&c=d", Fields: fields},
		ContinuePage{Order: order, Next: "/pay/a?token=b.c-_"},
		Elements{Order: order, Self: "/pay/a?token=b.c-_", Left: time.Minute, Key: text, Secret: text, Return: "https://pay.example/pay/a/return?token=b.c-_"},
		Processing{Order: order, Self: "/pay/a?token=b.c-_"},
		Receipt{Order: order, Number: text, Ended: time.Unix(1_800_000_000, 0), Result: Returned, Method: "bank_card", Card: text, Price: &dollars, Fee: &dollars, Refunded: &dollars},
		Offer{Order: order, Title: text, Description: text, Items: []Item{{Header: text, Text: text, Price: &dollars, Quantity: "3"}}, Post: "/pay/l/a", IsOpen: true, Typed: text, Problem: locale.AmountMalformed},
		Challenge{Order: order, Post: "/simulator/challenge", Fields: fields, Open: true},
		Challenge{Order: order, Back: "https://pay.example/pay/a/return?token=b.c-_"},
	}
	for result := Done; result <= Returned; result++ {
		pages = append(pages, Outcome{Order: order, Result: result, Reason: text, Back: "https://shop.example/?a=b&c=d", Receipt: "/pay/a/receipt?token=b.c-_"})
	}
	for notice := NotFound; notice <= NoMethod; notice++ {
		pages = append(pages, Stop{Shop: order.Shop, Notice: notice, Back: "https://shop.example/?a=b"})
	}
	return pages
}

var english = texts.In("en")

func render(t *testing.T, lang string, p Page) string {
	t.Helper()
	html, err := Render(lang, p)
	if err != nil {
		t.Fatalf("%T: %v", p, err)
	}
	return string(html)
}

var headingPattern = regexp.MustCompile(`(?s)<title>([^<]+)</title>.*<h1>(?:<bdi>)?([^<]+)(?:</bdi>)?</h1>`)

// A page is in the requested language, has the language's direction of writing, and its title equals its heading.
func TestEveryPageRendersInEveryLanguage(t *testing.T) {
	for _, lang := range locale.Languages() {
		direction := "ltr"
		if lang == "ar" || lang == "fa" || lang == "ur" {
			direction = "rtl"
		}
		for _, p := range pagesWithText("x") {
			wantLang, wantDirection := lang, direction
			if p.file() == "challenge" {
				wantLang, wantDirection = "en", "ltr"
			}
			html := render(t, lang, p)
			if !strings.HasPrefix(html, `<!DOCTYPE html>`+"\n"+`<html lang="`+wantLang+`" dir="`+wantDirection+`">`) {
				t.Errorf("%s %T begins %.60q", lang, p, html)
			}
			titles := headingPattern.FindStringSubmatch(html)
			if titles == nil || titles[1] != titles[2] && p.file() != "challenge" {
				t.Errorf("%s %T: titles %q", lang, p, titles)
			}
			if strings.Contains(html, "{amount}") || strings.Contains(html, "{merchant}") || strings.Contains(html, "ZgotmplZ") {
				t.Errorf("%s %T has an unfilled place: %s", lang, p, html)
			}
		}
	}
}

func TestUnknownLanguageIsEnglish(t *testing.T) {
	for tag, lang := range map[string]string{"ru-RU": "ru", "RU": "ru", "": "en", "xx": "en", "russian": "en"} {
		if html := render(t, tag, Processing{Order: Order{Sum: dollars}}); !strings.Contains(html, `<html lang="`+lang+`"`) {
			t.Errorf("%q: %.60q", tag, html)
		}
	}
}

// Every method and card scheme that the ledger knows has a name in every language.
func TestEveryMethodHasAName(t *testing.T) {
	for _, lang := range locale.Languages() {
		v := view{T: texts.In(lang)}
		for _, method := range payment.Methods() {
			if v.MethodName(method) == "" {
				t.Errorf("%s: %s has no name", lang, method)
			}
		}
	}
	for _, brand := range payment.Brands() {
		if BrandName(brand.Name) == "" {
			t.Errorf("%s has no name", brand.Name)
		}
	}
}

var hostileTexts = []string{
	`<script>alert(1)</script>`, `"><script>alert(1)</script>`, `' onmouseover='alert(1)`, `" autofocus onfocus="alert(1)`,
	`</title><script>alert(1)</script>`, `</style><script>alert(1)</script>`, `{{.T.Lang}}`, `<!--`, `<base href=//evil.example>`,
	`javascript:alert(1)`, "\x00<script>", `&lt;script&gt;`, `<img src=x onerror=alert(1)>`,
}

var tagPattern = regexp.MustCompile(`<(/?[a-zA-Z!][^\s>]*)`)

// Whatever text a page shows, the page has the same tags and attributes as with a harmless text.
func TestForeignTextNeverBecomesMarkup(t *testing.T) {
	harmless := pagesWithText("x")
	for _, text := range hostileTexts {
		for i, p := range pagesWithText(text) {
			want, got := tagPattern.FindAllString(render(t, "en", harmless[i]), -1), tagPattern.FindAllString(render(t, "en", p), -1)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%T with %q has tags %q, want %q", p, text, got, want)
			}
			html := render(t, "en", p)
			for _, attribute := range []string{" onmouseover=", " onfocus=", " onerror="} {
				if i := strings.Index(html, attribute); i >= 0 && strings.Count(html[:i], `"`)%2 == 0 && strings.LastIndexByte(html[:i], '<') > strings.LastIndexByte(html[:i], '>') {
					t.Errorf("%T with %q: %s", p, text, html[i-40:i+40])
				}
			}
		}
	}
}

func TestOrderTextIsEscaped(t *testing.T) {
	html := render(t, "en", Password{Order: Order{Shop: Shop{Merchant: `A & B <i>`}, Sum: dollars, Text: `Shoes "42"`}, Self: "/pay/a"})
	for _, want := range []string{`<bdi>A &amp; B &lt;i&gt;</bdi>`, `<bdi>Shoes &#34;42&#34;</bdi>`, `$12.50`} {
		if !strings.Contains(html, want) {
			t.Errorf("no %s in %s", want, html)
		}
	}
}

func TestTestMoneyIsMarkedOnThePage(t *testing.T) {
	testDollars := dollars
	testDollars.Asset.Env = money.Test
	for _, c := range []struct {
		sum  Sum
		want bool
	}{{dollars, false}, {testDollars, true}} {
		if got := strings.Contains(render(t, "en", Checkout{Order: Order{Sum: c.sum}, Methods: byCard}), "no money moves"); got != c.want {
			t.Errorf("%v: said %v", c.sum.Asset, got)
		}
	}
}

var inlinePattern = regexp.MustCompile(`(?s)<(style|script type="module")>(.*?)</`)

// A page has one script and one style, which its Content-Security-Policy allows by their hashes. The page loads no other file.
func TestPolicyNamesTheOnlyScriptAndStyle(t *testing.T) {
	for _, p := range pagesWithText("x") {
		html, scripts := render(t, "ar", p), 1
		if _, isElements := p.(Elements); isElements { // see TestOnlyElementsLoadsStripesScript
			html, scripts = strings.Replace(html, `<script src="https://js.stripe.com/v3/"></script>`, "", 1), 2
		}
		for _, banned := range []string{"<script>", "<script src", "<link", "<iframe", " src=", "@import", "url(", "javascript:", " onclick", " style=\""} {
			if strings.Contains(strings.ToLower(html), banned) {
				t.Errorf("%T has %q", p, banned)
			}
		}
		found := inlinePattern.FindAllStringSubmatch(html, -1)
		if len(found) != 1+scripts || strings.Count(html, "<script") != scripts {
			t.Fatalf("%T has %d inline parts", p, len(found))
		}
		for _, part := range found {
			kind, _, _ := strings.Cut(part[1], " ")
			sum := sha256.Sum256([]byte(part[2]))
			want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
			if allowed := directives(Policy(p))[kind+"-src"]; !slices.Contains(strings.Fields(allowed), want) {
				t.Errorf("%T: %s does not have %s", p, Policy(p), want)
			}
		}
	}
}

// Only the page on which the payer gives the card to Stripe may load something of another site, and only what Stripe's script needs.
func TestOnlyElementsLoadsStripesScript(t *testing.T) {
	html := render(t, "en", Elements{Order: Order{Sum: dollars}, Self: "/pay/a", Key: "pk_test_1", Secret: "pi_1_secret_2", Return: "https://pay.example/pay/a/return"})
	for _, want := range []string{
		`<script src="https://js.stripe.com/v3/"></script>`, `data-key="pk_test_1"`, `data-secret="pi_1_secret_2"`, `data-return="https://pay.example/pay/a/return"`, "<noscript><p",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("no %s in %s", want, html)
		}
	}
	for _, p := range pagesWithText("x") {
		_, isElements := p.(Elements)
		allowed := directives(Policy(p))
		if got := strings.Contains(Policy(p), "stripe.com"); got != isElements {
			t.Errorf("%T: Stripe is allowed: %v", p, got)
		}
		if _, usesTypes := allowed["require-trusted-types-for"]; usesTypes == isElements {
			t.Errorf("%T: trusted types are required: %v", p, usesTypes)
		}
		for name, value := range allowed {
			if strings.Contains(value, "unsafe") || strings.Contains(value, "*") && !isElements && name != "form-action" {
				t.Errorf("%T: %s %s", p, name, value)
			}
		}
		if allowed["default-src"] != "'none'" || allowed["base-uri"] != "'none'" {
			t.Errorf("%T: %s", p, Policy(p))
		}
	}
}

func TestPageIsSmall(t *testing.T) {
	for _, lang := range locale.Languages() {
		for _, p := range pagesWithText("x") {
			if size := len(render(t, lang, p)); size > 40<<10 {
				t.Errorf("%s %T has %d bytes", lang, p, size)
			}
		}
	}
}

// directives parses a Content-Security-Policy: it maps the name of each directive to its value.
func directives(policy string) map[string]string {
	values := map[string]string{}
	for _, directive := range strings.Split(policy, "; ") {
		name, value, _ := strings.Cut(directive, " ")
		values[name] = value
	}
	return values
}

func TestPolicyAllowsOnlyTheFormsTargets(t *testing.T) {
	for target, want := range map[string]string{
		"https://acs.example:8443/a?b=c": "'self' https://acs.example:8443",
		"http://127.0.0.1:8080":          "'self' http://127.0.0.1:8080",
		"https://a;script-src *":         "'self'",
		"https://a;b/":                   "'self'",
		"javascript:alert(1)":            "'self'",
		"":                               "'self'",
		"//a":                            "'self'",
		"https://банк.example/":          "'self'",
	} {
		got := directives(Policy(ProviderForm{Target: target}))
		if got["form-action"] != want || got["default-src"] != "'none'" || got["base-uri"] != "'none'" || got["frame-ancestors"] != "'none'" || len(got) != 7 {
			t.Errorf("%q: %q", target, got)
		}
	}
}

func TestOnlyChallengesAreFramedAndOnlyWaitingPagesAsk(t *testing.T) {
	simulated := Scan{Simulated: &SimulatedForm{}}
	for _, p := range append(pagesWithText("x"), Scan{}, simulated) {
		got := directives(Policy(p))
		_, isProtected := got["frame-ancestors"]
		if isProtected == (p.file() == "challenge") {
			t.Errorf("%T: %v", p, got)
		}
		if asks := got["connect-src"] == "'self'"; asks != (p.file() == "processing" || p.file() == "scan") {
			t.Errorf("%T: %v", p, got)
		}
		leadsAnywhere := p.file() == "challenge"
		if scan, isScan := p.(Scan); isScan && scan.Simulated != nil {
			leadsAnywhere = true
		}
		if got["form-action"] == anyAddress != leadsAnywhere {
			t.Errorf("%T: %v", p, got)
		}
	}
}

var inputPattern = regexp.MustCompile(`<input [^>]*>`)

func TestCardFormHasTheFieldsOfACard(t *testing.T) {
	html := render(t, "en", Checkout{Order: Order{Sum: dollars}, Self: "/pay/a?token=b.c-_", Step: "method-2", Methods: byCard})
	want := map[string]string{"cardnumber": "cc-number", "cardholder": "cc-name", "expiry": "cc-exp", "cvv": "cc-csc"}
	found := inputPattern.FindAllString(html, -1)
	hidden := []string{`<input type="hidden" name="method" value="bank_card">`, `<input type="hidden" name="step" value="method-2">`, `<input type="hidden" name="total" value="1250">`}
	if len(found) != len(want)+3 || found[0] != hidden[0] || !slices.Equal(found[len(found)-2:], hidden[1:]) {
		t.Fatalf("inputs %q", found)
	}
	for name, autocomplete := range want {
		if !strings.Contains(html, `name="`+name+`"`) || !strings.Contains(html, `autocomplete="`+autocomplete+`"`) || !strings.Contains(html, `<label for="`+name+`">`) {
			t.Errorf("%s is missing or has no label or no autocomplete", name)
		}
	}
	for _, input := range found[1 : len(found)-2] {
		if !strings.Contains(input, " required") || strings.Contains(input, " value=\"x") {
			t.Errorf("%s", input)
		}
	}
	if !strings.Contains(html, `<form method="post" action="/pay/a?token=b.c-_"`) || !strings.Contains(html, ">Pay $12.50</button>") {
		t.Errorf("%s", html)
	}
}

func TestPayoutFormHasTheCardNumberOnly(t *testing.T) {
	html := render(t, "en", Checkout{Order: Order{Payout: true, Sum: dollars}, Methods: byCard})
	found := inputPattern.FindAllString(html, -1)
	if len(found) != 3 || !strings.Contains(found[1], `name="cardnumber"`) || !strings.Contains(html, ">Receive $12.50</button>") {
		t.Errorf("inputs %q", found)
	}
}

// If there are several payment methods, each has a control with the method's type as its value. If the methods' totals differ,
// each method shows its total and has its own button. No field that the style may hide is required by the browser.
func TestSeveralMethodsAreAChoice(t *testing.T) {
	cheaper := dollars
	cheaper.Amount = money.MustParse("1200")
	card := Checkout{Order: Order{Sum: dollars}, Methods: []Method{
		{Type: "bank_card", Total: dollars}, {Type: "qr_code", Total: cheaper}, {Type: "direct_debit", Total: cheaper, Fields: []string{"sort_code"}},
	}}
	html := render(t, "en", card)
	for _, want := range []string{
		`<input type="radio" name="method" value="bank_card" required checked> <span>Card</span> <bdi>$12.50</bdi>`,
		`<input type="radio" name="method" value="qr_code" required> <span>QR code</span> <bdi>$12.00</bdi>`,
		`<label for="sort_code">Sort code</label>`, `name="total" value="1250"`, `name="total_qr_code" value="1200"`, `name="total_direct_debit" value="1200"`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("no %s in %s", want, html)
		}
	}
	// The Enter key presses the first button of a form.
	buttons := regexp.MustCompile(`<button type="submit"[^>]*>[^<]*`).FindAllString(html, -1)
	if want := []string{
		`<button type="submit" class="enter">Continue`, `<button type="submit" name="pay" value="bank_card">Pay $12.50`,
		`<button type="submit" name="pay" value="qr_code">Pay $12.00`, `<button type="submit" name="pay" value="direct_debit">Pay $12.00`,
	}; !slices.Equal(buttons, want) {
		t.Errorf("buttons %q", buttons)
	}
	for _, input := range inputPattern.FindAllString(html, -1) {
		if strings.Contains(input, " required") != strings.Contains(input, `type="radio"`) {
			t.Errorf("%s", input)
		}
	}
}

func TestRefusedFieldsAreMarkedAndKeepWhatMayBeKept(t *testing.T) {
	for name, text := range map[string]string{
		"cardnumber": english.Checkout.WrongNumber, "cardholder": english.Checkout.WrongHolder, "expiry": english.Checkout.WrongExpiry, "cvv": english.Checkout.WrongCVV,
	} {
		card := Checkout{Order: Order{Sum: dollars}, Methods: byCard, Wrong: WrongFields{name: true}, Typed: map[string][]byte{"expiry": []byte("13/30"), "cardholder": []byte("ANNA")}}
		html := render(t, "en", card)
		body := html[strings.Index(html, "<main>"):strings.Index(html, "<script")]
		if strings.Count(body, "aria-invalid") != 1 || !strings.Contains(body, `<p class="wrong" id="`+name+`-wrong">`+text) || !strings.Contains(body, english.Checkout.WrongForm) {
			t.Errorf("%s: %s", name, body)
		}
		if !strings.Contains(body, `value="13/30"`) || !strings.Contains(body, `value="ANNA"`) {
			t.Errorf("%s: what was typed is lost: %s", name, body)
		}
	}
	html := render(t, "en", Checkout{Order: Order{Sum: dollars}, Methods: byCard})
	if strings.Contains(html, english.Checkout.WrongForm) || strings.Contains(html, `role="alert"`) {
		t.Errorf("nothing is wrong: %s", html)
	}
}

func TestDeclinedAttemptSaysWhyAndHowOftenMore(t *testing.T) {
	card := Checkout{Order: Order{Sum: dollars}, Methods: byCard, Declined: "insufficient_funds", AttemptsLeft: 1}
	html := render(t, "en", card)
	for _, want := range []string{"The payment did not go through", "There is not enough money on the card.", "Nothing has been charged.", "You can try 1 more time."} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q in %s", want, html)
		}
	}
}

func TestCancelButtonIsShownWhereThePayerMayCancel(t *testing.T) {
	for want, mayCancel := range []bool{false, true} {
		order := Order{Sum: dollars, MayCancel: mayCancel}
		for _, p := range []Page{
			Checkout{Order: order, Methods: byCard}, Password{Order: order}, Signature{Order: order}, Scan{Order: order}, Choice{Order: order},
			ProviderForm{Order: order, Target: "https://acs.example/"}, Processing{Order: order},
		} {
			if got := strings.Count(render(t, "en", p), `type="submit" name="cancel" value="1" formnovalidate>Cancel</button>`); got != want {
				t.Errorf("%T: %d", p, got)
			}
		}
	}
}

func TestOutcomeNamesItsResult(t *testing.T) {
	for _, c := range []struct {
		outcome            Outcome
		title, class, text string
	}{
		{Outcome{Result: Done}, "Paid", "good", "You can close this page."},
		{Outcome{Result: Done, Order: Order{Payout: true}}, "The money is on its way to you", "good", "You can close this page."},
		{Outcome{Result: Approved}, "Approved", "good", "The amount is reserved on your account."},
		{Outcome{Result: Returned}, "Returned", "back", "The money is on its way back to you"},
		{Outcome{Result: NotDone, Reason: "card_declined", Back: "https://shop.example/no?a=b&c=d"}, "Not paid", "bad", `<a class="button" data-go="5" href="https://shop.example/no?a=b&amp;c=d">Back to the merchant</a>`},
		{Outcome{Result: NotDone, Reason: "card_declined"}, "Not paid", "bad", "The card was declined."},
		{Outcome{Result: NotDone, Order: Order{Payout: true}}, "Not paid out", "bad", "You can close this page."},
		{Outcome{Result: Done, Receipt: "/pay/a/receipt?token=b"}, "Paid", "good", `<a class="receipt" href="/pay/a/receipt?token=b">Receipt</a>`},
	} {
		c.outcome.Sum = dollars
		html := render(t, "en", c.outcome)
		if !strings.Contains(html, "<h1>"+c.title+"</h1>") || !strings.Contains(html, `<div class="state `+c.class+`">`) || !strings.Contains(html, c.text) {
			t.Errorf("%+v: %s", c.outcome, html)
		}
		refresh := `<noscript><meta http-equiv="refresh" content="5; url=https://shop.example/no?a=b&amp;c=d"></noscript>`
		if leaves := strings.Contains(html, `http-equiv="refresh"`); leaves != (c.outcome.Back != "") || leaves && !strings.Contains(html, refresh) {
			t.Errorf("%+v: %s", c.outcome, html)
		}
	}
}

func TestReasonsOfLimitsAndAntiFraudAreNotShown(t *testing.T) {
	for _, reason := range []string{"anti_fraud", "limit_exceeded", "no_terminal", "fee_exceeds_amount", "something of the rail's"} {
		html := render(t, "en", Outcome{Order: Order{Sum: dollars}, Result: NotDone, Reason: reason})
		silent := render(t, "en", Outcome{Order: Order{Sum: dollars}, Result: NotDone})
		if html != silent {
			t.Errorf("%s is shown: %s", reason, html)
		}
		if !strings.Contains(html, "<p>Nothing has been charged.</p>\n<p>Choose another way to pay, or ask the merchant.</p>") {
			t.Errorf("%s: the payer is not told what to do: %s", reason, html)
		}
	}
	if html := render(t, "en", Outcome{Order: Order{Sum: dollars}, Result: NotDone, Reason: "expired_card"}); strings.Contains(html, "Choose another way") {
		t.Errorf("a payer who knows the reason: %s", html)
	}
}

func TestInvalidAddressIsNotLinked(t *testing.T) {
	html := render(t, "en", Outcome{Order: Order{Sum: dollars}, Result: Done, Back: "javascript:alert(1)"})
	if strings.Contains(html, "javascript:") {
		t.Errorf("%s", html)
	}
}

func TestReceiptHasWhatAnAccountantNeeds(t *testing.T) {
	fee, refunded := dollars, dollars
	fee.Amount, refunded.Amount = money.MustParse("50"), money.MustParse("100")
	html := render(t, "en", Receipt{
		Order: Order{Shop: Shop{Merchant: "Shop"}, Sum: dollars, Text: "Beans"}, Number: "0191d2c4", Ended: time.Date(2026, 8, 5, 14, 7, 0, 0, time.UTC), Result: Done,
		Method: "bank_card", Card: "Visa •••• 4242", Price: &dollars, Fee: &fee, Refunded: &refunded,
	})
	for name, value := range map[string]string{
		"Merchant": "Shop", "Status": "Paid", "Paid with": "Card Visa •••• 4242", "Price": "$12.50", "Fee": "$0.50", "Refunded": "$1.00", "Reference": "0191d2c4",
		"Date": texts.In("en").Date(time.Date(2026, 8, 5, 14, 7, 0, 0, time.UTC)),
	} {
		if want := "<div><dt>" + name + "</dt><dd><bdi>" + value + "</bdi></dd></div>"; !strings.Contains(html, want) {
			t.Errorf("no %s in %s", want, html)
		}
	}
	if !strings.Contains(html, "data-print>Print</button>") {
		t.Errorf("%s", html)
	}
}

func TestStopShowsTheMerchant(t *testing.T) {
	html := render(t, "en", Stop{Shop: Shop{Merchant: "Shop"}, Notice: TooLate, Back: "https://shop.example/no"})
	if !strings.Contains(html, "<bdi>Shop</bdi>") || !strings.Contains(html, `href="https://shop.example/no"`) || !strings.Contains(html, "Time has run out") {
		t.Errorf("%s", html)
	}
}

func TestChallengeHasTwoButtons(t *testing.T) {
	html := render(t, "ru", Challenge{Order: Order{Sum: dollars}, Post: "/simulator/challenge", Fields: []Field{{"token", `a"b`}}, Open: true})
	for _, want := range []string{
		`<html lang="en" dir="ltr">`, `This is not a bank.`,
		`<form method="post" action="/simulator/challenge">`, `<input type="hidden" name="token" value="a&#34;b">`,
		`<button type="submit" name="decision" value="approve">`, `name="decision" value="refuse">`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("no %s in %s", want, html)
		}
	}
	html = render(t, "en", Challenge{Order: Order{Sum: dollars}, Back: "https://pay.example/r"})
	if strings.Contains(html, "<form") || strings.Contains(html, "<button") || !strings.Contains(html, `href="https://pay.example/r">`) {
		t.Errorf("answered: %s", html)
	}
}

// Without scripts a waiting page reloads itself; with scripts it requests the page and shows the new one.
func TestWaitingPagesReloadThemselves(t *testing.T) {
	for _, c := range []struct {
		page Page
		want []string
	}{
		{Processing{Order: Order{Sum: dollars}, Self: "/pay/a?token=b"}, []string{`<noscript><meta http-equiv="refresh" content="3; url=/pay/a?token=b"></noscript>`, `<a href="/pay/a?token=b">`, ` data-poll="processing"`}},
		{Scan{Order: Order{Sum: dollars}, Self: "/pay/a?token=b"}, []string{`<noscript><meta http-equiv="refresh" content="5; url=/pay/a?token=b"></noscript>`, ` data-poll="scan"`}},
		{ContinuePage{Order: Order{Sum: dollars}, Next: "/pay/a?token=b"}, []string{`<noscript><meta http-equiv="refresh" content="0; url=/pay/a?token=b"></noscript>`, `<a class="button" data-go="0" href="/pay/a?token=b">`}},
		{Checkout{Order: Order{Sum: dollars}, Self: "/pay/a?token=b", Methods: byCard, Left: 90 * time.Second}, []string{`<noscript><meta http-equiv="refresh" content="91; url=/pay/a?token=b"></noscript>`, `data-left="90">1 minute left<`}},
	} {
		html := render(t, "en", c.page)
		for _, want := range c.want {
			if !strings.Contains(html, want) {
				t.Errorf("%T: no %s in %s", c.page, want, html)
			}
		}
	}
}

func TestInitialIsAVisibleLetter(t *testing.T) {
	for merchant, want := range map[string]string{
		"tea shop": "T", "7 seas": "7", "\u200f\u200dтея": "Т", "🍵 tea": "T", "  \u2060 é": "É", "\u115ftea": "T", "متجر": "م", "\u200d★ ☆": "★", "": "",
	} {
		if got := (view{Shop: Shop{Merchant: merchant}}).Initial(); got != want {
			t.Errorf("%+q: %q, want %q", merchant, got, want)
		}
	}
}
