package storefront

import (
	"context"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	storefrontactor "mizan/actors/storefront"
	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/internal/fair"
	"mizan/internal/picture"
	"mizan/ledger"
	"mizan/ledger/schema"
	"mizan/ledger/storefront"
)

// Records creates, reads, changes and lists links, products and images; *storefront.Service of package actors/storefront
// implements it. Its methods return a *ledger.Refusal, directory.Refusals if several fields are wrong, or an error of the
// store. If the argument partner is greater than zero, and the record belongs to another partner, the error is NotFound.
type Records interface {
	CreateLink(ctx context.Context, org ledger.ID, draft storefront.Link) (*storefront.Link, error)
	PatchLink(ctx context.Context, org ledger.ID, partner int64, id ledger.ID, change schema.Change[storefront.Link]) (*storefront.Link, error)
	Link(org ledger.ID, partner int64, id ledger.ID) (*storefront.Link, error)
	Links(org ledger.ID, partner int64, p storefrontactor.Page) (rows []*storefront.Link, next ledger.Micros, err error)

	CreateProduct(ctx context.Context, org ledger.ID, draft storefront.Product) (*storefront.Product, error)
	PatchProduct(ctx context.Context, org ledger.ID, partner int64, id ledger.ID, change schema.Change[storefront.Product]) (*storefront.Product, error)
	Product(org ledger.ID, partner int64, id ledger.ID) (*storefront.Product, error)
	Products(org ledger.ID, partner int64, p storefrontactor.Page) (rows []*storefront.Product, next ledger.Micros, err error)

	CreateImage(ctx context.Context, org ledger.ID, draft storefront.Image) (*storefront.Image, error)
}

// Directory finds organizations, and the replies that are cached for idempotency keys; *directory.Service of package
// actors/directory implements it.
type Directory interface {
	web.Organizations
	FindCachedReply(actors.Key) (answer directoryactor.CachedReply, found bool, err error)
}

// Config contains the services that the handlers call.
type Config struct {
	Records     Records
	Directory   Directory
	Fingerprint func(request []byte) string // returns a keyed hash of a request
}

// Handlers serves the routes of payment links, products and images.
type Handlers struct {
	cfg         Config
	keys        web.IdempotencyKeys
	pictures    *picture.Normalizer
	uploadSlots *fair.Semaphore[ledger.ID] // places for concurrent uploads, by organization
}

// New returns the handlers.
func New(cfg Config) *Handlers {
	return &Handlers{
		cfg: cfg, keys: web.IdempotencyKeys{Fingerprint: cfg.Fingerprint},
		pictures:    newNormalizer(),
		uploadSlots: fair.NewSemaphore[ledger.ID](maxUploads, maxUploadsOfOrg),
	}
}

const (
	v1       = "/api/v1"
	links    = v1 + "/links"
	products = v1 + "/products"
)

// Routes lists the routes.
func (h *Handlers) Routes() []web.Route {
	if h.cfg.Records == nil {
		return nil
	}
	const get, post, patch, del = fiber.MethodGet, fiber.MethodPost, fiber.MethodPatch, fiber.MethodDelete
	access := web.Access{Callers: web.PartnerKey | web.AdminToken}
	reader := web.Access{Callers: access.Callers | web.PartnerSession}
	return []web.Route{
		{Method: post, Path: links, Access: access, Console: web.ByAdminOrPartner, JSON: true, Command: true, Handle: h.createLink},
		{Method: get, Path: links, Access: reader, Console: web.ByAdmin(), Handle: h.listLinks},
		{Method: get, Path: links + "/:id", Access: reader, Console: web.ByAdmin(), Handle: h.readLink},
		{Method: patch, Path: links + "/:id", Access: access, Console: web.ByAdminOrPartner, JSON: true, Command: true, Handle: h.patchLink},
		{Method: del, Path: links + "/:id", Access: access, Console: web.ByAdminOrPartner, Command: true, Handle: h.deleteLink},
		{Method: post, Path: products, Access: access, Console: web.ByAdminOrPartner, JSON: true, Command: true, Handle: h.createProduct},
		{Method: get, Path: products, Access: reader, Console: web.ByAdmin(), Handle: h.listProducts},
		{Method: get, Path: products + "/:id", Access: reader, Console: web.ByAdmin(), Handle: h.readProduct},
		{Method: patch, Path: products + "/:id", Access: access, Console: web.ByAdminOrPartner, JSON: true, Command: true, Handle: h.patchProduct},
		{Method: del, Path: products + "/:id", Access: access, Console: web.ByAdminOrPartner, Command: true, Handle: h.deleteProduct},
		{Method: post, Path: v1 + "/images", Access: access, Console: web.ByAdminOrPartner, Command: true, MaxBody: maxBody, Handle: h.createImage},
	}
}

