package contracts_test

import (
	"testing"

	"mizan/cmd/mizan/client/contracts"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// The code that prints a statement decides by the name of a JSON member whether the member's value is an amount. So members
// with the same name must be amounts in all contracts or in none. The statement's number of decimals for each currency must be the ledger's.
func TestStatementKnowsEveryAmount(t *testing.T) {
	seen := make(map[string]bool)
	var inspect func(table *schema.Table)
	inspect = func(table *schema.Table) {
		for _, c := range table.Columns {
			if c.Visibility == schema.Hidden {
				continue
			}
			isAmount := c.Kind == schema.KindAmount || c.Kind == schema.KindSigned
			if wasAmount, found := seen[c.Name]; found && wasAmount != isAmount {
				t.Errorf("%s is an amount in one place and none in another", c.Name)
			}
			seen[c.Name] = isAmount
			if contracts.IsAmount(c.Name) != isAmount {
				t.Errorf("%s: the statement takes it for an amount: %t, it is one: %t", c.Name, !isAmount, isAmount)
			}
			if c.Nested != nil {
				inspect(c.Nested)
			}
		}
	}
	for _, p := range contract.Products {
		inspect(p.Columns)
	}
	for name, isAmount := range map[string]bool{
		"total_value": true, "outstanding": true, "per_certificate": true, "variance": true, "final_value": true,
		"certificates_total": false, "term_months": false, "customer_id": false, "balance_date": false,
	} {
		if contracts.IsAmount(name) != isAmount {
			t.Errorf("%s: the statement takes it for an amount: %t", name, !isAmount)
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d columns were looked at", len(seen))
	}
	for currency := range contract.Currencies {
		asset := money.Asset{Currency: currency, Env: money.Prod}
		if want, resolved := asset.Scale(); !resolved || contracts.Decimals(string(currency)) != int(want) {
			t.Errorf("%s has %d decimals for the statement, and %d for the ledger", currency, contracts.Decimals(string(currency)), want)
		}
	}
}
