package page

import (
	"crypto/sha256"
	"encoding/base64"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/payment/admission"
)

// cards is the offer of cards alone.
var cards = []Method{{Type: "bank_card", Total: dollars, IsChosen: true}}

var dollars = Sum{Amount: money.MustParse("1250"), Asset: money.Asset{Currency: "USD", Env: money.Prod}}

// pagesWithText returns each page with the same text in every field.
func pagesWithText(text string) []Page {
	order := Order{Sum: dollars, Merchant: text, Text: text}
	methods := []Method{cards[0], {Type: "crypto", Total: dollars}, {Type: "direct_debit", Total: dollars, Fee: &dollars, Fields: []string{"routing_number", "account_number"}}}
	fields := []Field{{Name: text, Value: text}}
	pages := []Page{
		Card{Order: order, Post: "/pay/a?token=b.c-_", Methods: cards, Wrong: WrongFields{"cardnumber": true, "cardholder": true, "exp_month": true, "exp_year": true, "cvv": true}},
		Card{Order: order, Post: "/pay/a?token=b.c-_", Methods: methods, WrongMethod: true, TotalRose: true,
			Wrong: WrongFields{"routing_number": true, "account_number": true}, Typed: map[string]string{"routing_number": text, "exp_month": text, "exp_year": text}},
		Password{Order: order, Post: "/pay/a?token=b.c-_", Wrong: true},
		Signature{Order: order, Post: "/pay/a?token=b.c-_", Payload: text, Sequence: text, Left: time.Minute, Wrong: true},
		Scan{Order: order, Self: "/pay/a?token=b.c-_", Code: Code{Side: 29, Path: "M4 4h7v1h-7z"}, Deposit: text, Link: "https://rail.example/?a=b&c=d", Left: time.Minute,
			Simulated: &SimulatedForm{Post: "/simulator/challenge", Fields: fields}},
		Choice{Order: order, Post: "/pay/a?token=b.c-_", Banks: []Bank{{ID: text, Name: text}}, Wrong: true},
		Forward{Order: order, Target: "https://acs.example/step?a=b&c=d", Fields: fields},
		Leaving{Order: order, Next: "/pay/a?token=b.c-_"},
		Processing{Order: order, Self: "/pay/a?token=b.c-_"},
		Challenge{Order: order, Post: "/simulator/challenge", Fields: fields, Open: true},
		Challenge{Order: order, Back: "https://pay.example/pay/a/return?token=b.c-_"},
	}
	for result := Done; result <= Returned; result++ {
		pages = append(pages, Outcome{Order: order, Result: result, Reason: text, Back: "https://shop.example/?a=b&c=" + "d"})
	}
	for notice := NotFound; notice <= NoMethod; notice++ {
		pages = append(pages, notice)
	}
	return pages
}

func render(t *testing.T, lang string, p Page) string {
	t.Helper()
	html, err := Render(lang, p)
	if err != nil {
		t.Fatalf("%T: %v", p, err)
	}
	return string(html)
}

var headingPattern = regexp.MustCompile(`(?s)<title>([^<]+)</title>.*<h1>([^<]+)</h1>`)

func TestEveryPageRendersInEveryLanguage(t *testing.T) {
	for tag, lang := range map[string]string{"en": "en", "ru": "ru", "ru-RU": "ru", "RU": "ru", "": "en", "fr": "en", "russian": "en"} {
		for _, p := range pagesWithText("x") {
			html := render(t, tag, p)
			if !strings.HasPrefix(html, "<!DOCTYPE html>\n<html lang=\""+lang+"\">") {
				t.Errorf("%s %T begins %.60q", tag, p, html)
			}
			titles := headingPattern.FindStringSubmatch(html)
			if titles == nil || titles[1] != titles[2] {
				t.Errorf("%s %T: titles %q", tag, p, titles)
			}
			if cyrillic := strings.ContainsAny(html, "абвгдежзиклмнопрстуфхцчшыэюя"); cyrillic != (lang == "ru") && p.file() != "challenge" {
				t.Errorf("%s %T: cyrillic %v", tag, p, cyrillic)
			}
		}
	}
}

