package admin

import (
	"net/http"

	"mizan/cmd/mizan/client"
)

// keyCommands are `mizan admin keys …`.
type keyCommands struct {
	List   listKeys  `cmd:"" help:"List API keys, the newest first, never with their values."`
	Create createKey `cmd:"" help:"Make one. Its value is printed, this once."`
	Revoke revokeKey `cmd:"" help:"Take one no more, at once and for ever."`
}

const keysPath = "/api_keys"

type listKeys struct {
	Partner *client.PartnerNumber `name:"partner" placeholder:"N" help:"Only this partner's."`
	client.Paging
}

// Run is called by kong.
func (c *listKeys) Run(e *client.Command) error {
	return e.List(client.Listing{Path: keysPath, Query: ofPartner(c.Partner), Columns: []string{
		"id", "prefix", "name", "partner_id", "created_at", "last_used_at", "expires_at", "revoked_at",
	}}, c.Paging)
}

type createKey struct{ keyFields }

type keyFields struct {
	Partner client.PartnerNumber `name:"partner" required:"" placeholder:"N" json:"partner_id" help:"Whose it is."`
	Name    *string              `name:"name" placeholder:"TEXT" json:"name,omitzero" help:"What it is for."`
	Expires *string              `name:"expires" placeholder:"TIME" json:"expires_at,omitzero" help:"When it ends (RFC 3339); never if absent."`
}

// Run is called by kong.
func (c *createKey) Run(e *client.Command) error {
	return e.Write(http.MethodPost, keysPath, c.keyFields)
}

type revokeKey struct {
	ID client.ID `arg:"" help:"The key's id."`
}

// Run is called by kong.
func (c *revokeKey) Run(e *client.Command) error {
	return e.Write(http.MethodDelete, keysPath+"/"+string(c.ID), nil)
}
