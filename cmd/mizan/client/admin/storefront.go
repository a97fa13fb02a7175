package admin

import (
	"bytes"
	"mime/multipart"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"mizan/cmd/mizan/client"
	"mizan/ledger/schema"
)

const (
	linksPath    = "/links"
	productsPath = "/products"
	imagesPath   = "/images"
)

// The commands for payment links, products and images.
type (
	linkCommands struct {
		storefrontCommands
		Delete deleteRecord[client.ID] `cmd:"" help:"Switch one off: its address accepts no more payments."`
	}

	productCommands struct {
		storefrontCommands
		Delete deleteRecord[client.ID] `cmd:"" help:"Switch one off, and remove it from its links."`
	}

	storefrontCommands struct {
		List   listOffers              `cmd:"" help:"List the records of a partner, the newest first."`
		Show   showRecord[client.ID]   `cmd:"" help:"Show one."`
		Create createRecord            `cmd:"" help:"Create one."`
		Update updateRecord[client.ID] `cmd:"" help:"Change the fields that flags name, and no others."`
	}

	imageCommands struct {
		Upload uploadImage `cmd:"" help:"Upload a PNG or JPEG image of at most 5 MiB. Its address is printed."`
	}
)

func (c *linkCommands) describe(t schema.AnyType, path string) {
	c.storefrontCommands.describe(t, path)
	c.List.columns = []string{"id", "created", "env", "amount_type", "amount.default", "amount.currency", "payments.count", "payments.amount", "active", "name", "url"}
	c.Delete.path = path
}

func (c *productCommands) describe(t schema.AnyType, path string) {
	c.storefrontCommands.describe(t, path)
	c.List.columns = []string{"id", "created", "env", "price", "currency", "qty", "active", "header", "url"}
	c.Delete.path = path
}

func (c *storefrontCommands) describe(t schema.AnyType, path string) {
	c.List.path = path
	c.Show.path, c.Create.path, c.Update.path = path, path, path
	c.Create.Fields, c.Update.Fields = flagsOf(t, false), flagsOf(t, true)
}

// listOffers is a command that prints a partner's links or products.
type listOffers struct {
	Partner client.PartnerNumber `name:"partner" required:"" placeholder:"N" help:"The partner."`
	Env     *string              `name:"env" placeholder:"ENV" help:"prod or test; the server takes prod if absent."`
	Active  *bool                `name:"active" negatable:"" help:"Only those that accept payments, or with --no-active only those that do not."`
	client.Paging
	path    string
	columns []string
}

// Run lists the links or products.
func (c *listOffers) Run(e *client.Command) error {
	query := partnerQuery(&c.Partner)
	if query == nil {
		query = url.Values{}
	}
	if c.Env != nil {
		query.Set("env", *c.Env)
	}
	if c.Active != nil {
		query.Set("active", strconv.FormatBool(*c.Active))
	}
	return e.List(client.Listing{Path: c.path, Query: query, Columns: c.columns, HasEnv: true}, c.Paging)
}

type uploadImage struct {
	File string `arg:"" type:"existingfile" help:"The file."`
}

// Run uploads an image and prints its address.
func (c *uploadImage) Run(e *client.Command) error {
	content, err := os.ReadFile(c.File)
	if err != nil {
		return e.Misused("%v", err)
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("image", filepath.Base(c.File))
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return err
	}
	return e.Upload(imagesPath, form.FormDataContentType(), body.Bytes())
}
