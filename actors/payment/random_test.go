package payment_test

import (
	"mizan/ledger/money"
)

// rate parses a constant rate.
func rate(text string) money.Rate {
	r, err := money.ParseRate(text)
	if err != nil {
		panic(err)
	}
	return r
}
