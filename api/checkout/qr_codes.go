package checkout

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mizan/api/checkout/page"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/storefront"
)

// Header values for the files to which pages refer: the icon, the images and the QR codes.
var (
	valueImmutable = []byte("public, max-age=31536000, immutable")
	valueDay       = []byte("public, max-age=86400")
	policyOfFile   = []byte("default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox")
	valueSVG       = []byte("image/svg+xml")
	valuePNG       = []byte("image/png")
	valueJPEG      = []byte("image/jpeg")
)

// Bounds and default of the width and height of a QR code's PNG, in pixels.
const (
	minCode     = 64
	maxCode     = 2048
	defaultCode = 512
)

// icon is the pages' favicon. Browsers show it in the tab of a page, for example.
var icon = []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#12744a"/>` +
	`<path d="M8 16.5l5.5 5.5L24 11" fill="none" stroke="#fff" stroke-width="4" stroke-linecap="round" stroke-linejoin="round"/></svg>`)

// showIcon is GET /favicon.ico, which browsers request even if no page links to it.
func (h *Handlers) showIcon(req *web.Request) error {
	return sendFile(req, valueSVG, valueDay, icon)
}

// showNothing responds with 404. It serves every path below /pay that belongs to no other route.
func (h *Handlers) showNothing(req *web.Request) error {
	return h.sendNotice(req, fiber.StatusNotFound, "", page.NotFound)
}

// showImage is GET /images/{name}.
func (h *Handlers) showImage(req *web.Request) error {
	content, format, err := h.cfg.Storefront.PublicImage(req.Parameter("name"))
	switch {
	case err != nil:
		return h.sendError(req, &visitor{}, err)
	case content == nil:
		return h.sendNotice(req, fiber.StatusNotFound, "", page.NotFound)
	}
	contentType := valuePNG
	if format != storefront.PNG {
		contentType = valueJPEG
	}
	return sendFile(req, contentType, valueImmutable, content)
}

// sendLinkCodeSVG is GET /pay/l/{id}/qr.svg, and sendLinkCodePNG is GET /pay/l/{id}/qr.png?size=.
func (h *Handlers) sendLinkCodeSVG(req *web.Request) error { return h.sendCodeSVG(req, h.findLink) }
func (h *Handlers) sendLinkCodePNG(req *web.Request) error { return h.sendCodePNG(req, h.findLink) }

// sendProductCodeSVG is GET /pay/p/{id}/qr.svg, and sendProductCodePNG is GET /pay/p/{id}/qr.png?size=.
func (h *Handlers) sendProductCodeSVG(req *web.Request) error {
	return h.sendCodeSVG(req, h.findProduct)
}
func (h *Handlers) sendProductCodePNG(req *web.Request) error {
	return h.sendCodePNG(req, h.findProduct)
}

// sendCodeSVG responds with an SVG: the QR code of an offer's web address.
func (h *Handlers) sendCodeSVG(req *web.Request, find func(id ledger.ID) (*offer, error)) error {
	address, err := h.encodedAddress(req, find)
	if err != nil {
		return h.sendOfferError(req, nil, err)
	}
	code, err := page.NewCode(address)
	if err != nil {
		return err
	}
	return sendFile(req, valueSVG, valueDay, code.SVG())
}

// sendCodePNG responds with a PNG: the QR code of an offer's web address.
func (h *Handlers) sendCodePNG(req *web.Request, find func(id ledger.ID) (*offer, error)) error {
	address, err := h.encodedAddress(req, find)
	if err != nil {
		return h.sendOfferError(req, nil, err)
	}
	size := defaultCode
	if text := string(req.QueryArgs().Peek("size")); text != "" {
		if size, err = strconv.Atoi(text); err != nil || size < minCode || size > maxCode || strconv.Itoa(size) != text {
			return h.sendNotice(req, fiber.StatusUnprocessableEntity, "", page.Malformed)
		}
	}
	picture, err := page.CodePNG(address, size)
	if err != nil {
		return err
	}
	return sendFile(req, valuePNG, valueDay, picture)
}

// encodedAddress returns the web address that an offer's QR code contains. The address stays the same after the offer is
// closed.
func (h *Handlers) encodedAddress(req *web.Request, find func(id ledger.ID) (*offer, error)) (string, error) {
	o, err := findOffer(req, find)
	if err != nil {
		return "", err
	}
	return h.cfg.Pages.Base + o.address, nil
}

// sendFile responds with a file. The headers prevent browsers from interpreting the file as a page.
func sendFile(req *web.Request, contentType, cache, content []byte) error {
	h := &req.Response.Header
	h.SetContentTypeBytes(contentType)
	h.SetCanonical(web.HeaderCache, cache)
	h.SetCanonical(web.HeaderNoSniff, web.ValueNoSniff)
	h.SetCanonical(web.HeaderPolicy, policyOfFile)
	req.Response.SetStatusCode(fiber.StatusOK)
	req.Response.SetBody(content)
	return nil
}
