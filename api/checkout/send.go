package checkout

import (
	"bytes"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/api/checkout/page"
	"mizan/api/web"
	"mizan/ledger"
)

var (
	headerReferrer = []byte("Referrer-Policy")
	valueHTML      = []byte("text/html; charset=utf-8")
	valueNoReferer = []byte("no-referrer")
)

// sendPage responds with a page. If lang is empty, the page is in a language that the browser accepts.
func (h *Handlers) sendPage(req *web.Request, status int, lang string, p page.Page) error {
	if lang == "" {
		lang = preferredLang(req, nil)
	}
	body, err := page.Render(lang, p)
	if err != nil {
		return err
	}
	setPageHeaders(req)
	req.Response.Header.SetContentTypeBytes(valueHTML)
	req.Response.Header.SetCanonical(web.HeaderPolicy, []byte(page.Policy(p)))
	if page.MayBeFramed(p) {
		req.Response.Header.DelBytes(web.HeaderFrameOptions)
	}
	req.Response.SetStatusCode(status)
	if c, isCheckout := p.(page.Checkout); isCheckout && len(c.Typed) > 0 {
		req.Response.SetBodyStream(&wipedBody{Reader: *bytes.NewReader(body), body: body}, len(body))
		return nil
	}
	req.Response.SetBodyRaw(body)
	return nil
}

// wipedBody is a response body with values that a payer typed. It is overwritten after it has been sent.
type wipedBody struct {
	bytes.Reader
	body []byte
}

// Close implements io.Closer. fasthttp calls it after it has sent the body, or has failed to send it.
func (b *wipedBody) Close() error {
	clear(b.body)
	return nil
}

// redirect responds with a redirect (status 303) that a browser follows with GET. The address is a path of the service, or a
// URL that page.IsWebAddress accepts.
func (h *Handlers) redirect(req *web.Request, address string) error {
	setPageHeaders(req)
	req.Response.Header.SetCanonical(web.HeaderLocation, []byte(page.LocationValue(address)))
	req.Response.SetStatusCode(fiber.StatusSeeOther)
	return nil
}

// setPageHeaders sets the headers of all pages and redirects. Because the URL of a page contains a secret token, responses must
// not be cached, and a Referer header must not disclose the URL.
func setPageHeaders(req *web.Request) {
	h := &req.Response.Header
	h.SetCanonical(web.HeaderCache, web.ValueNoStore)
	h.SetCanonical(web.HeaderNoSniff, web.ValueNoSniff)
	h.SetCanonical(headerReferrer, valueNoReferer)
}

// sendNotice responds with a page that shows only a notice, and no merchant.
func (h *Handlers) sendNotice(req *web.Request, status int, lang string, n page.Notice) error {
	return h.sendPage(req, status, lang, page.Stop{Notice: n})
}

// stop responds with a page that says why the payer can't continue, and that links back to the merchant.
func (h *Handlers) stop(req *web.Request, status int, payer *visitor, n page.Notice) error {
	return h.sendPage(req, status, payer.lang, payer.stopFor(n))
}

// stopFor returns a page that says why the payer can't continue, and that links back to the merchant.
func (payer *visitor) stopFor(n page.Notice) page.Stop {
	return page.Stop{Shop: payer.shop, Notice: n, InTest: payer.inTest, Back: payer.merchantURL}
}

// stopTooMany responds to a form from an IP address that has sent too many forms. Its page links back to the page with the
// form. It has no link to the merchant, where the payer might begin another payment.
func (h *Handlers) stopTooMany(req *web.Request, payer *visitor, limiter ledger.Limiter, wait time.Duration) error {
	web.RecordLimiter(req.RequestCtx, limiter)
	wait = (wait + time.Second - 1).Truncate(time.Second)
	req.Response.Header.SetCanonical(web.HeaderRetryAfter, strconv.AppendInt(nil, int64(wait/time.Second), 10))
	p := payer.stopFor(page.TooMany)
	p.Back, p.Self, p.Left = "", payer.address, wait
	return h.sendPage(req, fiber.StatusTooManyRequests, payer.lang, p)
}

// sendError responds to an error with a page. The status and the log line are the same as on other routes. If the payer's time
// to act is over, the page says so.
func (h *Handlers) sendError(req *web.Request, payer *visitor, err error) error {
	if codeOf(err) == ledger.Expired {
		return h.stop(req, fiber.StatusGone, payer, page.TooLate)
	}
	h.cfg.Errors.Respond(req, err)
	status := req.Response.StatusCode()
	switch status {
	case fiber.StatusNotFound:
		return h.stop(req, status, payer, page.NotFound)
	case fiber.StatusServiceUnavailable:
		return h.stop(req, status, payer, page.Unavailable)
	case fiber.StatusInternalServerError:
		return h.stop(req, status, payer, page.Fault)
	}
	return h.stop(req, status, payer, page.Malformed)
}
