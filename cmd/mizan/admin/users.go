package admin

import "net/http"

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
	Partner *number `name:"partner" placeholder:"N" help:"Only those who act as this partner."`
	paging
}

// Run is called by kong.
func (c *listUsers) Run(e *errand) error {
	return e.list(listing{path: usersPath, query: ofPartner(c.Partner), columns: []string{
		"id", "login", "name", "email", "roles", "partner_id", "active", "created_at",
	}}, c.paging)
}

type showUser struct {
	ID id `arg:"" help:"The user."`
}

// Run is called by kong.
func (c *showUser) Run(e *errand) error { return e.read(usersPath + "/" + string(c.ID)) }

type userFields struct {
	Pass    secret  `name:"pass-file" placeholder:"FILE" json:"pass,omitzero" help:"Password, in a file; - is stdin."`
	Name    *string `name:"name" placeholder:"TEXT" json:"name,omitzero" help:"What people call the user."`
	Email   *string `name:"email" placeholder:"ADDRESS" json:"email,omitzero" help:"Where to write to."`
	Roles   list    `name:"role" sep:"none" placeholder:"ROLE" json:"roles,omitzero" help:"admin, client, auditor or partner; may be repeated."`
	Partner *int64  `name:"partner" placeholder:"N" json:"partner_id,omitzero" help:"The partner that a user of role partner acts as; 0: none any more."`
	Active  *bool   `name:"active" negatable:"" json:"active,omitzero" help:"Whether the user may log in."`
}

type createUser struct{ userCreation }

type userCreation struct {
	Login *string `name:"login" placeholder:"LOGIN" json:"login,omitzero" help:"Unique in the organization, among partners too."`
	userFields
}

// Run is called by kong.
func (c *createUser) Run(e *errand) error { return e.write(http.MethodPost, usersPath, c.userCreation) }

type updateUser struct {
	ID id `arg:"" help:"The user."`
	userFields
}

// Run is called by kong.
func (c *updateUser) Run(e *errand) error {
	return e.write(http.MethodPatch, usersPath+"/"+string(c.ID), c.userFields)
}

type deleteUser struct {
	ID id `arg:"" help:"The user."`
}

// Run is called by kong.
func (c *deleteUser) Run(e *errand) error {
	return e.write(http.MethodDelete, usersPath+"/"+string(c.ID), nil)
}
