package page

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"mizan/ledger/money"
)

func TestColonsAreThoseOfTheLanguage(t *testing.T) {
	cheaper := dollars
	cheaper.Amount = money.MustParse("1200")
	for lang, want := range map[string][2]string{
		"en": {"Fee: <bdi>$0.50</bdi>", `Help: <a href="mailto:a@b.example">`}, "fr": {"Frais\u00a0: <bdi>0,50\u00a0$US</bdi>", "Aide\u00a0: <a "},
		"ar": {"\u2068الرسوم\u2069: <bdi>", "\u2068المساعدة\u2069: <a "},
	} {
		html := render(t, lang, Checkout{
			Order:   Order{Sum: dollars, Shop: Shop{Brand: Brand{SupportEmail: "a@b.example"}}},
			Methods: []Method{{Type: "bank_card", Total: dollars, Fee: &Sum{Amount: money.MustParse("50"), Asset: dollars.Asset}}, {Type: "qr_code", Total: cheaper}},
		})
		for _, text := range want {
			if !strings.Contains(html, text) {
				t.Errorf("%s: no %q in %s", lang, text, html)
			}
		}
	}
}

// The last digits of a card number remain to the right of the dots that replace the other digits, also in Arabic text.
func TestCardOfAReceiptIsIsolated(t *testing.T) {
	for lang, want := range map[string]string{"en": "<bdi>Card •••• 9995</bdi>", "ar": "<bdi>بطاقة بنكية \u2068•••• 9995\u2069</bdi>"} {
		html := render(t, lang, Receipt{Order: Order{Sum: dollars}, Ended: time.Unix(1_800_000_000, 0), Result: Done, Method: "bank_card", Card: "•••• 9995"})
		if !strings.Contains(html, want) {
			t.Errorf("%s: no %q in %s", lang, want, html)
		}
	}
}

// The direction of a name depends on its own letters and not on the page's language.
func TestNameOnTheCardHasItsOwnDirection(t *testing.T) {
	for _, lang := range []string{"en", "ar"} {
		if html := render(t, lang, Checkout{Order: Order{Sum: dollars}, Methods: byCard}); !strings.Contains(html, ` name="cardholder" dir="auto" `) {
			t.Errorf("%s: %s", lang, html)
		}
	}
}

// Without scripts the time left is a sentence, which needs no label.
func TestLabelOfTheClockNeedsTheScript(t *testing.T) {
	html := render(t, "en", Checkout{Order: Order{Sum: dollars}, Methods: byCard, Left: 90 * time.Second})
	if !strings.Contains(html, `<p class="clock"><span class="js">Time left</span><span role="timer" data-left="90">1 minute left</span></p>`) {
		t.Errorf("%s", html)
	}
}

// Only notices that the time is over, or that the payer must wait, have a clock as their symbol.
func TestNoticesHaveTheirSymbols(t *testing.T) {
	const clock, shut, alert = `M32 14v18l12 8`, `M18 32h28`, `M32 16v20M32 47v1`
	for notice, want := range map[Notice]string{
		NotFound: alert, Gone: clock, TooLate: clock, Malformed: alert, Unavailable: clock, Fault: alert, Closed: shut, TooMany: clock, NoMethod: shut,
	} {
		html := render(t, "en", Stop{Notice: notice})
		for _, symbol := range []string{clock, shut, alert} {
			if strings.Contains(html, symbol) != (symbol == want) {
				t.Errorf("notice %d with the symbol %s, want %s", notice, symbol, want)
			}
		}
	}
}

// A long number is shown in a smaller font.
func TestSizeOfAnAmountFollowsItsLength(t *testing.T) {
	for _, c := range []struct{ minor, lang, want string }{
		{"123456789", "en", `"><bdi>$1,234,567.89</bdi>`}, {"1234567890", "en", ` long"><bdi>$12,345,678.90</bdi>`}, {"123456789", "fa", "\"><bdi>\u200e$۱٬۲۳۴٬۵۶۷٫۸۹</bdi>"},
		{"123456789012345", "en", ` long"><bdi>$1,234,567,890,123.45</bdi>`}, {"1234567890123456", "en", ` longest"><bdi>$12,345,678,901,234.56</bdi>`},
	} {
		sum := Sum{Amount: money.MustParse(c.minor), Asset: dollars.Asset}
		if html := render(t, c.lang, Processing{Order: Order{Sum: sum}}); !strings.Contains(html, `<p class="sum`+c.want+`</p>`) {
			t.Errorf("%s: no %s in %s", c.minor, c.want, html)
		}
	}
}

var patternPattern = regexp.MustCompile(`name="(\w+)"[^>]* pattern="([^"]+)"`)

// Without scripts the browser checks the fields of a card by their patterns. The patterns accept all digits that the server
// reads.
func TestPatternsAcceptTheDigitsOfPayers(t *testing.T) {
	patterns := make(map[string]*regexp.Regexp)
	for _, match := range patternPattern.FindAllStringSubmatch(render(t, "fa", Checkout{Order: Order{Sum: dollars}, Methods: byCard}), -1) {
		patterns[match[1]] = regexp.MustCompile("^(?:" + match[2] + ")$") // a browser matches the whole value
	}
	if len(patterns) != 3 {
		t.Fatalf("patterns %v", patterns)
	}
	accepted := map[string][]string{"cardnumber": {"4242 4242-4242 4242"}, "expiry": {"08/29", "8/29", "0829", "12/2029", " 10 - 31 "}, "cvv": {"987"}}
	refused := map[string][]string{"cardnumber": {"4242 4242", "4242 4242 4242 424x"}, "expiry": {"13/29", "00/29", "08", "08/292", "0"}, "cvv": {"98", "9876", "98x"}}
	for _, zero := range []rune{'0', '٠', '۰', '০'} {
		inScript := func(text string) string {
			return strings.Map(func(r rune) rune {
				if r >= '0' && r <= '9' {
					return r - '0' + zero
				}
				return r
			}, text)
		}
		for name, pattern := range patterns {
			for _, text := range accepted[name] {
				if !pattern.MatchString(inScript(text)) {
					t.Errorf("%s refuses %q", name, inScript(text))
				}
			}
			for _, text := range refused[name] {
				if pattern.MatchString(inScript(text)) {
					t.Errorf("%s accepts %q", name, inScript(text))
				}
			}
		}
	}
}

// Arabic expresses two of a thing by the dual of the noun, without a number.
func TestTwoPiecesAreADualInArabic(t *testing.T) {
	for quantity, want := range map[string]string{"2": "<p>قطعتان</p>", "3": "<p>\u20683\u2069 قطع</p>", "11": "<p>\u206811\u2069 قطعة</p>"} {
		html := render(t, "ar", Offer{Order: Order{Sum: dollars}, Items: []Item{{Header: "x", Text: "x", Quantity: quantity}}, IsOpen: true})
		if !strings.Contains(html, want) {
			t.Errorf("%s: no %q in %s", quantity, want, html)
		}
	}
}