func TestEveryTextExistsInEveryLanguage(t *testing.T) {
	englishTexts := reflect.ValueOf(english)
	for lang, texts := range catalogue {
		value := reflect.ValueOf(*texts)
		for i := range value.NumField() {
			name, field := value.Type().Field(i).Name, value.Field(i)
			if field.Kind() == reflect.String {
				if field.String() == "" {
					t.Errorf("%s: no %s", lang, name)
				}
				continue
			}
			if field.Len() != englishTexts.Field(i).Len() {
				t.Errorf("%s: %s has %d texts, english %d", lang, name, field.Len(), englishTexts.Field(i).Len())
			}
			for _, key := range field.MapKeys() {
				if field.MapIndex(key).IsZero() || !englishTexts.Field(i).MapIndex(key).IsValid() {
					t.Errorf("%s: %s of %v", lang, name, key)
				}
			}
		}
		for n := NotFound; n <= NoMethod; n++ {
			if m := texts.Notices[n]; m.Title == "" || m.Body == "" {
				t.Errorf("%s: notice %d is %q", lang, n, m)
			}
		}
	}
}

var hostileTexts = []string{
	`<script>alert(1)</script>`, `"><script>alert(1)</script>`, `' onmouseover='alert(1)`, `" autofocus onfocus="alert(1)`,
	`</title><script>alert(1)</script>`, `</style><script>alert(1)</script>`, `{{.T.Lang}}`, `<!--`, `<base href=//evil.example>`,
	`javascript:alert(1)`, "\x00<script>", `&lt;script&gt;`, `<img src=x onerror=alert(1)>`,
}

var tagPattern = regexp.MustCompile(`<(/?[a-zA-Z!][^\s>]*)`)

// Whatever text a page shows, it has the same tags and attributes as with a harmless text.
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
	html := render(t, "en", Processing{Order: Order{Sum: dollars, Merchant: `A & B <i>`, Text: `Shoes "42"`}, Self: "/pay/a"})
	for _, want := range []string{`<bdi>A &amp; B &lt;i&gt;</bdi>`, `<bdi>Shoes &#34;42&#34;</bdi>`, `12.50 USD`} {
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
		if got := strings.Contains(render(t, "en", Card{Order: Order{Sum: c.sum}}), "no money moves"); got != c.want {
			t.Errorf("%v: said %v", c.sum.Asset, got)
		}
	}
}

func TestPagesHaveNoScriptsAndLoadNoResources(t *testing.T) {
	for _, p := range pagesWithText("x") {
		html := strings.ToLower(render(t, "en", p))
		for _, banned := range []string{"<script", "<link", "<img", "<iframe", " src=", "@import", "url(", "javascript:", "zgotmplz"} {
			if strings.Contains(html, banned) {
				t.Errorf("%T has %q", p, banned)
			}
		}
	}
}

var stylePattern = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

func TestContentPolicyHasTheHashOfTheStyle(t *testing.T) {
	for _, p := range pagesWithText("x") {
		found := stylePattern.FindAllStringSubmatch(render(t, "ru", p), -1)
		if len(found) != 1 {
			t.Fatalf("%T has %d styles", p, len(found))
		}
		sum := sha256.Sum256([]byte(found[0][1]))
		want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		for _, policy := range []string{Policy(), ChallengePolicy()} {
			if !strings.Contains(policy, want) {
				t.Errorf("%T: %s does not have %s", p, policy, want)
			}
		}
	}
}

func TestContentPolicyAllowsOnlyTheFormsTargets(t *testing.T) {
	directives := func(policy string) map[string]string {
		texts := map[string]string{}
		for _, directive := range strings.Split(policy, "; ") {
			name, value, _ := strings.Cut(directive, " ")
			texts[name] = value
		}
		return texts
	}
	for _, c := range []struct {
		targets []string
		want    string
	}{
		{nil, "'self'"},
		{[]string{"https://acs.example:8443/a?b=c"}, "'self' https://acs.example:8443"},
		{[]string{"https://acs.example/", "http://127.0.0.1:8080"}, "'self' https://acs.example http://127.0.0.1:8080"},
		{[]string{"https://a;script-src *"}, "'self'"},
		{[]string{"https://a;b/", "javascript:alert(1)", "", "//a", "https://банк.example/"}, "'self'"},
	} {
		got := directives(Policy(c.targets...))
		if got["form-action"] != c.want || got["default-src"] != "'none'" || got["base-uri"] != "'none'" || got["frame-ancestors"] != "'none'" || len(got) != 5 {
			t.Errorf("%q: %q", c.targets, got)
		}
	}
	challengePolicy := directives(ChallengePolicy())
	if _, framed := challengePolicy["frame-ancestors"]; framed || challengePolicy["form-action"] != "'self' https: http:" || challengePolicy["default-src"] != "'none'" {
		t.Errorf("challenge: %q", challengePolicy)
	}
}

var inputPattern = regexp.MustCompile(`<input [^>]*>`)

