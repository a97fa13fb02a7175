package checkout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"mizan/api/web/locale"
	"mizan/ledger/payment"
)

var urlencoded = []byte("application/x-www-form-urlencoded")

func TestFormFieldsAreParsed(t *testing.T) {
	for body, want := range map[string]string{
		"":                            "[]",
		"a=b":                         "[a=b]",
		"a=b&c=d":                     "[a=b c=d]",
		"a=b+c%20d%2Be":               "[a=b c d+e]",
		"a=%D1%8F":                    "[a=я]",
		"a":                           "[a=]",
		"=a":                          "[=a]",
		"a=b=c":                       "[a=b=c]",
		"&&a=b&":                      "[a=b]",
		"a%3Db=c%26d":                 "[a=b=c&d]",
		strings.Repeat("x=", 1):       "[x=]",
		"a=%2B%2b":                    "[a=++]",
		"a=b;c=d":                     "[a=b;c=d]",
		"%61=1":                       "[a=1]",
		"a=%00":                       "[a=\x00]",
		"<script>=\"":                 "[<script>=\"]",
		"a=4242%204242+4242-4242&b=1": "[a=4242 4242 4242-4242 b=1]",
	} {
		f, status := readForm(urlencoded, []byte(body))
		if status != 200 {
			t.Errorf("%q: %d", body, status)
			continue
		}
		text := []string{}
		for _, field := range f.fields {
			text = append(text, string(field.name)+"="+string(field.value))
		}
		if got := fmt.Sprint(text); got != want {
			t.Errorf("%q: %s, want %s", body, got, want)
		}
	}
}

func TestMalformedFormIsRefused(t *testing.T) {
	fields := make([]string, 0, 65)
	for i := range 65 {
		fields = append(fields, fmt.Sprintf("f%d=", i))
	}
	for body, want := range map[string]int{
		"a=%": 400, "a=%4": 400, "a=%g0": 400, "a=%0g": 400, "%=a": 400, "a=%ff": 400, "%c3=a": 400, "a=\xff": 400,
		"a=1&a=2": 400, "a=1&%61=2": 400, "a=&a=": 400, "a&a": 400,
		strings.Join(fields, "&"): 400, strings.Join(fields[:64], "&"): 200,
	} {
		if _, status := readForm(urlencoded, []byte(body)); status != want {
			t.Errorf("%.30q: %d, want %d", body, status, want)
		}
	}
	if _, status := readForm([]byte("text/plain"), []byte("a=b")); status != 415 {
		t.Errorf("text/plain: %d", status)
	}
}

// The test compares readForm with url.ParseQuery, which must accept every form that readForm accepts, and find the same values in
// it.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{"", "a=b&c=d+e", "a=%D1%8F&b", "a=%", "a=1&a=2", "&=&", "a=b;c"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		sent := bytes.Clone(body)
		form, status := readForm(urlencoded, body)
		if !bytes.Equal(sent, body) {
			t.Fatal("the body was changed")
		}
		if status != 200 {
			return
		}
		want, err := url.ParseQuery(strings.ReplaceAll(string(body), ";", "%3B"))
		if err != nil || len(want) != len(form.fields) {
			t.Fatalf("%q has %d fields, the oracle %v %v", body, len(form.fields), want, err)
		}
		for name, values := range want {
			if got := form.value(name); got == nil || len(values) != 1 || string(got) != values[0] || !utf8.ValidString(name) {
				t.Fatalf("%q: %q is %q, want %q", body, name, got, values)
			}
		}
	})
}

func TestCopiedCardSurvivesTheWipeOfItsForm(t *testing.T) {
	f, _ := readForm(urlencoded, []byte("cardnumber=4242+4242-4242%204242&cardholder=+JOHN+DOE+&exp_month=1&exp_year=30&cvv=987"))
	command, wrong := credentialsOf(f, &record{Request: payment.Request{Type: payment.Payment}}, payment.BankCard, func(number []byte) string { return "print of " + string(number) })
	if len(wrong) != 0 {
		t.Fatal(wrong)
	}
	f.wipe()
	if !bytes.Equal(f.buf, make([]byte, len(f.buf))) {
		t.Errorf("the form holds %q", f.buf)
	}
	card := command.Card
	if got := fmt.Sprintf("%s %s %s %s %s", card.Number, card.Holder, card.ExpMonth, card.ExpYear, card.CVV); got != "4242424242424242 JOHN DOE 1 30 987" {
		t.Errorf("the card is %s", got)
	}
	want := payment.Credentials{Method: "bank_card", CardBIN: "424242", CardLast4: "4242", CardFingerprint: "print of 4242424242424242"}
	if command.Credentials != want {
		t.Errorf("credentials %+v", command.Credentials)
	}
}

// People type a number with the groups that their card or bank shows, and with the digits of their keyboard. A copied number may
// contain invisible marks of the text's direction.
func TestNumbersAreReadAsPeopleWriteThem(t *testing.T) {
	for typed, want := range map[string]string{
		"20-00-00": "200000", " 20 00 00 ": "200000", "٢٠-٠٠-٠٠": "200000", "۲۰۰۰۰۰": "200000", "২০ ০০ ০০": "200000", "\u200f20\u201300\u201300\u200e": "200000", "20\u00a000\u202f00": "200000",
		"AB 12": "AB12", "-": "", "20.00.00": "20.00.00",
	} {
		for _, key := range []string{"cardnumber", "account_number", "routing_number", "sort_code", "institution_number", "transit_number"} {
			f, _ := readForm(urlencoded, []byte(key+"="+url.QueryEscape(typed)))
			if got := string(typedKey(f, key)); got != want {
				t.Errorf("%s %q: %q, want %q", key, typed, got, want)
			}
		}
	}
}

