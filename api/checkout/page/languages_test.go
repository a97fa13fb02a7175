package page

import (
	"testing"

	"mizan/api/checkout/texts"
	"mizan/api/web/locale"
	"mizan/ledger/money"
)

func TestSuggestedAmountIsWrittenAsInTheLanguage(t *testing.T) {
	tron := money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}
	for lang, want := range map[string][2]string{
		"en": {"1234.50", "1234.50"}, "ru": {"1234,50", "1234,50"}, "de": {"1234,50", "1234,50"}, "fr": {"1234,50", "1234,50"}, "fa": {"۱۲۳۴٫۵۰", "۱۲۳۴٫۵۰"}, "bn": {"১২৩৪.৫০", "১২৩৪.৫০"},
		"ar": {"1234.50", "1234.50"},
	} {
		for i, sum := range []Sum{{money.MustParse("123450"), dollars.Asset}, {money.MustParse("1234500000"), tron}} {
			if got := (view{T: texts.In(lang), Page: Offer{Order: Order{Sum: sum}, IsOpen: true}}).Suggested(); got != want[i] {
				t.Errorf("%s: %q, want %q", lang, got, want[i])
			}
		}
	}
}

// Keyboards of languages from right to left have an Arabic comma and a slash, which people type as the
// separators of numbers.
func TestSeparatorsOfKeyboardsFromRightToLeftAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"۱۲/۵۰": "1250", "12/5": "1250", "۱٬۲۳۴/۵۰": "123450", "1,234/50": "123450", "1،234،567/5": "123456750", "12،50": "1250", "1،234": "123400", "\u200f۱۲٫۵۰\u200e": "1250",
		"1/234": "", "1/2/3": "", "/50": "", "12/": "", "12.50/1": "", "1,23/4": "", "12/5.0": "", "،5،": "",
	} {
		for _, lang := range []string{"ar", "fa", "ur"} {
			got := ""
			if amount, problem := locale.ParseAmount(text, locale.In(lang).Separators(), dollars.Asset); problem == 0 {
				got = amount.String()
			}
			if got != want {
				t.Errorf("%s: %q is read as %q, want %q", lang, text, got, want)
			}
		}
	}
	if amount, problem := locale.ParseAmount("12/50", locale.In("en").Separators(), dollars.Asset); problem == 0 {
		t.Errorf("a fraction is read as %v", amount)
	}
}

func TestAmountsAreReadAsEachLanguageWritesThem(t *testing.T) {
	assets := []money.Asset{
		{Currency: "USD", Env: money.Prod}, {Currency: "KWD", Env: money.Prod}, {Currency: "USDT", Network: "tron", Env: money.Prod},
		{Currency: "ETH", Network: "ethereum", Env: money.Prod},
	}
	amounts := []string{
		"0", "1", "5", "99", "100", "999", "1000", "1234", "12345", "99999", "100000", "123456", "1000000", "1234000", "1234567", "12345678", "100000000",
		"1000000000000007", "1234567890123456789", "1606938044258990275541962092341162602522202993782792835301377",
	}
	for _, lang := range locale.Languages() {
		for _, asset := range assets {
			for _, minor := range amounts {
				want, err := money.Parse(minor)
				if err != nil {
					t.Fatal(err)
				}
				grouped, _ := texts.In(lang).Decimal(want, asset)
				suggested := view{T: texts.In(lang), Page: Offer{Order: Order{Sum: Sum{want, asset}}, IsOpen: true}}.Suggested()
				if want.IsZero() {
					suggested = "0" // a page suggests no amount of zero
				}
				for _, written := range []string{grouped, suggested} {
					if got, problem := locale.ParseAmount(written, locale.In(lang).Separators(), asset); problem != 0 || got != want {
						t.Errorf("%s: %q in %s is read as %v, %v, want %s", lang, written, asset.Currency, got, problem, minor)
					}
				}
			}
		}
	}
}