func TestCardFormHasTheFieldsOfACard(t *testing.T) {
	html := render(t, "en", Card{Order: Order{Sum: dollars}, Methods: cards, Post: "/pay/a?token=b.c-_"})
	want := map[string]string{
		"cardnumber": "cc-number", "cardholder": "cc-name", "exp_month": "cc-exp-month", "exp_year": "cc-exp-year", "cvv": "cc-csc",
	}
	found := inputPattern.FindAllString(html, -1)
	if len(found) != len(want)+2 || found[0] != `<input type="hidden" name="method" value="bank_card">` || found[1] != `<input type="hidden" name="total" value="1250">` {
		t.Fatalf("inputs %q", found)
	}
	found = found[2:]
	for name, autocomplete := range want {
		if !strings.Contains(html, `name="`+name+`"`) || !strings.Contains(html, `autocomplete="`+autocomplete+`"`) || !strings.Contains(html, `<label for="`+name+`">`) {
			t.Errorf("%s is missing or has no label or no autocomplete", name)
		}
	}
	for _, input := range found {
		if strings.Contains(input, "value=") || !strings.Contains(input, " required") {
			t.Errorf("%s", input)
		}
	}
	if !strings.Contains(html, `<form method="post" action="/pay/a?token=b.c-_">`) || !strings.Contains(html, "Pay 12.50 USD</button>") {
		t.Errorf("%s", html)
	}
}

func TestPayoutFormHasTheCardNumberOnly(t *testing.T) {
	html := render(t, "en", Card{Order: Order{Payout: true, Sum: dollars}, Methods: cards})
	if found := inputPattern.FindAllString(html, -1); len(found) != 2 || found[0] != `<input type="hidden" name="method" value="bank_card">` || !strings.Contains(found[1], `name="cardnumber"`) {
		t.Errorf("inputs %q", found)
	}
}

func TestRefusedFieldsAreMarked(t *testing.T) {
	for name, text := range map[string]string{
		"cardnumber": english.WrongNumber, "cardholder": english.WrongHolder, "exp_month": english.WrongMonth,
		"exp_year": english.WrongYear, "cvv": english.WrongCVV,
	} {
		html := render(t, "en", Card{Order: Order{Sum: dollars}, Methods: cards, Wrong: WrongFields{name: true}})
		if strings.Count(html, "aria-invalid") != 1+strings.Count(style, "aria-invalid") || !strings.Contains(html, text) || !strings.Contains(html, `aria-describedby="`+name+`-wrong"`) ||
			!strings.Contains(html, english.WrongForm) {
			t.Errorf("%s: %s", name, html)
		}
	}
	if html := render(t, "en", Card{Order: Order{Sum: dollars}, Methods: cards}); strings.Contains(html, english.WrongForm) || strings.Contains(html, `role="alert"`) {
		t.Errorf("nothing is wrong: %s", html)
	}
}

func TestOutcomeNamesItsResult(t *testing.T) {
	for _, c := range []struct {
		outcome     Outcome
		title, text string
	}{
		{Outcome{Result: Done}, "Paid", english.CloseThis},
		{Outcome{Result: Done, Order: Order{Payout: true}}, "The money is on its way to you", english.CloseThis},
		{Outcome{Result: Approved}, "Approved", english.CloseThis},
		{Outcome{Result: Returned}, "Returned", english.CloseThis},
		{Outcome{Result: NotDone, Reason: "card_declined", Back: "https://shop.example/no?a=b&c=d"}, "Not paid", `<a class="button" href="https://shop.example/no?a=b&amp;c=d">` + english.Back + `</a>`},
		{Outcome{Result: NotDone, Reason: "card_declined"}, "Not paid", "The card was declined."},
		{Outcome{Result: NotDone, Order: Order{Payout: true}}, "Not paid out", english.CloseThis},
	} {
		c.outcome.Sum = dollars
		html := render(t, "en", c.outcome)
		if !strings.Contains(html, "<h1>"+c.title+"</h1>") || !strings.Contains(html, c.text) {
			t.Errorf("%+v: %s", c.outcome, html)
		}
		refresh := `<meta http-equiv="refresh" content="5; url=https://shop.example/no?a=b&amp;c=d">`
		if leaves := strings.Contains(html, `http-equiv="refresh"`); leaves != (c.outcome.Back != "") || leaves && !strings.Contains(html, refresh) {
			t.Errorf("%+v: %s", c.outcome, html)
		}
	}
}

func TestReasonsOfLimitsAndAntiFraudAreNotShown(t *testing.T) {
	for _, reason := range []string{"anti-fraud: bin", "limit exceeded: velocity", "no terminal available", "fee exceeds amount", "something of the rail's"} {
		html := render(t, "en", Outcome{Order: Order{Sum: dollars}, Result: NotDone, Reason: reason})
		if strings.Contains(html, reason) || strings.Contains(html, `role="status"`) {
			t.Errorf("%s is shown: %s", reason, html)
		}
	}
}

