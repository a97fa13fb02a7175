package admin

import "net/http"

// rateCommands are `mizan admin rates …`.
type rateCommands struct {
	List listRates `cmd:"" help:"List the rates, the newest pair first."`
	Set  setRate   `cmd:"" help:"Set the rate of a pair, whether it has one or not."`
}

const ratesPath = "/rates"

type listRates struct{ paging }

// Run is called by kong.
func (c *listRates) Run(e *errand) error {
	return e.list(listing{path: ratesPath, columns: []string{"from", "to", "rate", "created_at", "updated_at"}}, c.paging)
}

type setRate struct{ rateFields }

type rateFields struct {
	From string `arg:"" json:"from" help:"Currency."`
	To   string `arg:"" json:"to" help:"Currency."`
	Rate string `arg:"" json:"rate" help:"What one major unit of the first is worth in the second: a decimal number."`
}

// Run is called by kong.
func (c *setRate) Run(e *errand) error { return e.write(http.MethodPut, ratesPath, c.rateFields) }