// caller is who sent a request: a partner, or the administration.
type caller struct {
	org     ledger.ID
	partner int64 // 0: the administration
}

func (h *Handlers) caller(req *web.Request) (caller, error) {
	if req.Principal.Partner != nil {
		return caller{req.Principal.Org, req.Principal.Partner.Number}, nil
	}
	org, err := req.Organization(h.cfg.Directory)
	return caller{org: org}, err
}

// callerAndID returns the caller, and the id in the path.
func (h *Handlers) callerAndID(req *web.Request) (c caller, id ledger.ID, err error) {
	if c, err = h.caller(req); err != nil {
		return c, id, err
	}
	id, err = web.ParseID(req.Parameter("id"))
	return c, id, err
}

// cached returns what is needed to look up the cached reply for a request's idempotency key.
func (h *Handlers) cached() records.CachedReplies {
	return records.CachedReplies{Reply: h.cfg.Directory.FindCachedReply, Key: func(req *web.Request) (actors.Key, error) {
		if req.Principal.Partner != nil {
			return h.keys.Partner(req)
		}
		return h.keys.Admin(req)
	}}
}

// family contains the functions that differ between links and products.
type family[R any] struct {
	columns *schema.Type[R]
	create  func(ctx context.Context, org ledger.ID, draft R) (*R, error)
	patch   func(ctx context.Context, org ledger.ID, partner int64, id ledger.ID, change schema.Change[R]) (*R, error)
	read    func(org ledger.ID, partner int64, id ledger.ID) (*R, error)
	list    func(org ledger.ID, partner int64, p storefrontactor.Page) ([]*R, ledger.Micros, error)
	owner   func(*R) *int64
	active  func(*R) *bool
}

func (h *Handlers) linkFamily() *family[storefront.Link] {
	r := h.cfg.Records
	return &family[storefront.Link]{
		storefront.Links, r.CreateLink, r.PatchLink, r.Link, r.Links,
		func(l *storefront.Link) *int64 { return &l.Partner }, func(l *storefront.Link) *bool { return &l.Active },
	}
}

func (h *Handlers) productFamily() *family[storefront.Product] {
	r := h.cfg.Records
	return &family[storefront.Product]{
		storefront.Products, r.CreateProduct, r.PatchProduct, r.Product, r.Products,
		func(p *storefront.Product) *int64 { return &p.Partner }, func(p *storefront.Product) *bool { return &p.Active },
	}
}

func (h *Handlers) createLink(req *web.Request) error    { return create(h, req, h.linkFamily()) }
func (h *Handlers) listLinks(req *web.Request) error     { return list(h, req, h.linkFamily()) }
func (h *Handlers) readLink(req *web.Request) error      { return read(h, req, h.linkFamily()) }
func (h *Handlers) patchLink(req *web.Request) error     { return patch(h, req, h.linkFamily()) }
func (h *Handlers) createProduct(req *web.Request) error { return create(h, req, h.productFamily()) }
func (h *Handlers) listProducts(req *web.Request) error  { return list(h, req, h.productFamily()) }
func (h *Handlers) readProduct(req *web.Request) error   { return read(h, req, h.productFamily()) }
func (h *Handlers) patchProduct(req *web.Request) error  { return patch(h, req, h.productFamily()) }

// deleteLink is DELETE /links/{id}: afterwards the link's address accepts no payments. A second DELETE changes nothing.
func (h *Handlers) deleteLink(req *web.Request) error {
	return remove(h, req, h.linkFamily(), func(l *storefront.Link, _ *schema.Faults) { l.Active = false })
}

// deleteProduct is DELETE /products/{id}: afterwards the product's address accepts no payments, and links no longer
// contain the product.
func (h *Handlers) deleteProduct(req *web.Request) error {
	return remove(h, req, h.productFamily(), func(p *storefront.Product, _ *schema.Faults) { p.Delete() })
}

