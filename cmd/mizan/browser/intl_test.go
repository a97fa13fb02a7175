package browser_test

import (
	"fmt"
	"testing"
)

// EvaluateIntl returns an amount as the browser writes it in a language (Intl.NumberFormat). The amount is decimal digits
// with a point, and is written exactly.
func (tb *tab) EvaluateIntl(lang, currency string, fractionDigits int, amount string) string {
	tb.t.Helper()
	return evaluate[string](tb, fmt.Sprintf(`new Intl.NumberFormat(%q, {style: "currency", currency: %q, minimumFractionDigits: %d, maximumFractionDigits: %[3]d}).format(%q)`,
		lang, currency, fractionDigits, amount))
}

// The browser is the standard by which amounts on the pages are judged, so it must have the languages' data and be exact.
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
