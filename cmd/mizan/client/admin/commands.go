package admin

import (
	"slices"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"mizan/cmd/mizan/client"
)

// Commands are `mizan admin …` for kong, with the flags that all of them share.
// Running one needs a *Streams among kong's bindings; the error is a *Fault, or
// the stream's own where the output could not be written.
type Commands struct {
	client.AdminFlags
	JSON           bool    `name:"json" help:"Print what the server says, one JSON object a line, and no table."`
	IdempotencyKey *string `name:"idempotency-key" placeholder:"KEY" help:"Key of a write that is being repeated; a new one for each if absent."`

	Organizations organizationCommands `cmd:"" help:"Organizations, whatever --organization says."`
	Partners      partnerCommands      `cmd:"" help:"Merchants."`
	Terminals     terminalCommands     `cmd:"" help:"What transactions are routed to."`
	Keys          keyCommands          `cmd:"" help:"API keys of partners."`
	Limits        limitCommands        `cmd:"" help:"Bounds on what a partner may move."`
	Blocklist     blocklistCommands    `cmd:"" help:"Cards, people and places that are refused."`
	Users         userCommands         `cmd:"" help:"People with sessions."`
	Settlements   settlementCommands   `cmd:"" help:"Money that came from a provider, or moved to or from a merchant's bank."`
	Rates         rateCommands         `cmd:"" help:"Exchange rates."`
	Transactions  transactionCommands  `cmd:"" help:"Transactions of a partner, and how they were routed."`
	Deliveries    deliveryCommands     `cmd:"" help:"Notifications: what became of them, and once more."`
}

// ProvideCommand gives kong what a command's Run takes.
func (c *Commands) ProvideCommand(k *kong.Context, s *client.Streams) (*client.Command, error) {
	chosen := k.Selected()
	e := &client.Command{Name: chosen.Parent.Name + " " + chosen.Name, Streams: s, JSON: c.JSON}
	// Kong has put other characters in place of what is not UTF-8.
	if slices.ContainsFunc(k.Args, func(said string) bool { return !utf8.ValidString(said) }) {
		return nil, e.Misused("an argument is not UTF-8")
	}
	var err error
	if e.Key, err = client.NewWriteKey(c.IdempotencyKey); err != nil {
		return nil, e.Misused("%v", err)
	}
	if e.Client, err = c.Open(); err != nil {
		return nil, e.Misused("%v", err)
	}
	return e, nil
}
