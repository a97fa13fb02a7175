package texts

import (
	"golang.org/x/text/language"

	"mizan/ledger/money"
)

// format is how a language writes numbers.
type format struct {
	lang        string // the name of its catalog
	tag         language.Tag
	rightToLeft bool
	amount      string // the order of the number (0) and the sign of a currency (¤), with what stands between and before them
	decimal     string // before the fraction
	group       string // between groups of digits
	zero        rune   // the digit zero of its script; 0: that of ASCII
	lakhs       bool   // groups before the last one have two digits instead of three
	loneDigit   bool   // a single digit is not grouped: 1234, but 12.345
	millions    bool   // round millions are of the plural category "many"
	signs       map[money.Currency]string
}

// The spaces of numbers. Neither breaks a line.
const (
	space       = "\u00a0"
	narrowSpace = "\u202f"
)

// formats are the languages of the service. Signs are those that CLDR 48 has for the language; a currency without one is
// written with its code.
var formats = []format{
	{lang: "en", amount: "¤0", decimal: ".", group: ",", signs: map[money.Currency]string{
		"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "CNY": "CN¥", "INR": "₹", "CAD": "CA$",
	}},
	{lang: "ru", amount: "0" + space + "¤", decimal: ",", group: space, signs: map[money.Currency]string{
		"RUB": "₽", "USD": "$", "EUR": "€", "GBP": "£", "UAH": "₴", "JPY": "¥", "CNY": "CN¥", "INR": "₹", "CAD": "CA$",
	}},
}
