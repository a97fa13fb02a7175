package visit

import (
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/texts"
	"mizan/api/console/view"
	"mizan/api/web"
)

// policy is the Content-Security-Policy of the pages.
var (
	policy = []byte("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; " +
		"base-uri 'none'; frame-ancestors 'none'")
	headerReferrer  = []byte("Referrer-Policy")
	valueSameOrigin = []byte("same-origin")
)

// Headers of htmx, the script that loads parts of pages. See https://four.htmx.org/reference.
const (
	headerIsPart  = "HX-Request"     // of a request: "true"
	headerPage    = "HX-Current-URL" // of a request: the address of the page to which the part belongs
	headerRestart = "HX-Redirect"    // of a response: the browser leaves the page for this address
	headerSwap    = "HX-Reswap"      // of a response: where the fragment goes in the page
)

// wantsPart tells whether a script requests a fragment of a page.
func wantsPart(req *web.Request) bool {
	return string(req.Request.Header.Peek(headerIsPart)) == "true"
}

// setHeaders sets the headers that every page and every redirect has.
func setHeaders(req *web.Request) {
	h := &req.Response.Header
	h.SetCanonical(web.HeaderPolicy, policy)
	h.SetCanonical(web.HeaderCache, web.ValueNoStore)
	h.SetCanonical(web.HeaderNoSniff, web.ValueNoSniff)
	h.SetCanonical(headerReferrer, valueSameOrigin)
}

// redirect redirects the browser to a page of the console, with GET. If the request was for a part of a page, the browser
// leaves the whole page.
func redirect(req *web.Request, address string) error {
	req.Response.ResetBody()
	setHeaders(req)
	if wantsPart(req) { // the script would follow a Location itself, and put the whole page in the place of the part
		req.Response.Header.Set(headerRestart, address)
		req.Response.SetStatusCode(fiber.StatusNoContent)
		return nil
	}
	req.Response.Header.SetCanonical(web.HeaderLocation, []byte(address))
	req.Response.SetStatusCode(fiber.StatusSeeOther)
	return nil
}

// LoginPath is the path of the login page. OrganizationParam is the login page's query parameter with the id of an
// organization.
const (
	LoginPath         = view.Root + "login"
	OrganizationParam = "organization"
)

// loginAddress returns the address of the login page. After the login, the person is redirected to next. organization is the id
// of the organization to which the person logs in, or empty if that is unknown. If ended is true, the login page says that the
// session has ended.
func loginAddress(next, organization string, ended bool) string {
	query := make(url.Values)
	if organization != "" {
		query.Set(OrganizationParam, organization)
	}
	if next = LocalPath(next); next != view.Root {
		query.Set("next", next)
	}
	if ended {
		query.Set("ended", "1")
	}
	if len(query) == 0 {
		return LoginPath
	}
	return LoginPath + "?" + query.Encode()
}

// LocalPath returns the address if it belongs to a page of the console, and the address of the first page otherwise. Addresses
// with a host or a scheme are not accepted, nor those with a backslash, because browsers treat a backslash as a slash.
func LocalPath(address string) string {
	if !strings.HasPrefix(address, view.Root) || strings.HasPrefix(address, LoginPath) || strings.ContainsAny(address, "\\\r\n\t") {
		return view.Root
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host != "" || parsed.Scheme != "" || strings.Contains(parsed.Path, "//") || strings.Contains(parsed.Path, "/../") {
		return view.Root
	}
	return address
}

// Fail responds with an error page. The error is a refusal of the API or a fault of the server.
func (v *Visit) Fail(err error) error {
	var refused *web.RefusedError
	if !errors.As(err, &refused) {
		v.console.cfg.Errors.Respond(v.Request, err) // Respond logs the fault, and sets the status of the response
		v.Response.ResetBody()
		refused = &web.RefusedError{Status: v.Response.StatusCode()}
	}
	if refused.Status == fiber.StatusUnauthorized { // the session ended after the request was admitted
		return redirect(v.Request, loginAddress(view.Root, "", true))
	}
	notice := noticeOf(v.T, refused)
	content := PageContent{Status: refused.Status, Title: notice.Title, Page: notice.Body, Problem: refused.Text()}
	if v.WantsPart() {
		content.Part = view.NoticePart
		v.Response.Header.Set(headerSwap, "innerHTML")
	}
	return v.Show(view.Notice, view.NoticeName, content)
}

func noticeOf(t *texts.Texts, refused *web.RefusedError) texts.Notice {
	switch e := &t.Errors; refused.Status {
	case fiber.StatusForbidden:
		if refused == errForm {
			return e.Form
		}
		return e.Forbidden
	case fiber.StatusNotFound:
		return e.NotFound
	case fiber.StatusMethodNotAllowed:
		return e.Method
	case fiber.StatusConflict:
		return e.Conflict
	case fiber.StatusRequestEntityTooLarge:
		return e.TooLarge
	case fiber.StatusTooManyRequests:
		return e.TooMany
	case fiber.StatusServiceUnavailable:
		return e.Unavailable
	case fiber.StatusInternalServerError:
		return e.Fault
	}
	return t.Errors.BadRequest
}

func isUTF8(form url.Values) bool {
	for name, values := range form {
		if !utf8.ValidString(name) {
			return false
		}
		for _, value := range values {
			if !utf8.ValidString(value) {
				return false
			}
		}
	}
	return true
}
