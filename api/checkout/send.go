package checkout

import (
	"github.com/gofiber/fiber/v2"

	screen "mizan/api/checkout/page"
	"mizan/api/web"
	"mizan/ledger"
)

var (
	headerPolicy   = []byte("Content-Security-Policy")
	headerReferrer = []byte("Referrer-Policy")
	valueHTML      = []byte("text/html; charset=utf-8")
	valueNoReferer = []byte("no-referrer")
)

// sendPage answers with a page.
func (h *Handlers) sendPage(req *web.Request, status int, lang string, p screen.Page) error {
	body, err := screen.Render(lang, p)
	if err != nil {
		return err
	}
	policy := screen.Policy()
	switch p := p.(type) {
	case screen.Forward:
		policy = screen.Policy(p.Target)
	case screen.Scan:
		if p.Simulated != nil {
			policy = screen.SimulatedPolicy()
		}
	case screen.Challenge:
		policy = screen.ChallengePolicy()
	}
	setPageHeaders(req)
	req.Response.Header.SetContentTypeBytes(valueHTML)
	req.Response.Header.SetCanonical(headerPolicy, []byte(policy))
	req.Response.SetStatusCode(status)
	req.Response.SetBodyRaw(body)
	return nil
}

// redirect answers with a redirect that a browser follows with GET: to a path of the
// service, or to an address that page.Web accepts.
func (h *Handlers) redirect(req *web.Request, address string) error {
	setPageHeaders(req)
	req.Response.Header.SetCanonical(web.HeaderLocation, []byte(screen.Header(address)))
	req.Response.SetStatusCode(fiber.StatusSeeOther)
	return nil
}

// setPageHeaders sets the headers of all pages and redirects. The address of a page is a
// key to it, so it must not be sent on as a referrer nor cached.
func setPageHeaders(req *web.Request) {
	h := &req.Response.Header
	h.SetCanonical(web.HeaderCache, web.ValueNoStore)
	h.SetCanonical(web.HeaderNoSniff, web.ValueNoSniff)
	h.SetCanonical(headerReferrer, valueNoReferer)
}

func (h *Handlers) notice(req *web.Request, status int, lang string, n screen.Notice) error {
	return h.sendPage(req, status, lang, n)
}

// sendError answers with a page for an error. Status and log are those of every other
// answer. Past a deadline the page says that the link is over.
func (h *Handlers) sendError(req *web.Request, v *visit, err error) error {
	if codeOf(err) == ledger.Expired {
		return h.notice(req, fiber.StatusGone, v.lang, screen.TooLate)
	}
	h.cfg.Errors.Answer(req, err)
	status := req.Response.StatusCode()
	switch status {
	case fiber.StatusNotFound:
		return h.notice(req, status, v.lang, screen.NotFound)
	case fiber.StatusServiceUnavailable:
		return h.notice(req, status, v.lang, screen.Unavailable)
	case fiber.StatusInternalServerError:
		return h.notice(req, status, v.lang, screen.Fault)
	}
	return h.notice(req, status, v.lang, screen.Malformed)
}