func TestNameOnTheCardKeepsItsCharacters(t *testing.T) {
	f, _ := readForm(urlencoded, []byte("cardholder="+url.QueryEscape(" ANNA-MARIA ۲ ")))
	if got := string(typedKey(f, "cardholder")); got != "ANNA-MARIA ۲" {
		t.Errorf("%q", got)
	}
}

func TestPayoutFormReadsTheCardNumberOnly(t *testing.T) {
	f, _ := readForm(urlencoded, []byte("cardnumber=4242424242424242&cvv=1&exp_month=99"))
	command, wrong := credentialsOf(f, &record{Request: payment.Request{Type: payment.Payout}}, payment.BankCard, func([]byte) string { return "" })
	if len(wrong) != 0 || string(command.Card.Number) != "4242424242424242" || len(command.Card.CVV) != 0 {
		t.Errorf("%v", wrong)
	}
}

func TestBrowserDataIsFilledFromHeaders(t *testing.T) {
	for _, c := range []struct{ language, userAgent, wantLanguage, wantAgent string }{
		{"ru-RU,ru;q=0.9,en;q=0.8", "Mozilla/5.0 (X11)", "ru-RU", "Mozilla/5.0 (X11)"},
		{"", "", "", ""},
		{" en ;q=1", `a"b\c`, "en", `a"b\c`},
		{"\xff", "a\xffb", "", "ab"},
		{strings.Repeat("x", 600), strings.Repeat("я", 400), strings.Repeat("x", 512), strings.Repeat("я", 256)},
	} {
		var h fasthttp.RequestHeader
		h.Set("Accept-Language", c.language)
		h.Set("User-Agent", c.userAgent)
		var text map[string]string
		if err := json.Unmarshal(browserDataOf(&h), &text); err != nil || len(text) != 2 || text["language"] != c.wantLanguage || text["user_agent"] != c.wantAgent {
			t.Errorf("%q %q: %q %v", c.language, c.userAgent, text, err)
		}
	}
}

func TestSeveralAcceptLanguageHeadersAreOneList(t *testing.T) {
	var h fasthttp.RequestHeader
	for _, value := range []string{"xx", "de;q=0.5", "fr;q=0.7, ru;q=0.1"} {
		h.Add("Accept-Language", value)
	}
	if got := locale.Preferred(acceptedLanguages(&h), locale.Languages()...); got != "fr" {
		t.Errorf("%q", got)
	}
	if got := acceptedLanguages(new(fasthttp.RequestHeader)); got != "" {
		t.Errorf("without a header: %q", got)
	}
}

func TestExpiryIsReadAsPeopleWriteIt(t *testing.T) {
	for typed, want := range map[string]string{
		"08/29": "08 29", "8/29": "8 29", "0829": "08 29", "08/2029": "08 2029", "082029": "08 2029", "08 - 29": "08 29", " 08/29 ": "08 29", "08.29": "08 29", "08 29": "08 29",
		"٠٨/٢٩": "08 29", "۰۸۲۹": "08 29", "০৮/২৯": "08 29",
	} {
		f, _ := readForm(urlencoded, []byte("cardnumber=4242424242424242&cardholder=A&cvv=٩٨٧&expiry="+url.QueryEscape(typed)))
		command, wrong := credentialsOf(f, &record{Request: payment.Request{Type: payment.Payment}}, payment.BankCard, func([]byte) string { return "" })
		if len(wrong) != 0 {
			t.Errorf("%q: %v", typed, wrong)
		} else if got := fmt.Sprintf("%s %s %s", command.Card.ExpMonth, command.Card.ExpYear, command.Card.CVV); got != want+" 987" {
			t.Errorf("%q: %q", typed, got)
		}
	}
	for _, typed := range []string{"", "0", "08", "8", "13/29", "00/29", "0/29", "08/", "/29", "08/9", "08/292", "08/29/30", "a/b", "082", "08290"} {
		f, _ := readForm(urlencoded, []byte("cardnumber=4242424242424242&cardholder=A&cvv=987&expiry="+url.QueryEscape(typed)))
		if _, wrong := credentialsOf(f, &record{Request: payment.Request{Type: payment.Payment}}, payment.BankCard, func([]byte) string { return "" }); len(wrong) != 1 || !wrong["expiry"] {
			t.Errorf("%q: %v", typed, wrong)
		}
	}
}

// A refused form is shown again with the values that the payer typed. A card number and a verification value are left out, even
// if they were typed into a wrong field.
func TestRefusedFormKeepsWhatIsNoSecret(t *testing.T) {
	f, _ := readForm(urlencoded, []byte("cardnumber=4242&cvv=987&expiry=%D9%A1%D9%A3/29&cardholder=ANNA"))
	keys, _, _ := payment.RequiredKeys(payment.BankCard, payment.Payment, "USD")
	if _, wrong := credentialsOf(f, &record{Request: payment.Request{Type: payment.Payment}}, payment.BankCard, func([]byte) string { return "" }); len(wrong) != 2 {
		t.Fatal(wrong)
	}
	typed := typedAgain(f, keys)
	if len(typed["cardnumber"])+len(typed["cvv"]) > 0 || string(typed["expiry"]) != "13/29" || string(typed["cardholder"]) != "ANNA" {
		t.Errorf("%q", typed)
	}
	f, _ = readForm(urlencoded, []byte("cardnumber=ANNA&cvv=987&expiry=12/29&cardholder=4242+4242+4242+4242"))
	if typed := typedAgain(f, keys); len(typed["cardholder"]) != 0 {
		t.Errorf("a card number in the wrong field: %q", typed)
	}
}