// create serves a POST, which creates a record.
func create[R any](h *Handlers, req *web.Request, family *family[R]) error {
	reply := records.Reply[*R]{Status: fiber.StatusCreated, Append: records.FieldsOf(family.columns)}
	return reply.Run(h.cached(), req, func(ctx context.Context) (*R, error) {
		c, err := h.caller(req)
		if err != nil {
			return nil, err
		}
		f, err := records.ParseColumns(req, family.columns)
		if err != nil {
			return nil, err
		}
		draft := f.Draft()
		owner := family.owner(&draft)
		switch {
		case c.partner == 0:
		case *owner != 0 && *owner != c.partner:
			f.Problems.Add("partner_id", "must be the partner of the key")
		default:
			*owner = c.partner
		}
		return records.Decide(ctx, f.Form, func(ctx context.Context) (*R, error) { return family.create(ctx, c.org, draft) })
	})
}

// read serves a GET of one record.
func read[R any](h *Handlers, req *web.Request, family *family[R]) error {
	c, id, err := h.callerAndID(req)
	if err != nil {
		return err
	}
	r, err := family.read(c.org, c.partner, id)
	if err != nil {
		return err
	}
	web.WriteOne(req, fiber.StatusOK, false, r, records.FieldsOf(family.columns))
	return nil
}

// patch serves a PATCH, which changes fields of a record.
func patch[R any](h *Handlers, req *web.Request, family *family[R]) error {
	reply := records.Reply[*R]{Status: fiber.StatusOK, Append: records.FieldsOf(family.columns)}
	return reply.Run(h.cached(), req, func(ctx context.Context) (*R, error) {
		c, id, err := h.callerAndID(req)
		if err != nil {
			return nil, err
		}
		if _, err := family.read(c.org, c.partner, id); err != nil {
			return nil, err
		}
		f, err := records.ParseColumns(req, family.columns)
		if err != nil {
			return nil, err
		}
		return records.Decide(ctx, f.Form, func(ctx context.Context) (*R, error) {
			return family.patch(ctx, c.org, c.partner, id, f.Change())
		})
	})
}

// remove serves a DELETE of a record. The response has no body.
func remove[R any](h *Handlers, req *web.Request, family *family[R], change schema.Change[R]) error {
	return records.Reply[*R]{Status: fiber.StatusNoContent}.Run(h.cached(), req, func(ctx context.Context) (*R, error) {
		c, id, err := h.callerAndID(req)
		if err != nil {
			return nil, err
		}
		return family.patch(ctx, c.org, c.partner, id, change)
	})
}

// Bounds of a page of a list.
const (
	pageDefault = 20
	pageMax     = 100
)

// list serves a GET of all records of a partner, newest first. The administration must name the partner in partner_id.
func list[R any](h *Handlers, req *web.Request, family *family[R]) error {
	c, err := h.caller(req)
	if err != nil {
		return err
	}
	q := web.QueryOf(req.RequestCtx, "env", "active", "limit", "cursor", "partner_id")
	partner, page := readPartner(q, c), readPage(q)
	if err := q.Problems.Err(); err != nil {
		return err
	}
	rows, next, err := family.list(c.org, partner, page)
	if err != nil {
		return err
	}
	l := web.NewList()
	appendRow := records.FieldsOf(family.columns)
	for _, r := range rows {
		l.BeginRow()
		appendRow(&l.Encoder, r)
		l.Close('}')
	}
	cursor := ""
	if next != 0 {
		cursor = next.Time().Format(schema.InstantLayout)
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish("created", cursor))
	return nil
}

// readPartner returns the number of the partner whose records are listed.
func readPartner(q *web.Query, c caller) int64 {
	text, isSent := q.Sent("partner_id")
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case c.partner != 0 && isSent && n != c.partner:
		q.Problems.Add("partner_id", "partner_id must be the partner of the key")
	case c.partner != 0:
		return c.partner
	case err != nil || n < 1:
		q.Problems.Add("partner_id", "partner_id is required: a positive integer")
	}
	return n
}

func readPage(q *web.Query) storefrontactor.Page {
	page := storefrontactor.Page{Env: q.Env(), Limit: pageDefault}
	if text, isSent := q.Sent("active"); isSent {
		isActive := text == "true"
		page.Active = &isActive
		if !isActive && text != "false" {
			q.Problems.Add("active", "active must be true or false")
		}
	}
	if text, isSent := q.Sent("limit"); isSent {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > pageMax || strconv.Itoa(n) != text {
			q.Problems.Add("limit", "limit must be from 1 to "+strconv.Itoa(pageMax))
		}
		page.Limit = n
	}
	if text, isSent := q.Sent("cursor"); isSent {
		at, isInstant := web.ParseInstant(text)
		if !isInstant || at.Before(time.UnixMicro(1)) {
			q.RefuseCursor()
		}
		page.Before = max(1, web.RoundUpToMicros(at)) // not 0, which would select the first page
	}
	return page
}
