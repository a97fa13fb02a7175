package ledgerclient

import (
	"net/url"

	"github.com/alecthomas/kong"

	"mizan/cmd/mizan/client"
)

// Commands are the subcommands of `mizan ledger` and their common flags, as kong (the command-line parser) reads them. The
// caller must bind a *client.Streams in kong. If the output can't be written, a command returns the output stream's error. All
// other errors are *client.Fault.
type Commands struct {
	client.LedgerFlags
	JSON bool `name:"json" help:"Print the server's JSON, one object a line, instead of a table."`

	TrialBalance trialBalance  `cmd:"" name:"trial-balance" help:"List all accounts with their totals, and the totals of each currency."`
	Accounts     listAccounts  `cmd:"" help:"List accounts with their balances, or show one."`
	Statement    showStatement `cmd:"" help:"List what moved on an account, the newest first, with the balance after it."`
	Entries      listEntries   `cmd:"" help:"List entries with their postings, the newest first, or show one."`
}

const ledgerPath = "/ledger"

// ProvideCommand creates the *client.Ledger that kong passes to a command's Run method.
func (c *Commands) ProvideCommand(k *kong.Context, s *client.Streams) (*client.Ledger, error) {
	l, err := c.Open("ledger "+k.Selected().Name, s)
	if err != nil {
		return nil, err
	}
	l.JSON = c.JSON
	_, err = l.Organization()
	return l, err
}

// assetFlags are the flags that restrict a list to certain assets.
type assetFlags struct {
	Env      *string `name:"env" placeholder:"ENV" help:"prod or test; the server takes prod if absent."`
	Currency *string `name:"currency" placeholder:"CODE" help:"Only this currency."`
	Network  *string `name:"network" placeholder:"NETWORK" help:"Only this network."`
}

// asOfFlags are the flags that set the time of a balance.
type asOfFlags struct {
	At *string `name:"at" placeholder:"TIME" help:"Balances as of this time (RFC 3339); with --by effective, it may also be a day. If absent, now."`
	By *string `name:"by" placeholder:"KIND" help:"Which time of an entry --at is compared with: booked, which is the default, or effective."`
}

// timeFlags are the flags that restrict a list to a period of time.
type timeFlags struct {
	From *string `name:"from" placeholder:"TIME" help:"Only what was booked at this time or later (RFC 3339)."`
	To   *string `name:"to" placeholder:"TIME" help:"Only what was booked at this time or earlier (RFC 3339)."`
}

// query returns the query parameters that have a value.
func query(parameters map[string]*string) url.Values {
	values := url.Values{}
	for name, value := range parameters {
		if value != nil {
			values.Set(name, *value)
		}
	}
	return values
}
