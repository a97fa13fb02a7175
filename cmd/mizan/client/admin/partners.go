package admin

import (
	"net/http"
	"strconv"

	"mizan/cmd/mizan/client"
)

// partnerCommands are `mizan admin partners …`.
type partnerCommands struct {
	List   listPartners  `cmd:"" help:"List partners, the newest first."`
	Show   showPartner   `cmd:"" help:"Show one."`
	Create createPartner `cmd:"" help:"Make one."`
	Update updatePartner `cmd:"" help:"Change what is given, and nothing else."`
	Delete deletePartner `cmd:"" help:"Switch one off; its history stays."`
}

const partnersPath = "/partners"

func partnerPath(n client.PartnerNumber) string {
	return partnersPath + "/" + strconv.FormatInt(int64(n), 10)
}

type listPartners struct{ client.Paging }

// Run is called by kong.
func (c *listPartners) Run(e *client.Command) error {
	return e.List(client.Listing{Path: partnersPath, Columns: []string{
		"id", "name", "login", "active", "email", "source_addresses", "created_at",
	}}, c.Paging)
}

type showPartner struct {
	ID client.PartnerNumber `arg:"" help:"The partner."`
}

// Run is called by kong.
func (c *showPartner) Run(e *client.Command) error { return e.Show(partnerPath(c.ID)) }

type partnerFields struct {
	Pass      client.Secret     `name:"pass-file" placeholder:"FILE" json:"pass,omitzero" help:"Password, in a file; - is stdin."`
	Name      *string           `name:"name" placeholder:"TEXT" json:"name,omitzero" help:"What people call it."`
	Active    *bool             `name:"active" negatable:"" json:"active,omitzero" help:"Whether its keys are taken."`
	Email     *string           `name:"email" placeholder:"ADDRESS" json:"email,omitzero" help:"Where to write to."`
	Lang      *string           `name:"lang" placeholder:"TAG" json:"lang,omitzero" help:"Language of descriptions."`
	NotifyURL *client.URL       `name:"notify-url" placeholder:"URL" json:"notify_url,omitzero" help:"Where notifications go if the terminal names no place; null takes it away."`
	Secret    client.Secret     `name:"secret-file" placeholder:"FILE" json:"secret,omitzero" help:"Secret that signs them, in a file; - is stdin."`
	Sources   client.StringList `name:"source" sep:"none" placeholder:"CIDR" json:"source_addresses,omitzero" help:"Addresses that its keys may be used from; may be repeated; an empty one for all."`
	Overdraft client.Document   `name:"overdraft-limit" placeholder:"JSON|@FILE" json:"overdraft_limit,omitzero" help:"List of {currency, network, env, amount}."`
}

type createPartner struct {
	partnerCreation
}

type partnerCreation struct {
	Login *string `name:"login" placeholder:"LOGIN" json:"login,omitzero" help:"Unique in the organization."`
	partnerFields
}

// Run is called by kong.
func (c *createPartner) Run(e *client.Command) error {
	return e.Write(http.MethodPost, partnersPath, c.partnerCreation)
}

type updatePartner struct {
	ID client.PartnerNumber `arg:"" help:"The partner."`
	partnerFields
}

// Run is called by kong.
func (c *updatePartner) Run(e *client.Command) error {
	return e.Write(http.MethodPatch, partnerPath(c.ID), c.partnerFields)
}

type deletePartner struct {
	ID client.PartnerNumber `arg:"" help:"The partner."`
}

// Run is called by kong.
func (c *deletePartner) Run(e *client.Command) error {
	return e.Write(http.MethodDelete, partnerPath(c.ID), nil)
}
