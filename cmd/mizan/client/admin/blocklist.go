package admin

import (
	"errors"
	"net/http"
	"net/url"

	"mizan/cmd/mizan/client"
)

// blocklistCommands are the subcommands of `mizan admin blocklist`.
type blocklistCommands struct {
	List   listBlocks  `cmd:"" help:"List the entries, the newest first."`
	Show   showBlock   `cmd:"" help:"Show one entry."`
	Create createBlock `cmd:"" help:"Add an entry: a value that is refused from now on."`
	Delete deleteBlock `cmd:"" help:"Delete an entry: its value is no longer refused."`
}

const blocklistPath = "/blocklist"

type listBlocks struct {
	Kind *string `name:"kind" placeholder:"KIND" help:"Only this kind."`
	client.Paging
}

// Run lists entries of the block list.
func (c *listBlocks) Run(e *client.Command) error {
	query := url.Values{}
	if c.Kind != nil {
		query.Set("kind", *c.Kind)
	}
	return e.List(client.Listing{Path: blocklistPath, Query: query, Columns: []string{"id", "kind", "value", "active", "updated_at"}}, c.Paging)
}

type showBlock struct {
	ID client.ID `arg:"" help:"The entry."`
}

// Run shows one entry.
func (c *showBlock) Run(e *client.Command) error { return e.Show(blocklistPath + "/" + string(c.ID)) }

type createBlock struct {
	Kind      string        `arg:"" help:"bin, card, email, phone, ip or country."`
	Value     string        `arg:"" optional:"" help:"What to refuse; a card's number comes from a file."`
	ValueFile client.Secret `name:"value-file" placeholder:"FILE" help:"What to refuse, in a file; - is stdin."`
}

// Validate checks that the value is given once, and that a card's number is not given on the command line.
func (c *createBlock) Validate() error {
	switch {
	case (c.Value == "") == (c.ValueFile.Text == ""):
		return errors.New("give either a value or --value-file")
	case c.Kind == "card" && c.Value != "":
		return errors.New("a card's number is not taken from the command line, where everybody on the machine can read it: give --value-file")
	}
	return nil
}

// Run adds an entry.
func (c *createBlock) Run(e *client.Command) error {
	value := c.Value + c.ValueFile.Text // Validate has checked that exactly one of the two is set
	return e.Write(http.MethodPost, blocklistPath, map[string]string{"kind": c.Kind, "value": value})
}

type deleteBlock struct {
	ID client.ID `arg:"" help:"The entry."`
}

// Run deletes an entry.
func (c *deleteBlock) Run(e *client.Command) error {
	return e.Write(http.MethodDelete, blocklistPath+"/"+string(c.ID), nil)
}
