package browser_test

import (
	"fmt"
	"strings"
	"testing"
)

// The fields for a card group the digits while the payer types, and drop digits beyond the greatest length.
func TestCardFieldsAreSpacedAsTheyAreTyped(t *testing.T) {
	s := newSite(t)
	tb := s.open(t, desktop)
	const number, expiry = "cardnumber", "expiry"
	for _, c := range []struct{ field, text, want string }{
		{number, "4242424242424242", "4242 4242 4242 4242"},
		{number, "4242 4242-4242 4242", "4242 4242 4242 4242"},
		{number, "378282246310005", "3782 822463 10005"},
		{number, "12345678901234567890", "1234 5678 9012 3456 789"},
		{number, "42424242424242424242424242424242", "4242 4242 4242 4242 424"},
		{number, "٤٢٤٢٤٢٤٢", "4242 4242"},
		{number, "no digits", ""},
		{expiry, "1230", "12/30"},
		{expiry, "12/30", "12/30"},
		{expiry, "1/30", "01/30"},
		{expiry, "730", "07/30"},
		{expiry, "7-2030", "07/2030"},
		{expiry, "1230\b\b", "12/"},
		{expiry, "1230\b\b\b", "12"},
		{expiry, "1230\b\b\b3", "12/3"},
		{expiry, "12 / 2030", "12/2030"},
		{expiry, "122030", "12/2030"},
		{expiry, "12305", "12/30"},
		{expiry, "2030-12", "02/03"},
		{expiry, "123456789", "12/34"},
		{expiry, "۱۲۳۰", "12/30"},
	} {
		for how, enter := range map[string]func(selector, text string){"typed": tb.fill, "pasted": tb.paste} {
			tb.beginView(t, desktop, s.newPayerIP())
			_, address := s.hosted(t, "payment", `"amount":"1250","currency":"USD"`)
			tb.visit(address)
			if how == "pasted" && strings.Contains(c.text, "\b") {
				continue
			}
			selector := "input[name=" + c.field + "]"
			enter(selector, c.text)
			if got := evaluate[string](tb, fmt.Sprintf(`document.querySelector(%q).value`, selector)); got != c.want {
				t.Errorf("%s: %q %s shows %q, want %q", c.field, c.text, how, got, c.want)
			}
		}
	}
}

// paste inserts a text into a field in one step, as pasting does.
func (tb *tab) paste(selector, text string) {
	tb.t.Helper()
	evaluate[bool](tb, fmt.Sprintf(`(document.querySelector(%q).focus(), document.execCommand("insertText", false, %q))`, selector, text))
}
