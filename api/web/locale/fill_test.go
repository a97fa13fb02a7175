package locale

import "testing"

func TestValuesDoNotReorderTheTextAroundThem(t *testing.T) {
	for _, c := range []struct{ lang, text, value, want string }{
		{"en", "Payment to {merchant}", "Shop", "Payment to Shop"},
		{"en", "Payment to {merchant}", "متجر", "Payment to \u2068متجر\u2069"},
		{"en", "Payment to {merchant}", "חנות 24", "Payment to \u2068חנות 24\u2069"},
		{"ru", "Платёж в пользу {merchant}", "Shop (متجر)", "Платёж в пользу \u2068Shop (متجر)\u2069"},
		{"ar", "دفعة إلى {merchant}", "Shop 24", "دفعة إلى \u2068Shop 24\u2069"},
		{"fa", "پرداخت به {merchant}", "متجر", "پرداخت به \u2068متجر\u2069"},
		{"ur", "{merchant} کو ادائیگی", "7", "\u20687\u2069 کو ادائیگی"},
		{"de", "Zahlung an {merchant}", "{merchant} {amount}", "Zahlung an {merchant} {amount}"},
		{"de", "Zahlung an {merchant}", "<b>&", "Zahlung an <b>&"},
		{"de", "Zahlung an {merchant}", "", "Zahlung an "},
	} {
		if got := In(c.lang).Fill(c.text, "merchant", c.value); got != c.want {
			t.Errorf("%s: %q with %q is %+q, want %+q", c.lang, c.text, c.value, got, c.want)
		}
	}
}

func TestEveryPlaceholderIsReplaced(t *testing.T) {
	if got, want := In("en").Fill("Receipt: {amount} to {merchant}", "amount", "$1.00", "merchant", "{amount}"), "Receipt: $1.00 to {amount}"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCountsAreWrittenInTheDigitsOfTheLanguage(t *testing.T) {
	p := Plural{Zero: "zero", One: "one {n}", Two: "two", Few: "few {n}", Many: "many {n}", Other: "other {n}"}
	for _, c := range []struct {
		lang string
		n    int
		want string
	}{
		{"en", 1, "one 1"}, {"en", 0, "other 0"}, {"en", 1234, "other 1,234"}, {"en", -5, "other 0"},
		{"ru", 21, "one 21"}, {"ru", 22, "few 22"}, {"ru", 11, "many 11"},
		{"ar", 0, "zero"}, {"ar", 1, "one \u20681\u2069"}, {"ar", 2, "two"}, {"ar", 3, "few \u20683\u2069"}, {"ar", 11, "many \u206811\u2069"}, {"ar", 100, "other \u2068100\u2069"},
		{"fa", 0, "one \u2068۰\u2069"}, {"fa", 12, "other \u2068۱۲\u2069"}, {"bn", 1, "one ১"}, {"bn", 100000, "other ১,০০,০০০"},
		{"fr", 0, "one 0"}, {"fr", 1_000_000, "many 1\u202f000\u202f000"}, {"es", 1234, "other 1234"}, {"id", 1, "other 1"},
	} {
		if got := In(c.lang).Count(p, c.n); got != c.want {
			t.Errorf("%s: %d is %+q, want %+q", c.lang, c.n, got, c.want)
		}
	}
}
