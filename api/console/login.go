package console

import (
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// organizationCookie is the cookie that contains the organization of the browser's last login. The organization is not a
// secret.
const (
	organizationCookie = "mizan_organization"
	organizationLife   = 365 * 24 * time.Hour
)

// sessionsPath is the path of the API's login route, which begins a session.
const sessionsPath = "/api/v1/sessions"

// loginPage is the data for the login page's template.
type loginPage struct {
	Next             string // the page to show after the login
	Organization     string
	AsksOrganization bool
	Login            string
}

// showLogin is GET /console/login.
func (h *Handlers) showLogin(req *web.Request) error {
	v, err := h.console.AnonymousVisit(req)
	if err != nil {
		return v.Fail(err)
	}
	problem := ""
	if v.QueryArgs().Has("ended") {
		problem = v.T.Login.Ended
	}
	return h.sendLogin(v, fiber.StatusOK, problem, h.loginPage(v, v.Query(visit.OrganizationParam), v.Query("next")))
}

// loginPage returns the data for the login page. If the service has only one organization, persons log in to that one.
// Otherwise the page suggests the given organization or, if organization is empty, the one in the browser's cookie.
func (h *Handlers) loginPage(v *visit.Visit, organization, next string) loginPage {
	p := loginPage{Next: visit.LocalPath(next), Organization: organization}
	if sole, isSole := h.cfg.Organizations.SoleOrganization(); isSole {
		p.Organization = sole.String()
		return p
	}
	p.AsksOrganization = true
	if p.Organization == "" {
		p.Organization = string(v.Request.Request.Header.Cookie(organizationCookie))
	}
	return p
}

func (h *Handlers) sendLogin(v *visit.Visit, status int, problem string, p loginPage) error {
	return v.Show(templates, "login", visit.PageContent{Status: status, Title: v.T.Login.Title, Problem: problem, Page: p})
}

// logIn is POST /console/login. It calls the API's login route and begins a session of the console.
func (h *Handlers) logIn(req *web.Request) error {
	v, err := h.console.AnonymousVisit(req)
	if err != nil {
		return v.Fail(err)
	}
	p := h.loginPage(v, v.Form.Get(visit.OrganizationParam), v.Form.Get("next"))
	p.Login = v.Form.Get("login")
	org, err := web.ParseID(p.Organization)
	if err != nil {
		org = ledger.ID{} // no organization has this id, so the login fails, after the same work
	}
	refused := h.beginSession(v, org, p.Login, v.Form.Get("pass"))
	switch {
	case refused == nil:
		req.SetOwner(org, 0)
		return v.Redirect(p.Next, false)
	case refused.Status == fiber.StatusUnauthorized, refused.Status == fiber.StatusUnprocessableEntity:
		return h.sendLogin(v, fiber.StatusUnauthorized, v.T.Login.Wrong, p)
	case refused.Status == fiber.StatusForbidden:
		return h.sendLogin(v, refused.Status, v.T.Login.Deactivated, p)
	case refused.Status == fiber.StatusTooManyRequests:
		return h.sendLogin(v, refused.Status, v.T.Login.TooMany, p)
	}
	return v.Fail(refused)
}

// beginSession calls the API's login route to begin a session of the console, and sets the session's cookie.
func (h *Handlers) beginSession(v *visit.Visit, org ledger.ID, login, pass string) *web.RefusedError {
	var body schema.Encoder
	body.Open('{')
	body.Word("login", login)
	body.Word("pass", pass)
	body.Close('}')
	answer := v.CallAs(visit.AnonymousGrant(org), web.InternalRequest{Method: fiber.MethodPost, Path: sessionsPath, Body: body.Buf})
	if refused := answer.Refusal(); refused != nil {
		if wait := answer.Header(string(web.HeaderRetryAfter)); wait != "" {
			v.Response.Header.SetCanonical(web.HeaderRetryAfter, []byte(wait))
		}
		return refused
	}
	var session struct {
		Data struct {
			Token string `json:"token"`
		} `json:"data"`
	}
	if err := answer.Decode(&session); err != nil {
		return &web.RefusedError{Status: fiber.StatusInternalServerError}
	}
	h.setCookie(v, web.SessionCookie, org.String()+"."+session.Data.Token, directory.SessionLife)
	h.setCookie(v, organizationCookie, org.String(), organizationLife)
	return nil
}

// logOut is POST /console/logout.
func (h *Handlers) logOut(v *visit.Visit) error {
	if err := v.EndSession(); err != nil {
		return err
	}
	h.setCookie(v, web.SessionCookie, "", 0)
	return v.Redirect(visit.LoginPath, false)
}

// setCookie sets a cookie of the console. life is how long the browser keeps the cookie. If it is 0, the browser deletes the
// cookie.
func (h *Handlers) setCookie(v *visit.Visit, name, value string, life time.Duration) {
	var c fasthttp.Cookie
	c.SetKey(name)
	c.SetValue(value)
	c.SetPath("/console")
	c.SetHTTPOnly(true)
	c.SetSameSite(fasthttp.CookieSameSiteStrictMode)
	c.SetSecure(web.IsSecure(v.RequestCtx) || h.cfg.Proxies.IsSecure(v.RequestCtx))
	c.SetMaxAge(int(life / time.Second))
	if life == 0 {
		c.SetExpire(fasthttp.CookieExpireDelete)
	}
	v.Response.Header.SetCookie(&c)
}
