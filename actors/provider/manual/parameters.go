package manual

import (
	"fmt"
	"log/slog"
	"time"

	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// Name is the provider field of terminals whose payouts an operator pays by hand.
const Name = "manual"

// maxSettleAfter bounds settle_after_seconds: a week.
const maxSettleAfter = 7 * 24 * 60 * 60

// Params is what a terminal's provider_params say about the payouts.
type Params struct {
	SettleAfter int64  // seconds from a payout's submission until it counts as charged; 0: not readable
	BankToken   string // the operator's token at the bank; nothing here sends it
}

// Format implements fmt.Formatter. No verb shows the token.
func (p Params) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("manual payouts")) }

// LogValue implements slog.LogValuer.
func (p Params) LogValue() slog.Value { return slog.StringValue("manual payouts") }

// Parameters are the columns of Params.
var Parameters = schema.NewType[Params]("parameters of a terminal of "+Name,
	schema.Field(schema.Integer(0, "settle_after_seconds", 1, maxSettleAfter, schema.Transient, schema.Required,
		schema.Help("how many seconds after its submission a payout counts as charged: 1 to 604800")), func(p *Params) *int64 { return &p.SettleAfter }),
	schema.Field(schema.Text(0, "bank_token", schema.Transient, schema.Secret, schema.AtMost(directory.MaxSecret),
		schema.Help("the operator's token at the bank")), func(p *Params) *string { return &p.BankToken }),
)

func init() {
	directory.RegisterProvider(directory.Provider{Name: Name, Parameters: Parameters})
}

// settleAfter returns the time until a payout of the terminal counts as charged; 0: its parameters cannot be read.
func settleAfter(t *directory.Terminal) time.Duration {
	p, _ := t.Parameters.(*Params)
	if p == nil || p.SettleAfter < 1 {
		return 0
	}
	return time.Duration(p.SettleAfter) * time.Second
}
