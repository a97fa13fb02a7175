package admin

import (
	"net/http"

	"mizan/cmd/mizan/client"
)

// organizationCommands are `mizan admin organizations …`.
type organizationCommands struct {
	List   listOrganizations  `cmd:"" help:"List organizations, the newest first."`
	Show   showOrganization   `cmd:"" help:"Show one."`
	Create createOrganization `cmd:"" help:"Make one."`
	Update updateOrganization `cmd:"" help:"Change what is given, and nothing else."`
}

const organizationsPath = "/organizations"

type listOrganizations struct{ client.Paging }

// Run is called by kong.
func (c *listOrganizations) Run(e *client.Command) error {
	return e.List(client.Listing{Path: organizationsPath, Columns: []string{
		"id", "name", "type", "status", "modules", "allowed_regions", "created_at",
	}}, c.Paging)
}

type showOrganization struct {
	ID client.ID `arg:"" help:"The organization."`
}

// Run is called by kong.
func (c *showOrganization) Run(e *client.Command) error {
	return e.Show(organizationsPath + "/" + string(c.ID))
}

type organizationFields struct {
	Name    *string           `name:"name" placeholder:"TEXT" json:"name,omitzero" help:"What people call it."`
	Type    *string           `name:"type" placeholder:"TYPE" json:"type,omitzero" help:"bank or merchant."`
	Status  *string           `name:"status" placeholder:"STATUS" json:"status,omitzero" help:"provisioning, active, maintenance or archived."`
	Modules client.StringList `name:"module" sep:"none" placeholder:"NAME" json:"modules,omitzero" help:"A module that is on; may be repeated; an empty one for none."`
	Regions client.StringList `name:"region" sep:"none" placeholder:"CODE" json:"allowed_regions,omitzero" help:"A region that is allowed; may be repeated; an empty one for all."`
}

type createOrganization struct{ organizationFields }

// Run is called by kong.
func (c *createOrganization) Run(e *client.Command) error {
	return e.Write(http.MethodPost, organizationsPath, c.organizationFields)
}

type updateOrganization struct {
	ID client.ID `arg:"" help:"The organization."`
	organizationFields
}

// Run is called by kong.
func (c *updateOrganization) Run(e *client.Command) error {
	return e.Write(http.MethodPatch, organizationsPath+"/"+string(c.ID), c.organizationFields)
}
