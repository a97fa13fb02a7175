package admin

import (
	"net/http"
	"net/url"

	"mizan/cmd/mizan/client"
)

// limitCommands are `mizan admin limits …`.
type limitCommands struct {
	List   listLimits  `cmd:"" help:"List limits, the newest first."`
	Show   showLimit   `cmd:"" help:"Show one."`
	Usage  limitUsage  `cmd:"" help:"Show how much of one is used and reserved, and when it begins anew."`
	Create createLimit `cmd:"" help:"Make one."`
	Update updateLimit `cmd:"" help:"Change what is given, and nothing else."`
	Delete deleteLimit `cmd:"" help:"Switch one off."`
}

const limitsPath = "/limits"

type listLimits struct {
	Partner *client.PartnerNumber `name:"partner" placeholder:"N" help:"Only this partner's."`
	client.Paging
}

// Run is called by kong.
func (c *listLimits) Run(e *client.Command) error {
	return e.List(client.Listing{Path: limitsPath, Query: ofPartner(c.Partner), Columns: []string{
		"id", "partner_id", "terminal_id", "kind", "scope", "type", "currency", "network", "env",
		"max_amount", "max_count", "window", "active",
	}}, c.Paging)
}

type showLimit struct {
	ID client.ID `arg:"" help:"The limit."`
}

// Run is called by kong.
func (c *showLimit) Run(e *client.Command) error { return e.Show(limitsPath + "/" + string(c.ID)) }

type limitUsage struct {
	ID          client.ID  `arg:"" help:"The limit."`
	Transaction *client.ID `name:"transaction" placeholder:"ID" help:"Of scope card: the card of this transaction."`
	Card        *string    `name:"card-fingerprint" placeholder:"HEX" help:"Of scope card: the card with this fingerprint."`
	Email       *string    `name:"email" placeholder:"ADDRESS" help:"Of scope email: this one."`
	IP          *string    `name:"ip" placeholder:"ADDRESS" help:"Of scope ip: this one."`
}

// Run is called by kong.
func (c *limitUsage) Run(e *client.Command) error {
	query := url.Values{}
	for name, said := range map[string]*string{"transaction_id": (*string)(c.Transaction), "card": c.Card, "email": c.Email, "ip": c.IP} {
		if said != nil {
			query.Set(name, *said)
		}
	}
	return e.ShowWith(limitsPath+"/"+string(c.ID)+"/usage", query)
}

type limitFields struct {
	MaxAmount *string `name:"max-amount" placeholder:"AMOUNT" json:"max_amount,omitzero" help:"In minor units; not for velocity."`
	MaxCount  *int64  `name:"max-count" placeholder:"N" json:"max_count,omitzero" help:"Attempts in a window; for velocity."`
	Active    *bool   `name:"active" negatable:"" json:"active,omitzero" help:"Whether it holds."`
}

type createLimit struct{ limitCreation }

type limitCreation struct {
	Partner  client.PartnerNumber `name:"partner" required:"" placeholder:"N" json:"partner_id" help:"Whose transactions it bounds."`
	Terminal client.ID            `name:"terminal" placeholder:"ID" json:"terminal_id,omitzero" help:"Only those of this terminal."`
	Kind     *string              `name:"kind" placeholder:"KIND" json:"kind,omitzero" help:"per_transaction, daily_volume, monthly_volume or velocity."`
	Scope    *string              `name:"scope" placeholder:"SCOPE" json:"scope,omitzero" help:"What is counted together: partner, card, email or ip."`
	Type     *string              `name:"type" placeholder:"TYPE" json:"type,omitzero" help:"Only payment or only payout."`
	Currency *string              `name:"currency" placeholder:"CODE" json:"currency,omitzero" help:"The currency."`
	Network  *string              `name:"network" placeholder:"NETWORK" json:"network,omitzero" help:"Its network."`
	Env      *string              `name:"env" placeholder:"ENV" json:"env,omitzero" help:"prod or test."`
	Window   *string              `name:"window" placeholder:"WINDOW" json:"window,omitzero" help:"minute or hour; for velocity."`
	limitFields
}

// Run is called by kong.
func (c *createLimit) Run(e *client.Command) error {
	return e.Write(http.MethodPost, limitsPath, c.limitCreation)
}

type updateLimit struct {
	ID client.ID `arg:"" help:"The limit."`
	limitFields
}

// Run is called by kong.
func (c *updateLimit) Run(e *client.Command) error {
	return e.Write(http.MethodPatch, limitsPath+"/"+string(c.ID), c.limitFields)
}

type deleteLimit struct {
	ID client.ID `arg:"" help:"The limit."`
}

// Run is called by kong.
func (c *deleteLimit) Run(e *client.Command) error {
	return e.Write(http.MethodDelete, limitsPath+"/"+string(c.ID), nil)
}
