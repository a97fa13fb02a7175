package admin

import (
	"io"
	"slices"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// Streams are where a command prints: the server's data to Out, all other words
// to Err. Both stay the caller's.
type Streams struct {
	Out io.Writer
	Err io.Writer
}

// Commands are `mizan admin …` for kong, with the flags that all of them share.
// Running one needs a *Streams among kong's bindings; the error is a *Fault, or
// the stream's own where the output could not be written.
type Commands struct {
	connection
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

// ProvideErrand gives kong what a command's Run takes.
func (c *Commands) ProvideErrand(k *kong.Context, s *Streams) (*errand, error) {
	chosen := k.Selected()
	e := &errand{name: chosen.Parent.Name + " " + chosen.Name, streams: s, json: c.JSON}
	// Kong has put other characters in place of what is not UTF-8.
	if slices.ContainsFunc(k.Args, func(said string) bool { return !utf8.ValidString(said) }) {
		return nil, e.misused("an argument is not UTF-8")
	}
	var err error
	if e.key, err = c.writeKey(); err != nil {
		return nil, e.misused("%v", err)
	}
	if e.door, err = c.open(); err != nil {
		return nil, e.misused("%v", err)
	}
	return e, nil
}

// errand is one command under way.
type errand struct {
	name    string // for example "partners create": what its errors begin with
	door    *door
	streams *Streams
	json    bool
	key     writeKey
}
