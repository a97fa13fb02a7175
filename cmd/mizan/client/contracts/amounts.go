package contracts

import (
	"strings"

	"mizan/cmd/mizan/client"
	"mizan/ledger/contract"
	"mizan/ledger/money"
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

// Decimals returns the number of decimals of a currency's amounts. For the currencies of contracts it is the same in the
// environments prod and test.
func Decimals(currency string) int {
	digits, _ := money.Asset{Currency: money.Currency(currency), Env: money.Prod}.Scale()
	return digits
}

// majorUnits converts minor units to major ones, with commas between thousands; text that is not a
// whole number stays as it is.
func majorUnits(minor, currency string) string {
	if text, ok := client.MajorUnits(minor, Decimals(currency)); ok {
		return text
	}
	return client.Printable(minor)
}
