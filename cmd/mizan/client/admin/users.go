package admin

import (
	"net/http"

	"mizan/cmd/mizan/client"
)

// userCommands are `mizan admin users …`.
type userCommands struct {
	List   listUsers  `cmd:"" help:"List users, the newest first."`
	Show   showUser   `cmd:"" help:"Show one."`
	Create createUser `cmd:"" help:"Make one."`
	Update updateUser `cmd:"" help:"Change what is given, and nothing else."`
	Delete deleteUser `cmd:"" help:"Switch one off and end its sessions."`
}

const usersPath = "/users"

type listUsers struct {
	Partner *client.PartnerNumber `name:"partner" placeholder:"N" help:"Only those who act as this partner."`
	client.Paging
}

// Run is called by kong.
func (c *listUsers) Run(e *client.Command) error {
	return e.List(client.Listing{Path: usersPath, Query: ofPartner(c.Partner), Columns: []string{
		"id", "login", "name", "email", "roles", "partner_id", "active", "created_at",
	}}, c.Paging)
}

type showUser struct {
	ID client.ID `arg:"" help:"The user."`
}

// Run is called by kong.
func (c *showUser) Run(e *client.Command) error { return e.Show(usersPath + "/" + string(c.ID)) }

type userFields struct {
	Pass    client.Secret     `name:"pass-file" placeholder:"FILE" json:"pass,omitzero" help:"Password, in a file; - is stdin."`
	Name    *string           `name:"name" placeholder:"TEXT" json:"name,omitzero" help:"What people call the user."`
	Email   *string           `name:"email" placeholder:"ADDRESS" json:"email,omitzero" help:"Where to write to."`
	Roles   client.StringList `name:"role" sep:"none" placeholder:"ROLE" json:"roles,omitzero" help:"admin, client, auditor or partner; may be repeated."`
	Partner *int64            `name:"partner" placeholder:"N" json:"partner_id,omitzero" help:"The partner that a user of role partner acts as; 0: none any more."`
	Active  *bool             `name:"active" negatable:"" json:"active,omitzero" help:"Whether the user may log in."`
}

type createUser struct{ userCreation }

type userCreation struct {
	Login *string `name:"login" placeholder:"LOGIN" json:"login,omitzero" help:"Unique in the organization, among partners too."`
	userFields
}

// Run is called by kong.
func (c *createUser) Run(e *client.Command) error {
	return e.Write(http.MethodPost, usersPath, c.userCreation)
}

type updateUser struct {
	ID client.ID `arg:"" help:"The user."`
	userFields
}

// Run is called by kong.
func (c *updateUser) Run(e *client.Command) error {
	return e.Write(http.MethodPatch, usersPath+"/"+string(c.ID), c.userFields)
}

type deleteUser struct {
	ID client.ID `arg:"" help:"The user."`
}

// Run is called by kong.
func (c *deleteUser) Run(e *client.Command) error {
	return e.Write(http.MethodDelete, usersPath+"/"+string(c.ID), nil)
}
