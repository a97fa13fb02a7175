package checkout

import (
	"github.com/gofiber/fiber/v2"

	"mizan/api/checkout/page"
	"mizan/api/web"
	"mizan/ledger"
)

var (
	headerPolicy   = []byte("Content-Security-Policy")
	headerReferrer = []byte("Referrer-Policy")
	valueHTML      = []byte("text/html; charset=utf-8")
	valueNoReferer = []byte("no-referrer")
)

// sendPage responds with a page. Without a language it is in one that the browser prefers.
func (h *Handlers) sendPage(req *web.Request, status int, lang string, p page.Page) error {
	if lang == "" {
		lang = preferredLang(req, nil)
	}
	body, err := page.Render(lang, p)
	if err != nil {
		return err
	}
	policy := page.Policy()
	switch p := p.(type) {
	case page.Forward:
		policy = page.Policy(p.Target)
	case page.Scan:
		if p.Simulated != nil {
			policy = page.SimulatedPolicy()
		}
	case page.Challenge:
		policy = page.ChallengePolicy()
	case page.Offer:
		policy = page.OfferPolicy()
	}
	setPageHeaders(req)
	if status == fiber.StatusTooManyRequests {
		req.Response.Header.SetCanonical(web.HeaderRetryAfter, []byte("60"))
	}
	req.Response.Header.SetContentTypeBytes(valueHTML)
	req.Response.Header.SetCanonical(headerPolicy, []byte(page.WithBrand(policy, p)))
	req.Response.SetStatusCode(status)
	req.Response.SetBodyRaw(body)
	return nil
}

// redirect responds with a redirect that a browser follows with GET, to a path of the service or
// to an address that page.IsWebAddress accepts.
func (h *Handlers) redirect(req *web.Request, address string) error {
	setPageHeaders(req)
	req.Response.Header.SetCanonical(web.HeaderLocation, []byte(page.LocationValue(address)))
	req.Response.SetStatusCode(fiber.StatusSeeOther)
	return nil
}

// setPageHeaders sets the headers of all pages and redirects. The address of a page contains
// its token, so it must be neither cached nor disclosed in a Referer header.
func setPageHeaders(req *web.Request) {
	h := &req.Response.Header
	h.SetCanonical(web.HeaderCache, web.ValueNoStore)
	h.SetCanonical(web.HeaderNoSniff, web.ValueNoSniff)
	h.SetCanonical(headerReferrer, valueNoReferer)
}

func (h *Handlers) sendNotice(req *web.Request, status int, lang string, n page.Notice) error {
	return h.sendPage(req, status, lang, n)
}

// sendError responds to an error with a page. Status and log are the same as on other routes. After
// a deadline the page says that the link has expired.
func (h *Handlers) sendError(req *web.Request, payer *visitor, err error) error {
	if codeOf(err) == ledger.Expired {
		return h.sendNotice(req, fiber.StatusGone, payer.lang, page.TooLate)
	}
	h.cfg.Errors.Respond(req, err)
	status := req.Response.StatusCode()
	switch status {
	case fiber.StatusNotFound:
		return h.sendNotice(req, status, payer.lang, page.NotFound)
	case fiber.StatusServiceUnavailable:
		return h.sendNotice(req, status, payer.lang, page.Unavailable)
	case fiber.StatusInternalServerError:
		return h.sendNotice(req, status, payer.lang, page.Fault)
	}
	return h.sendNotice(req, status, payer.lang, page.Malformed)
}
