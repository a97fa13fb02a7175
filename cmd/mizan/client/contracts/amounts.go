package contracts

import (
	"strings"

	"mizan/cmd/mizan/client"
	"mizan/ledger/contract"
	"mizan/ledger/schema"
)

// amountNames are the members of contracts, and of rows in them, that are amounts in minor units. The response does
// not tell which members are amounts. A product has two readings, a secular and a religious form of its API: in one
// of them amounts are strings, as texts are, and in the other integers, as counts are. So the names come from the
// columns of the products.
var amountNames = func() map[string]bool {
	names := make(map[string]bool)
	for _, p := range contract.Products {
		addAmounts(names, p.Columns)
	}
	return names
}()

// addAmounts adds the names of the columns of a table, and of rows in it, that are amounts.
func addAmounts(names map[string]bool, table *schema.Table) {
	for _, c := range table.Columns {
		if c.Place == schema.Hidden {
			continue
		}
		if c.Kind == schema.KindAmount || c.Kind == schema.KindSigned {
			names[c.Name] = true
		}
		if c.Of != nil {
			addAmounts(names, c.Of)
		}
	}
}

// wordSet returns the words of all lists, which are separated by spaces.
func wordSet(lists ...string) map[string]bool {
	words := make(map[string]bool)
	for _, list := range lists {
		for _, name := range strings.Fields(list) {
			words[name] = true
		}
	}
	return words
}

// IsAmount tells whether a contract's member with the name is an amount in minor units.
func IsAmount(name string) bool { return amountNames[name] }

// threeDecimalCurrencies are the currencies of contracts whose major unit has a thousand minor units (ISO
// 4217); all others have a hundred.
var threeDecimalCurrencies = wordSet("BHD KWD OMR JOD")

// Decimals returns the number of decimals of a currency's amounts.
func Decimals(currency string) int {
	if threeDecimalCurrencies[currency] {
		return 3
	}
	return 2
}

// majorUnits converts minor units to major ones, with commas between thousands; text that is not a
// whole number stays as it is.
func majorUnits(minor, currency string) string {
	digits := strings.TrimPrefix(minor, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return client.Printable(minor)
	}
	sign := minor[:len(minor)-len(digits)]
	decimals := Decimals(currency)
	if len(digits) <= decimals {
		digits = strings.Repeat("0", decimals+1-len(digits)) + digits
	}
	integer, fraction := digits[:len(digits)-decimals], digits[len(digits)-decimals:]
	var b strings.Builder
	for i := range len(integer) {
		if i > 0 && (len(integer)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(integer[i])
	}
	return sign + b.String() + "." + fraction
}
