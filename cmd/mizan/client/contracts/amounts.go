package contracts

import (
	"strings"

	"mizan/cmd/mizan/client"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// amountNames are the names of all amounts in contracts and in rows of contracts. Amounts are in minor units. A response does
// not show which members are amounts. Each product has two readings, the secular and the religious form of its API. One form
// sends amounts as strings, like texts; the other sends amounts as integers, like counts. So the names are collected from the
// columns of the products.
var amountNames = func() map[string]bool {
	names := make(map[string]bool)
	for _, p := range contract.Products {
		addAmounts(names, p.Columns)
	}
	return names
}()

// addAmounts adds the names of a table's amount columns, including the columns of nested rows.
func addAmounts(names map[string]bool, table *schema.Table) {
	for _, c := range table.Columns {
		if c.Visibility == schema.Hidden {
			continue
		}
		if c.Kind == schema.KindAmount || c.Kind == schema.KindSigned {
			names[c.Name] = true
		}
		if c.Nested != nil {
			addAmounts(names, c.Nested)
		}
	}
}

// wordSet splits each list at its spaces and returns the set of all words.
func wordSet(lists ...string) map[string]bool {
	words := make(map[string]bool)
	for _, list := range lists {
		for _, name := range strings.Fields(list) {
			words[name] = true
		}
	}
	return words
}

// IsAmount tells whether the contract member with this name is an amount in minor units.
func IsAmount(name string) bool { return amountNames[name] }

// Decimals returns how many decimals the amounts of a currency have. For the currencies of contracts the number is the same in
// the environments prod and test.
func Decimals(currency string) int {
	digits, _ := money.Asset{Currency: money.Currency(currency), Env: money.Prod}.Scale()
	return digits
}

// majorUnits converts minor units to major units, with commas between thousands. A text that is not a whole number is not
// converted.
func majorUnits(minor, currency string) string {
	if text, ok := client.MajorUnits(minor, Decimals(currency)); ok {
		return text
	}
	return client.Printable(minor)
}
