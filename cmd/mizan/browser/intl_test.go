package browser_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// EvaluateIntl returns an amount as the browser formats it in a language with Intl.NumberFormat. amount consists of decimal
// digits and a point. The browser formats it without loss of precision.
func (tb *tab) EvaluateIntl(lang, currency string, fractionDigits int, amount string) string {
	tb.t.Helper()
	return evaluate[string](tb, fmt.Sprintf(`new Intl.NumberFormat(%q, {style: "currency", currency: %q, minimumFractionDigits: %d, maximumFractionDigits: %[3]d}).format(%q)`,
		lang, currency, fractionDigits, amount))
}

// Other tests compare amounts on pages with what the browser formats. So the browser must have the data of the languages, and
// must format amounts exactly.
func TestBrowserWritesAmountsExactly(t *testing.T) {
	s := &site{browser: startBrowser(t)}
	tb := s.open(t, desktop)
	for _, c := range []struct {
		lang, currency string
		fractionDigits int
		amount, want   string
	}{
		{"en", "USD", 2, "1234.5", "$1,234.50"},
		{"en", "USD", 2, "90071992547409931234567.89", "$90,071,992,547,409,931,234,567.89"},
		{"ru", "RUB", 2, "1234567.89", "1\u00a0234\u00a0567,89\u00a0₽"},
		{"de", "EUR", 2, "1234.5", "1.234,50\u00a0€"},
		{"en", "JPY", 0, "1234", "¥1,234"},
		{"bn", "BDT", 2, "1234567.5", "১২,৩৪,৫৬৭.৫০৳"},
	} {
		if got := tb.EvaluateIntl(c.lang, c.currency, c.fractionDigits, c.amount); got != c.want {
			t.Errorf("%s %s %s: %q, want %q", c.lang, c.currency, c.amount, got, c.want)
		}
	}
}

// Pages show an amount as the payer's browser would format it.
func TestPagesWriteAmountsAsTheBrowserDoes(t *testing.T) {
	s := newSite(t)
	tb := s.open(t, desktop)
	compared := 0
	for _, lang := range []string{"en", "ru", "uk", "ar", "fa", "ur", "tr", "az", "kk", "uz", "id", "ms", "bn", "de", "fr", "es"} {
		if evaluate[string](tb, fmt.Sprintf(`new Intl.DateTimeFormat(%q, {month: "long"}).format(new Date(2026, 7, 5))`, lang)) == "M08" {
			t.Logf("the browser has no data of %s", lang)
			continue
		}
		for _, c := range []struct{ minor, currency, major string }{
			{"123456", "USD", "1234.56"}, {"100", "EUR", "1.00"}, {"900719925474099", "RUB", "9007199254740.99"}, {"5", "GBP", "0.05"},
		} {
			tb.beginView(t, desktop, s.newPayerIP())
			_, address := s.hosted(t, "payment", `"amount":"`+c.minor+`","currency":"`+c.currency+`","lang":"`+lang+`"`)
			tb.visit(address)
			want := plainSpaces(tb.EvaluateIntl(lang, c.currency, 2, c.major))
			for _, place := range []string{".sum", submitButton} {
				if got := plainSpaces(evaluate[string](tb, fmt.Sprintf(`document.querySelector(%q).textContent`, place))); !strings.Contains(got, want) {
					t.Errorf("%s: %s shows %+q, want %+q", lang, place, got, want)
				}
			}
			compared++
		}
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
}

// The countdown on a page is written with the digits of the page's language.
func TestClockHasTheDigitsOfTheLanguage(t *testing.T) {
	s := newSite(t)
	for lang, digits := range map[string]string{"en": "0-9", "ar": "0-9", "fa": "۰-۹", "bn": "০-৯"} {
		tb := s.open(t, desktop)
		_, address := s.hosted(t, "payment", `"amount":"1250","currency":"USD","lang":"`+lang+`"`)
		tb.visit(address)
		got := evaluate[string](tb, `document.querySelector("[data-left]").textContent`)
		if !regexp.MustCompile("^[" + digits + "]{1,2}:[" + digits + "]{2}$").MatchString(got) {
			t.Errorf("%s: %q", lang, got)
		}
	}
}

// plainSpaces replaces all kinds of spaces with ordinary ones, and removes the invisible characters that control the direction
// of text.
func plainSpaces(text string) string {
	return strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u200e", "", "\u200f", "", "\u2066", "", "\u2067", "", "\u2068", "", "\u2069", "").Replace(text)
}
