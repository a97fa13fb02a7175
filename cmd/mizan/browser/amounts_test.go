package browser_test

import (
	"cmp"
	"slices"
	"testing"

	"mizan/internal/testkit"
)

// On a small phone a long amount has a smaller font, and its line breaks only before or after the currency. A number that
// is wider than the screen breaks into several lines and does not extend beyond the screen.
func TestLongAmountsFitIntoASmallPhone(t *testing.T) {
	s := newSite(t)
	s.prepareMethods(t)
	const byCrypto, byChoice = `"money_storage":{"type":"crypto"}`, `"hosted":true`
	for _, c := range []struct {
		name, fields string
		client       *testkit.Client
		isTooLong    bool
	}{
		{"token", `"amount":"1234567890","currency":"USDT","network":"tron",` + byCrypto, s.Partner(), false},
		{"long token", `"amount":"1234567890123456","currency":"USDT","network":"tron",` + byCrypto, s.Partner(), false},
		{"longest token", `"amount":"123456789012345678","currency":"USDT","network":"tron",` + byCrypto, s.Partner(), false},
		{"exact token", `"amount":"1234500000000000001","currency":"ETH","network":"ethereum",` + byCrypto, s.Partner(), false},
		{"euros", `"amount":"123456789012345","currency":"EUR",` + byChoice, s.Partner(), false},
		{"dollars for several methods", `"amount":"1234567890123","currency":"USD",` + byChoice, s.methods, false},
		{"forty digits", `"amount":"1234567890123456789012345678901234567890","currency":"USD",` + byChoice, s.methods, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, lang := range []string{"ru", "fa", "bn"} {
				tb := s.open(t, view{width: 320, lang: lang, scripts: true})
				created := s.create(t, c.client, "payment", c.fields+`,"lang":"`+lang+`"`)
				tb.visit(cmp.Or(created.at("widget_url"), created.at("simple_auth_redirect_url")))
				tb.wantStatus(200)
				found, _, err := tb.findings()
				if err != nil {
					t.Fatal(err)
				}
				if c.isTooLong {
					found = slices.DeleteFunc(found, func(f finding) bool { return f.rule == ruleWords })
				}
				tb.report(found)
			}
		})
	}
}