func TestInvalidAddressIsNotLinked(t *testing.T) {
	html := render(t, "en", Outcome{Order: Order{Sum: dollars}, Result: Done, Back: "javascript:alert(1)"})
	if strings.Contains(html, "javascript") {
		t.Errorf("%s", html)
	}
}

func TestChallengeHasTwoButtons(t *testing.T) {
	html := render(t, "en", Challenge{Order: Order{Sum: dollars}, Post: "/simulator/challenge", Fields: []Field{{"token", `a"b`}}, Open: true})
	for _, want := range []string{
		`<form method="post" action="/simulator/challenge">`, `<input type="hidden" name="token" value="a&#34;b">`,
		`<button type="submit" name="decision" value="approve">approve</button>`, `<button type="submit" name="decision" value="refuse">refuse</button>`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("no %s in %s", want, html)
		}
	}
	html = render(t, "en", Challenge{Order: Order{Sum: dollars}, Back: "https://pay.example/r"})
	if strings.Contains(html, "<form") || strings.Contains(html, "<button") || !strings.Contains(html, `<a href="https://pay.example/r">`) {
		t.Errorf("answered: %s", html)
	}
}

func TestWaitingPagesReloadThemselves(t *testing.T) {
	html := render(t, "en", Processing{Order: Order{Sum: dollars}, Self: "/pay/a?token=b"})
	if !strings.Contains(html, `<meta http-equiv="refresh" content="3">`) || !strings.Contains(html, `<a href="/pay/a?token=b">`) {
		t.Errorf("%s", html)
	}
	html = render(t, "en", Leaving{Order: Order{Sum: dollars}, Next: "/pay/a?token=b"})
	if !strings.Contains(html, `<meta http-equiv="refresh" content="0; url=/pay/a?token=b">`) || !strings.Contains(html, `<a href="/pay/a?token=b">`) {
		t.Errorf("%s", html)
	}
}

// Every method that a page may offer has a name, which is no technical one, in every language; and so has every field.
func TestEveryMethodHasAName(t *testing.T) {
	for lang, texts := range catalogue {
		for _, method := range admission.PageMethods() {
			if name := texts.MethodName(method); name == method || name == "" {
				t.Errorf("%s: %s has no name", lang, method)
			}
		}
		for _, currency := range []money.Currency{"USD", "GBP", "CAD"} {
			fields, _, _ := payment.RequiredKeys(payment.DirectDebit, payment.Payment, currency)
			for _, name := range fields {
				if texts.Fields[name] == "" {
					t.Errorf("%s: %s has no label", lang, name)
				}
			}
		}
	}
}

func TestPayerChoosesByARadioButton(t *testing.T) {
	fee := Sum{Amount: money.MustParse("50"), Asset: dollars.Asset}
	dearer := Sum{Amount: money.MustParse("1300"), Asset: dollars.Asset}
	page := Card{Order: Order{Sum: dollars}, Methods: []Method{
		{Type: "qr_code", Total: dollars}, {Type: "bank_card", Total: dearer, Fee: &fee, IsChosen: true}, {Type: "direct_debit", Total: dollars, Fields: []string{"sort_code"}},
	}}
	html := render(t, "en", page)
	for _, want := range []string{
		`<legend>Method</legend>`,
		`<input type="radio" name="method" value="qr_code" required> QR code: 12.50 USD</label>`, `<input type="hidden" name="total_qr_code" value="1250">`,
		`<input type="radio" name="method" value="bank_card" required checked> Card: 13.00 USD (Fee 0.50 USD)</label>`, `<input type="hidden" name="total" value="1300">`,
		`<label for="sort_code">Sort code</label>`, `>Pay</button>`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("no %s in %s", want, html)
		}
	}
	// The browser must not require a field that the style hides.
	for _, input := range inputPattern.FindAllString(html, -1) {
		if strings.Contains(input, " required") != strings.Contains(input, `type="radio"`) {
			t.Errorf("%s", input)
		}
	}
	page.Payout = true
	if html := render(t, "en", page); strings.Contains(html, `name="total`) || !strings.Contains(html, "<h1>Choose how to receive the money</h1>") {
		t.Errorf("%s", html)
	}
	page.WrongMethod = true
	if html := render(t, "en", page); !strings.Contains(html, `role="alert">Choose one of the methods.`) {
		t.Errorf("%s", html)
	}
}
