package admin

import (
	"errors"
	"net/http"
	"net/url"
)

// blocklistCommands are `mizan admin blocklist …`.
type blocklistCommands struct {
	List   listBlocks  `cmd:"" help:"List what is refused, the newest first."`
	Show   showBlock   `cmd:"" help:"Show one entry."`
	Create createBlock `cmd:"" help:"Refuse something from now on."`
	Delete deleteBlock `cmd:"" help:"Refuse it no more."`
}

const blocklistPath = "/blocklist"

type listBlocks struct {
	Kind *string `name:"kind" placeholder:"KIND" help:"Only this kind."`
	paging
}

// Run is called by kong.
func (c *listBlocks) Run(e *errand) error {
	query := url.Values{}
	if c.Kind != nil {
		query.Set("kind", *c.Kind)
	}
	return e.list(listing{path: blocklistPath, query: query, columns: []string{"id", "kind", "value", "active", "updated_at"}}, c.paging)
}

type showBlock struct {
	ID id `arg:"" help:"The entry."`
}

// Run is called by kong.
func (c *showBlock) Run(e *errand) error { return e.read(blocklistPath + "/" + string(c.ID)) }

type createBlock struct {
	Kind      string `arg:"" help:"bin, card, email, phone, ip or country."`
	Value     string `arg:"" optional:"" help:"What to refuse; a card's number comes from a file."`
	ValueFile secret `name:"value-file" placeholder:"FILE" help:"What to refuse, in a file; - is stdin."`
}

// Validate is called by kong.
func (c *createBlock) Validate() error {
	switch {
	case (c.Value == "") == (c.ValueFile.text == ""):
		return errors.New("give either a value or --value-file")
	case c.Kind == "card" && c.Value != "":
		return errors.New("a card's number is not taken from the command line, where everybody on the machine can read it: give --value-file")
	}
	return nil
}

// Run is called by kong.
func (c *createBlock) Run(e *errand) error {
	value := c.Value + c.ValueFile.text // one of them is empty
	return e.write(http.MethodPost, blocklistPath, map[string]string{"kind": c.Kind, "value": value})
}

type deleteBlock struct {
	ID id `arg:"" help:"The entry."`
}

// Run is called by kong.
func (c *deleteBlock) Run(e *errand) error {
	return e.write(http.MethodDelete, blocklistPath+"/"+string(c.ID), nil)
}
