package locale

import (
	"slices"

	"golang.org/x/text/language"
)

// format describes how a language writes numbers.
type format struct {
	lang        string // code of the language, which is also the name of its catalogs
	tag         language.Tag
	rightToLeft bool
	amount      string            // the pattern of an amount: 0 is the number, ¤ the sign of the currency
	decimal     string            // the decimal separator
	group       string            // the separator between groups of digits
	zero        rune              // the digit zero of the language's script; 0 if the language uses ASCII digits
	lakhs       bool              // groups before the last group have two digits instead of three
	loneDigit   bool              // a group of a single digit is not separated: 1234, but 12.345
	millions    bool              // round millions have the plural category "many"
	signs       map[string]string // currency signs that differ from commonSigns
}

// The spaces in numbers: NO-BREAK SPACE and NARROW NO-BREAK SPACE.
const (
	space       = "\u00a0"
	narrowSpace = "\u202f"
)

// The characters LEFT-TO-RIGHT MARK and RIGHT-TO-LEFT MARK. A mark before an amount sets the direction of the amount. A mark also
// follows Arabic abbreviations, because their last full stop has no direction of its own.
const (
	leftToRight = "\u200e"
	rightToLeft = "\u200f"
)

// commonSigns are the currency signs that most languages use. A currency without a sign is written with its code.
var commonSigns = map[string]string{
	"USD": "$", "EUR": "€", "GBP": "£", "JPY": "JP¥", "CNY": "CN¥", "INR": "₹", "CAD": "CA$",
}

// formats are the languages of the service. The formats of numbers and the signs come from Chromium or, for the languages that
// Chromium lacks (Azerbaijani, Kazakh and Uzbek), from CLDR 48. testdata/intl.json has the formats of both sources.
var formats = withTags([]format{
	{lang: "en", amount: "¤0", decimal: ".", group: ",", signs: map[string]string{"JPY": "¥"}},
	{lang: "ru", amount: "0" + space + "¤", decimal: ",", group: space, signs: map[string]string{
		"RUB": "₽", "UAH": "грн.", "JPY": "¥",
	}},
	{lang: "uk", amount: "0" + space + "¤", decimal: ",", group: space, signs: map[string]string{
		"UAH": "грн", "JPY": "¥", "USD": "USD", "EUR": "EUR", "GBP": "GBP", "INR": "INR", "CNY": "CNY", "CAD": "CAD",
	}},
	{lang: "ar", rightToLeft: true, amount: rightToLeft + "0" + space + "¤", decimal: ".", group: ",", signs: map[string]string{
		"SAR": "ر.س." + rightToLeft, "AED": "د.إ." + rightToLeft, "KWD": "د.ك." + rightToLeft, "BHD": "د.ب." + rightToLeft,
		"QAR": "ر.ق." + rightToLeft, "OMR": "ر.ع." + rightToLeft, "EGP": "ج.م." + rightToLeft, "JOD": "د.أ." + rightToLeft,
		"IRR": "ر.إ.", "USD": "US$", "GBP": "UK£",
	}},
	{lang: "fa", rightToLeft: true, amount: leftToRight + "¤0", decimal: "٫", group: "٬", zero: '۰', signs: map[string]string{
		"IRR": "ریال", "JPY": "¥", "CNY": "¥CN", "CAD": "$CA",
	}},
	{lang: "ur", rightToLeft: true, amount: "¤0", decimal: ".", group: ",", signs: map[string]string{"PKR": "Rs"}},
	{lang: "tr", amount: "¤0", decimal: ",", group: ".", signs: map[string]string{"TRY": "₺", "JPY": "¥"}},
	{lang: "az", amount: "0" + space + "¤", decimal: ",", group: ".", signs: map[string]string{"AZN": "₼", "USD": "US$"}},
	{lang: "kk", amount: "0" + space + "¤", decimal: ",", group: space, signs: map[string]string{"KZT": "₸", "RUB": "₽"}},
	{lang: "uz", amount: "0" + space + "¤", decimal: ",", group: space, signs: map[string]string{"UZS": "soʻm", "USD": "US$"}},
	{lang: "id", amount: "¤0", decimal: ",", group: ".", signs: map[string]string{"IDR": "Rp", "USD": "US$", "INR": "Rs"}},
	{lang: "ms", amount: "¤0", decimal: ".", group: ",", signs: map[string]string{"MYR": "RM", "USD": "USD", "CAD": "CAD"}},
	{lang: "bn", amount: "0¤", decimal: ".", group: ",", zero: '০', lakhs: true, signs: map[string]string{"BDT": "৳", "USD": "US$"}},
	{lang: "de", amount: "0" + space + "¤", decimal: ",", group: ".", signs: map[string]string{"JPY": "¥"}},
	{lang: "fr", amount: "0" + space + "¤", decimal: ",", group: narrowSpace, millions: true, signs: map[string]string{
		"USD": "$US", "GBP": "£GB", "CAD": "$CA", "SGD": "$SG", "JPY": "JPY", "CNY": "CNY",
	}},
	{lang: "es", amount: "0" + space + "¤", decimal: ",", group: ".", loneDigit: true, millions: true, signs: map[string]string{
		"USD": "US$", "GBP": "GBP", "JPY": "JPY", "INR": "INR", "CNY": "CNY", "CAD": "CAD",
	}},
})

// withTags sets the tags of the languages, which golang.org/x/text needs to find plural categories.
func withTags(table []format) []format {
	for i := range table {
		table[i].tag = language.MustParse(table[i].lang)
	}
	return table
}

// formatOf returns the format of a language, or nil if the service does not have the language.
func formatOf(lang string) *format {
	i := slices.IndexFunc(formats, func(f format) bool { return f.lang == lang })
	if i < 0 {
		return nil
	}
	return &formats[i]
}
