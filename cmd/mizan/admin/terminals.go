package admin

import (
	"net/http"
	"net/url"
	"strconv"
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
	Partner *number `name:"partner" placeholder:"N" help:"Only this partner's."`
	paging
}

// Run is called by kong.
func (c *listTerminals) Run(e *errand) error {
	return e.list(listing{path: terminalsPath, query: ofPartner(c.Partner), columns: []string{
		"id", "name", "partner_id", "provider", "type", "env", "is_active", "created_at",
	}}, c.paging)
}

// ofPartner is the query that many lists take.
func ofPartner(n *number) url.Values {
	query := url.Values{}
	if n != nil {
		query.Set("partner_id", strconv.FormatInt(int64(*n), 10))
	}
	return query
}

type showTerminal struct {
	ID id `arg:"" help:"The terminal."`
}

// Run is called by kong.
func (c *showTerminal) Run(e *errand) error { return e.read(terminalPath + "/" + string(c.ID)) }

type terminalFields struct {
	Name            *string  `name:"name" placeholder:"TEXT" json:"name,omitzero" help:"What people call it."`
	Active          *bool    `name:"active" negatable:"" json:"is_active,omitzero" help:"Whether transactions are routed to it."`
	ProviderParams  document `name:"provider-params" placeholder:"JSON|@FILE" json:"provider_params,omitzero" help:"Its settings; with credentials in them: a file, @- is stdin."`
	MerchantParams  document `name:"merchant-params" placeholder:"JSON|@FILE" json:"merchant_params,omitzero" help:"Where and how its merchant is notified; with a secret in it: a file, @- is stdin."`
	MerchantAdapter *string  `name:"merchant-adapter" placeholder:"NAME" json:"merchant_adapter,omitzero" help:"How the merchant is notified."`
}

type createTerminal struct {
	terminalCreation
}

type terminalCreation struct {
	Partner  number  `name:"partner" required:"" placeholder:"N" json:"partner_id" help:"Whose it is."`
	Provider *string `name:"provider" placeholder:"NAME" json:"provider,omitzero" help:"Who moves the money."`
	Type     *string `name:"type" placeholder:"TYPE" json:"type,omitzero" help:"payment, payout, or merchant (it only notifies)."`
	Env      *string `name:"env" placeholder:"ENV" json:"env,omitzero" help:"prod or test."`
	terminalFields
}

// Run is called by kong.
func (c *createTerminal) Run(e *errand) error {
	return e.write(http.MethodPost, terminalPath, c.terminalCreation)
}

type updateTerminal struct {
	ID id `arg:"" help:"The terminal."`
	terminalFields
}

// Run is called by kong.
func (c *updateTerminal) Run(e *errand) error {
	return e.write(http.MethodPatch, terminalPath+"/"+string(c.ID), c.terminalFields)
}

type deleteTerminal struct {
	ID id `arg:"" help:"The terminal."`
}

// Run is called by kong.
func (c *deleteTerminal) Run(e *errand) error {
	return e.write(http.MethodDelete, terminalPath+"/"+string(c.ID), nil)
}
