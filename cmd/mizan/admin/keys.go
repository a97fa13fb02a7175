package admin

import "net/http"

// keyCommands are `mizan admin keys …`.
type keyCommands struct {
	List   listKeys  `cmd:"" help:"List API keys, the newest first, never with their values."`
	Create createKey `cmd:"" help:"Make one. Its value is printed, this once."`
	Revoke revokeKey `cmd:"" help:"Take one no more, at once and for ever."`
}

const keysPath = "/api_keys"

type listKeys struct {
	Partner *number `name:"partner" placeholder:"N" help:"Only this partner's."`
	paging
}

// Run is called by kong.
func (c *listKeys) Run(e *errand) error {
	return e.list(listing{path: keysPath, query: ofPartner(c.Partner), columns: []string{
		"id", "prefix", "name", "partner_id", "created_at", "last_used_at", "expires_at", "revoked_at",
	}}, c.paging)
}

type createKey struct{ keyFields }

type keyFields struct {
	Partner number  `name:"partner" required:"" placeholder:"N" json:"partner_id" help:"Whose it is."`
	Name    *string `name:"name" placeholder:"TEXT" json:"name,omitzero" help:"What it is for."`
	Expires *string `name:"expires" placeholder:"TIME" json:"expires_at,omitzero" help:"When it ends (RFC 3339); never if absent."`
}

// Run is called by kong.
func (c *createKey) Run(e *errand) error { return e.write(http.MethodPost, keysPath, c.keyFields) }

type revokeKey struct {
	ID id `arg:"" help:"The key's id."`
}

// Run is called by kong.
func (c *revokeKey) Run(e *errand) error {
	return e.write(http.MethodDelete, keysPath+"/"+string(c.ID), nil)
}
