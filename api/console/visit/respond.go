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

// setHeaders sets the headers of every page and redirect.
func setHeaders(req *web.Request) {
	h := &req.Response.Header
	h.SetCanonical(web.HeaderPolicy, policy)
	h.SetCanonical(web.HeaderCache, web.ValueNoStore)
	h.SetCanonical(web.HeaderNoSniff, web.ValueNoSniff)
	h.SetCanonical(headerReferrer, valueSameOrigin)
}

// redirect redirects the browser to a page of the console, with GET.
func redirect(req *web.Request, address string) error {
	req.Response.ResetBody()
	setHeaders(req)
	req.Response.Header.SetCanonical(web.HeaderLocation, []byte(address))
	req.Response.SetStatusCode(fiber.StatusSeeOther)
	return nil
}

// LoginPath is the path of the login page. OrganizationParam is its query parameter with the id of an organization.
const (
	LoginPath         = view.Root + "login"
	OrganizationParam = "organization"
)

// loginAddress returns the address of the login page. After the login, the person is redirected to next. organization is the
// organization to which the person logs in; empty: not known. ended makes the page say that the session has ended.
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

// LocalPath returns the address if it belongs to a page of the console, and the address of the first page otherwise. It accepts
// no host, no scheme and no backslash, which browsers treat as a slash.
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

// Fail responds with an error page: for a refusal of the API, or for a fault.
func (v *Visit) Fail(err error) error {
	var refused *web.Refused
	if !errors.As(err, &refused) {
		v.console.cfg.Errors.Respond(v.Request, err) // Respond logs a fault, and sets the status of the response
		v.Response.ResetBody()
		refused = &web.Refused{Status: v.Response.StatusCode()}
	}
	if refused.Status == fiber.StatusUnauthorized { // the session has ended after the request was admitted
		return redirect(v.Request, loginAddress(view.Root, "", true))
	}
	notice := noticeOf(v.T, refused)
	return v.Show(view.Notice, view.NoticeName, PageContent{Status: refused.Status, Title: notice.Title, Page: notice.Body, Problem: refused.Message})
}

func noticeOf(t *texts.Texts, refused *web.Refused) texts.Notice {
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
