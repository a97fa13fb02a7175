package admin

import (
	"slices"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"mizan/cmd/mizan/client"
)

// Commands are `mizan admin …` for kong, with their common flags. A command needs a *Streams
// among kong's bindings. Its error is a *Fault, or the stream's own if the output could not be
// written.
type Commands struct {
	client.AdminFlags
	JSON           bool    `name:"json" help:"Print the server's JSON, one object a line, instead of a table."`
	IdempotencyKey *string `name:"idempotency-key" placeholder:"KEY" help:"Key of a write that is being repeated; a new one for each if absent."`

	Organizations organizationCommands `cmd:"" help:"Organizations; --organization does not apply."`
	Partners      partnerCommands      `cmd:"" help:"Merchants."`
	Terminals     terminalCommands     `cmd:"" help:"What transactions are routed to."`
	Keys          keyCommands          `cmd:"" help:"API keys of partners."`
	Limits        limitCommands        `cmd:"" help:"Limits on a partner's transactions."`
	Blocklist     blocklistCommands    `cmd:"" help:"Cards, people and places that are refused."`
	Users         userCommands         `cmd:"" help:"People with sessions."`
	Settlements   settlementCommands   `cmd:"" help:"Money that came from a provider, or moved to or from a merchant's bank."`
	Rates         rateCommands         `cmd:"" help:"Exchange rates."`
	Transactions  transactionCommands  `cmd:"" help:"Transactions of a partner, and how they were routed."`
	Deliveries    deliveryCommands     `cmd:"" help:"Deliveries of notifications, and replays."`
}

// ProvideCommand makes the argument of a command's Run for kong.
func (c *Commands) ProvideCommand(k *kong.Context, s *client.Streams) (*client.Command, error) {
	chosen := k.Selected()
	e := &client.Command{Name: chosen.Parent.Name + " " + chosen.Name, Streams: s, JSON: c.JSON}
	// Kong has replaced bytes that are not UTF-8.
	if slices.ContainsFunc(k.Args, func(argument string) bool { return !utf8.ValidString(argument) }) {
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
