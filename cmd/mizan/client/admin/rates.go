package admin

import (
	"net/http"

	"mizan/cmd/mizan/client"
)

// rateCommands are the subcommands of `mizan admin rates`.
type rateCommands struct {
	List listRecords `cmd:"" help:"List the rates, the newest pair first."`
	Set  setRate     `cmd:"" help:"Set or replace the rate of a pair of currencies."`
}

const ratesPath = "/rates"

type setRate struct{ rateFields }

type rateFields struct {
	From string `arg:"" json:"from" help:"The first currency."`
	To   string `arg:"" json:"to" help:"The second currency."`
	Rate string `arg:"" json:"rate" help:"What one major unit of the first currency is worth in the second currency: a decimal number."`
}

// Run sets or replaces a rate.
func (c *setRate) Run(e *client.Command) error {
	return e.Write(http.MethodPut, ratesPath, c.rateFields)
}
