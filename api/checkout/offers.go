package checkout

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	paymentactor "mizan/actors/payment"
	"mizan/api/checkout/page"
	"mizan/api/web"
	"mizan/api/web/locale"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/storefront"
)

// Storefront finds payment links, products and images by the ids in their public URLs; *storefront.Service of package
// actors/storefront implements it. If there is no such record, the result is nil.
type Storefront interface {
	PublicLink(id ledger.ID) (*storefront.Link, error)
	PublicProduct(id ledger.ID) (*storefront.Product, error)
	PublicImage(name string) (content []byte, format storefront.Format, err error)
}

// offer is the public page of a payment link or a product, and the payment that a visitor can begin there.
type offer struct {
	org      ledger.ID
	partner  *directory.Partner
	address  string // path of the page
	isActive bool
	page     page.Offer
	min, max money.Amount    // bounds of the amount that the payer enters; zero if none
	request  payment.Request // the payment that the page creates, without its amount
}

// smallestAmount is the smallest amount that can be paid, in minor units.
var smallestAmount = money.MustParse("1")

// errClosed means that a payment link or a product accepts no more payments.
var errClosed = errors.New("the offer is closed")

// findLink returns the offer of a payment link. If there is no such link, it returns nil.
func (h *Handlers) findLink(id ledger.ID) (*offer, error) {
	l, err := h.cfg.Storefront.PublicLink(id)
	if err != nil || l == nil {
		return nil, err
	}
	o := &offer{
		org: l.Org, address: storefront.LinkPath + l.ID.String(), isActive: l.Active, min: l.Amount.Min, max: l.Amount.Max,
		page: page.Offer{
			Order: page.Order{Sum: page.Sum{Amount: l.Amount.Default, Asset: l.Asset()}}, Title: l.Name, Description: l.Description,
			Image: imagePath(l.Image.Name, storefront.ForPage), IsOpen: l.AmountType == storefront.Dynamic,
		},
		request: payment.Request{LinkID: l.ID, Methods: l.PayConfig.Types(), MerchantMeta: l.Metadata, Description: l.Name, ReturnURL: l.ReturnURL, FailURL: l.FailURL},
	}
	o.page.Items, o.page.Min, o.page.Max = itemsOf(l), o.min, o.max
	o.partner, _ = h.cfg.Partners.Partner(l.Org, l.Partner)
	return o, nil
}

// findProduct returns the offer of a product. If there is no such product, it returns nil.
func (h *Handlers) findProduct(id ledger.ID) (*offer, error) {
	p, err := h.cfg.Storefront.PublicProduct(id)
	if err != nil || p == nil {
		return nil, err
	}
	total, isFixed := p.Total()
	o := &offer{
		org: p.Org, address: storefront.ProductPath + p.ID.String(), isActive: p.Active,
		page:    page.Offer{Order: page.Order{Sum: page.Sum{Amount: total, Asset: p.Asset()}}, IsOpen: !isFixed, Title: p.Header, Items: []page.Item{itemOf(p)}},
		request: payment.Request{Description: p.Header, MerchantMeta: []byte(`{"product_id":"` + p.ID.String() + `"}`)},
	}
	o.partner, _ = h.cfg.Partners.Partner(p.Org, p.Partner)
	return o, nil
}

// itemsOf returns the products that a payment link's page shows.
func itemsOf(l *storefront.Link) (items []page.Item) {
	for _, bound := range l.Products {
		if bound.Product != nil && bound.Product.Active {
			items = append(items, itemOf(bound.Product))
		}
	}
	return items
}

func itemOf(p *storefront.Product) page.Item {
	item := page.Item{Header: p.Header, Text: p.Text, Quantity: p.Quantity, Image: imagePath(p.Image.Name, storefront.ForThumbnail)}
	if p.Price != nil {
		item.Price = &page.Sum{Amount: *p.Price, Asset: p.Asset()}
	}
	return item
}

// imagePath returns the URL path of an image in the size that suits the purpose. If the name is empty, the path is empty.
func imagePath(name string, purpose storefront.Purpose) string {
	if name == "" {
		return ""
	}
	return storefront.ImagePath + storefront.SizedImageName(name, purpose)
}

// findOffer finds the offer whose id is in the URL path.
func findOffer(req *web.Request, find func(id ledger.ID) (*offer, error)) (*offer, error) {
	id, err := web.ParseID(req.Parameter("id"))
	if err != nil {
		return nil, err
	}
	o, err := find(id)
	switch {
	case err != nil:
		return nil, err
	case o == nil:
		return nil, web.NotFound()
	case o.partner == nil:
		req.SetOwner(o.org, 0)
	default:
		req.SetOwner(o.org, o.partner.Number)
	}
	return o, nil
}

// open finds the offer whose id is in the URL path. If the offer accepts no payments, open returns it together with errClosed.
func (h *Handlers) open(req *web.Request, find func(id ledger.ID) (*offer, error)) (*offer, error) {
	o, err := findOffer(req, find)
	if err != nil {
		return nil, err
	}
	if o.partner != nil {
		h.present(&o.page.Shop, o.partner)
	}
	organization, _ := h.cfg.Partners.Organization(o.org)
	if !o.isActive || o.partner == nil || !o.partner.Active || organization == nil || !organization.Active() {
		return o, errClosed
	}
	o.page.Post = o.address
	if !o.page.IsOpen && o.page.Sum.Amount.IsZero() {
		o.page.IsFree = true
	}
	return o, nil
}

