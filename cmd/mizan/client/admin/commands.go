package admin

import (
	"slices"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"mizan/cmd/mizan/client"
	"mizan/ledger/directory"
	"mizan/ledger/storefront"
)

// Commands are the subcommands of `mizan admin` and their common flags, as kong (the command-line parser) reads them. The
// caller must bind a *client.Streams in kong. If the output can't be written, a command returns the output stream's error. All
// other errors are *client.Fault.
type Commands struct {
	client.AdminFlags
	JSON           bool    `name:"json" help:"Print the server's JSON, one object a line, instead of a table."`
	IdempotencyKey *string `name:"idempotency-key" placeholder:"KEY" help:"Idempotency key of a write that is being repeated; if absent, each write gets a new key."`

	Organizations organizationCommands `cmd:"" help:"Organizations; --organization does not apply."`
	Partners      partnerCommands      `cmd:"" help:"Merchants."`
	Terminals     terminalCommands     `cmd:"" help:"Terminals, the connections to providers to which transactions are routed."`
	Keys          keyCommands          `cmd:"" help:"API keys of partners."`
	Limits        limitCommands        `cmd:"" help:"Limits on a partner's transactions."`
	Blocklist     blocklistCommands    `cmd:"" help:"Cards, people and places that are refused."`
	Users         userCommands         `cmd:"" help:"People with sessions."`
	Settlements   settlementCommands   `cmd:"" help:"Money that came from a provider, or moved to or from a merchant's bank."`
	Rates         rateCommands         `cmd:"" help:"Exchange rates."`
	Links         linkCommands         `cmd:"" help:"Payment links of a partner."`
	Products      productCommands      `cmd:"" help:"Products that a partner sells by link."`
	Images        imageCommands        `cmd:"" help:"Images of links and products."`
	Transactions  transactionCommands  `cmd:"" help:"Transactions of a partner, and how they were routed."`
	Deliveries    deliveryCommands     `cmd:"" help:"Deliveries of notifications, and replays."`
}

// The commands for each type of record.
type (
	organizationCommands struct {
		List   listRecords             `cmd:"" help:"List organizations, the newest first."`
		Show   showRecord[client.ID]   `cmd:"" help:"Show one."`
		Create createRecord            `cmd:"" help:"Create one."`
		Update updateRecord[client.ID] `cmd:"" help:"Change the fields that flags name, and no others."`
	}

	partnerCommands struct {
		List   listRecords                        `cmd:"" help:"List partners, the newest first."`
		Show   showRecord[client.PartnerNumber]   `cmd:"" help:"Show one."`
		Create createRecord                       `cmd:"" help:"Create one."`
		Update updateRecord[client.PartnerNumber] `cmd:"" help:"Change the fields that flags name, and no others."`
		Delete deleteRecord[client.PartnerNumber] `cmd:"" help:"Switch one off; its history stays."`
	}

	terminalCommands struct {
		List   listOfPartner           `cmd:"" help:"List terminals, the newest first."`
		Show   showRecord[client.ID]   `cmd:"" help:"Show one."`
		Create createRecord            `cmd:"" help:"Create one."`
		Update updateRecord[client.ID] `cmd:"" help:"Change the fields that flags name, and no others."`
		Delete deleteRecord[client.ID] `cmd:"" help:"Switch one off; its history stays."`
	}

	userCommands struct {
		List   listOfPartner           `cmd:"" help:"List users, the newest first."`
		Show   showRecord[client.ID]   `cmd:"" help:"Show one."`
		Create createRecord            `cmd:"" help:"Create one."`
		Update updateRecord[client.ID] `cmd:"" help:"Change the fields that flags name, and no others."`
		Delete deleteRecord[client.ID] `cmd:"" help:"Switch one off and end its sessions."`
	}

	limitCommands struct {
		List   listOfPartner           `cmd:"" help:"List limits, the newest first."`
		Show   showRecord[client.ID]   `cmd:"" help:"Show one."`
		Usage  limitUsage              `cmd:"" help:"Show how much of a limit is used and reserved, and when it starts again."`
		Create createRecord            `cmd:"" help:"Create one."`
		Update updateRecord[client.ID] `cmd:"" help:"Change the fields that flags name, and no others."`
		Delete deleteRecord[client.ID] `cmd:"" help:"Switch one off."`
	}

	keyCommands struct {
		List   listOfPartner `cmd:"" help:"List API keys, the newest first, never with their values."`
		Create createRecord  `cmd:"" help:"Create one. Its value is printed only now."`
		Revoke revokeKey     `cmd:"" help:"Revoke one, at once and for good."`
	}
)

const (
	organizationsPath = "/organizations"
	partnersPath      = "/partners"
	usersPath         = "/users"
)

// New returns the commands. Their flags and table columns follow from the columns of each record type.
func New() (commands Commands) {
	organizations, partners := &commands.Organizations, &commands.Partners
	organizations.List.path, organizations.List.columns = organizationsPath, tableColumns(directory.Organizations)
	organizations.Show.path, organizations.Create.path, organizations.Update.path = organizationsPath, organizationsPath, organizationsPath
	organizations.Create.Fields, organizations.Update.Fields = flagsOf(directory.Organizations, false), flagsOf(directory.Organizations, true)

	partners.List.path, partners.List.columns = partnersPath, tableColumns(directory.Partners)
	partners.Show.path, partners.Create.path, partners.Update.path, partners.Delete.path = partnersPath, partnersPath, partnersPath, partnersPath
	partners.Create.Fields, partners.Update.Fields = flagsOf(directory.Partners, false), flagsOf(directory.Partners, true)

	terminals, users, limits := &commands.Terminals, &commands.Users, &commands.Limits
	describe(directory.Terminals, paths{terminalsPath, terminalPath}, &terminals.List, &terminals.Show, &terminals.Create, &terminals.Update, &terminals.Delete)
	describe(directory.Users, paths{usersPath, usersPath}, &users.List, &users.Show, &users.Create, &users.Update, &users.Delete)
	describe(directory.Limits, paths{limitsPath, limitsPath}, &limits.List, &limits.Show, &limits.Create, &limits.Update, &limits.Delete)

	commands.Links.describe(storefront.Links, linksPath)
	commands.Products.describe(storefront.Products, productsPath)

	commands.Keys.List.path, commands.Keys.List.columns = keysPath, tableColumns(directory.APIKeys)
	commands.Keys.Create.path, commands.Keys.Create.Fields = keysPath, flagsOf(directory.APIKeys, false)
	commands.Rates.List.path, commands.Rates.List.columns = ratesPath, tableColumns(directory.Rates)
	return commands
}

// ProvideCommand creates the *client.Command that kong passes to a command's Run method.
func (c *Commands) ProvideCommand(k *kong.Context, s *client.Streams) (*client.Command, error) {
	selected := k.Selected()
	command := &client.Command{Name: selected.Parent.Name + " " + selected.Name, Streams: s, JSON: c.JSON}
	// kong replaces bytes that are not UTF-8, so the check needs the original arguments.
	if slices.ContainsFunc(k.Args, func(argument string) bool { return !utf8.ValidString(argument) }) {
		return nil, command.Misused("an argument is not UTF-8")
	}
	var err error
	if command.Key, err = client.NewWriteKey(c.IdempotencyKey); err != nil {
		return nil, command.Misused("%v", err)
	}
	if command.Client, err = c.Open(); err != nil {
		return nil, command.Misused("%v", err)
	}
	return command, nil
}
