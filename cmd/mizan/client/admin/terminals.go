package admin

import (
	"net/http"
	"net/url"
	"strconv"

	"mizan/cmd/mizan/client"
)

// terminalCommands are `mizan admin terminals …`.
type terminalCommands struct {
	List   listTerminals  `cmd:"" help:"List terminals, the newest first."`
	Show   showTerminal   `cmd:"" help:"Show one."`
	Create createTerminal `cmd:"" help:"Make one."`
	Update updateTerminal `cmd:"" help:"Change what is given, and nothing else."`
	Delete deleteTerminal `cmd:"" help:"Switch one off; its history stays."`
}

// The collection and one of it have different names.
const (
	terminalsPath = "/terminals"
	terminalPath  = "/terminal"
)

type listTerminals struct {
	Partner *client.PartnerNumber `name:"partner" placeholder:"N" help:"Only this partner's."`
	client.Paging
}

// Run is called by kong.
func (c *listTerminals) Run(e *client.Command) error {
	return e.List(client.Listing{Path: terminalsPath, Query: ofPartner(c.Partner), Columns: []string{
		"id", "name", "partner_id", "provider", "type", "env", "is_active", "created_at",
	}}, c.Paging)
}

// ofPartner is the query that many lists take.
func ofPartner(n *client.PartnerNumber) url.Values {
	query := url.Values{}
	if n != nil {
		query.Set("partner_id", strconv.FormatInt(int64(*n), 10))
	}
	return query
}

type showTerminal struct {
	ID client.ID `arg:"" help:"The terminal."`
}

// Run is called by kong.
func (c *showTerminal) Run(e *client.Command) error { return e.Show(terminalPath + "/" + string(c.ID)) }

type terminalFields struct {
	Name            *string         `name:"name" placeholder:"TEXT" json:"name,omitzero" help:"What people call it."`
	Active          *bool           `name:"active" negatable:"" json:"is_active,omitzero" help:"Whether transactions are routed to it."`
	ProviderParams  client.Document `name:"provider-params" placeholder:"JSON|@FILE" json:"provider_params,omitzero" help:"Its settings; with credentials in them: a file, @- is stdin."`
	MerchantParams  client.Document `name:"merchant-params" placeholder:"JSON|@FILE" json:"merchant_params,omitzero" help:"Where and how its merchant is notified; with a secret in it: a file, @- is stdin."`
	MerchantAdapter *string         `name:"merchant-adapter" placeholder:"NAME" json:"merchant_adapter,omitzero" help:"How the merchant is notified."`
}

type createTerminal struct {
	terminalCreation
}

type terminalCreation struct {
	Partner  client.PartnerNumber `name:"partner" required:"" placeholder:"N" json:"partner_id" help:"Whose it is."`
	Provider *string              `name:"provider" placeholder:"NAME" json:"provider,omitzero" help:"Who moves the money."`
	Type     *string              `name:"type" placeholder:"TYPE" json:"type,omitzero" help:"payment, payout, or merchant (it only notifies)."`
	Env      *string              `name:"env" placeholder:"ENV" json:"env,omitzero" help:"prod or test."`
	terminalFields
}

// Run is called by kong.
func (c *createTerminal) Run(e *client.Command) error {
	return e.Write(http.MethodPost, terminalPath, c.terminalCreation)
}

type updateTerminal struct {
	ID client.ID `arg:"" help:"The terminal."`
	terminalFields
}

// Run is called by kong.
func (c *updateTerminal) Run(e *client.Command) error {
	return e.Write(http.MethodPatch, terminalPath+"/"+string(c.ID), c.terminalFields)
}

type deleteTerminal struct {
	ID client.ID `arg:"" help:"The terminal."`
}

// Run is called by kong.
func (c *deleteTerminal) Run(e *client.Command) error {
	return e.Write(http.MethodDelete, terminalPath+"/"+string(c.ID), nil)
}