// sendOfferError responds with an error page, which says for example that the offer does not exist or accepts no payments.
func (h *Handlers) sendOfferError(req *web.Request, o *offer, err error) error {
	if !errors.Is(err, errClosed) {
		return h.sendError(req, &visitor{lang: preferredLang(req, nil)}, err)
	}
	guest := o.visitor(req)
	if h.mayLeadTo(o.request.FailURL) {
		guest.merchantURL = page.FillAddress(o.request.FailURL, "", "") // there is no transaction that could replace the placeholders
	}
	return h.stop(req, fiber.StatusGone, guest, page.Closed)
}

// visitor returns what a notice needs to know about a visitor of the offer's page: language, merchant and environment.
func (o *offer) visitor(req *web.Request) *visitor {
	return &visitor{lang: preferredLang(req, o.partner), shop: o.page.Shop, address: o.address, inTest: o.page.Sum.Asset.Env == money.Test}
}

// showLink is GET /pay/l/{id}.
func (h *Handlers) showLink(req *web.Request) error { return h.showOffer(req, h.findLink) }

// showProduct is GET /pay/p/{id}.
func (h *Handlers) showProduct(req *web.Request) error { return h.showOffer(req, h.findProduct) }

// postLink is POST /pay/l/{id} with the page's form.
func (h *Handlers) postLink(req *web.Request) error { return h.postOffer(req, h.findLink) }

// postProduct is POST /pay/p/{id} with the page's form.
func (h *Handlers) postProduct(req *web.Request) error { return h.postOffer(req, h.findProduct) }

func (h *Handlers) showOffer(req *web.Request, find func(id ledger.ID) (*offer, error)) error {
	o, err := h.open(req, find)
	if err != nil {
		return h.sendOfferError(req, o, err)
	}
	return h.sendPage(req, fiber.StatusOK, preferredLang(req, o.partner), o.page)
}

// postOffer creates a hosted payment and sends the payer to its page.
func (h *Handlers) postOffer(req *web.Request, find func(id ledger.ID) (*offer, error)) error {
	o, err := h.open(req, find)
	if err != nil {
		return h.sendOfferError(req, o, err)
	}
	if h.isFromAnotherSite(req) {
		return h.redirect(req, o.address)
	}
	fields, status := readForm(req.Request.Header.ContentType(), req.Request.Body())
	payer := o.visitor(req)
	lang := payer.lang
	if status != fiber.StatusOK {
		return h.stop(req, status, payer, page.Malformed)
	}
	defer fields.wipe() // the browser may have filled in a card number by itself
	amount, problem := o.amount(fields, lang)
	if problem != 0 {
		if typed := fields.value(page.AmountField); !payment.CardLike(typed) {
			o.page.Typed = string(bytes.ToValidUTF8(typed, nil))
		}
		o.page.Problem = problem
		o.page.Min, o.page.Max = o.bounds()
		return h.sendPage(req, fiber.StatusUnprocessableEntity, lang, o.page)
	}
	source := h.cfg.Proxies.Source(req.RequestCtx)
	if wait := h.creations.wait(source); wait > 0 {
		return h.stopTooMany(req, payer, ledger.LimitPagePayments, wait)
	}
	request := o.request
	request.Type, request.Amount, request.Asset, request.PayerIP = payment.Payment, amount, o.page.Sum.Asset, source
	request.HasDescription = request.Description != ""
	request.MerchantMeta = slices.Clone(request.MerchantMeta)
	result, err := h.cfg.Payers.Create(paymentactor.Create{Org: o.org, Partner: o.partner, Request: request, Hosted: true, Author: req.Author(), Origin: req.Origin()})
	switch {
	case codeOf(err) == ledger.Conflict: // the link has changed since its page was shown
		return h.redirect(req, o.address)
	case err != nil:
		return h.sendError(req, payer, err)
	}
	address, _ := lastingPath(h.cfg.Pages, o.org, result.Record)
	return h.redirect(req, address)
}

// amount returns the amount to pay. If the amount that the payer typed is refused, it returns the reason.
func (o *offer) amount(fields *formFields, lang string) (money.Amount, locale.AmountProblem) {
	if !o.page.IsOpen {
		if o.page.IsFree {
			return money.Amount{}, locale.AmountMissing
		}
		return o.page.Sum.Amount, 0
	}
	typed := strings.TrimSpace(string(fields.value(page.AmountField)))
	if typed == "" {
		return money.Amount{}, locale.AmountMissing
	}
	asset := o.page.Sum.Asset
	amount, problem := locale.ParseAmount(typed, locale.In(lang).Separators(), asset)
	least, most := o.bounds()
	switch {
	case problem != 0:
		return money.Amount{}, problem
	case amount.Less(least):
		return money.Amount{}, locale.AmountTooLow
	case most.Less(amount):
		return money.Amount{}, locale.AmountTooHigh
	}
	return amount, 0
}

// bounds returns the smallest and the greatest amount that the payer may enter: the offer's own bounds or, if it has none,
// the bounds that apply to every offer.
func (o *offer) bounds() (least, most money.Amount) {
	scale, _ := o.page.Sum.Asset.Scale()
	least, most = smallestAmount, storefront.MaxAmount(scale)
	if !o.min.IsZero() {
		least = o.min
	}
	if !o.max.IsZero() && o.max.Less(most) {
		most = o.max
	}
	return least, most
}
