package admin

import (
	"context"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	directoryactor "mizan/actors/directory"
	"mizan/api/auth"
	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// newSession is the response to a login, the only response that shows the token.
type newSession struct {
	Token   string      `json:"token"`
	Expires web.Instant `json:"expires_at"`
	Org     ledger.ID   `json:"organization_id"`
	Roles   []string    `json:"roles"`
}

// currentSession is the response to GET /sessions/current.
type currentSession struct {
	Org     ledger.ID   `json:"organization_id"`
	Roles   []string    `json:"roles"`
	Expires web.Instant `json:"expires_at"`
}

// logIn is POST /sessions. The response to wrong credentials is always the same 401, so that it does not show what was wrong. A
// malformed login or password is refused before the credentials are checked.
func (h *Handlers) logIn(req *web.Request) error {
	f, err := parseForm(req)
	if err != nil {
		return err
	}
	login, pass := f.Text("login"), f.password("pass")
	defer clear(pass)
	switch {
	case login == nil && !f.Problems.HasField("login"), login != nil && *login == "":
		f.Problems.Add("login", "login is required")
	case login != nil && utf8.RuneCountInString(*login) > directory.MaxText:
		f.Problems.Add("login", "login is longer than "+strconv.Itoa(directory.MaxText)+" characters")
	}
	switch {
	case len(pass) == 0 && !f.Problems.HasField("pass"):
		f.Problems.Add("pass", "pass is required")
	case len(pass) > directory.MaxPassword:
		f.Problems.Add("pass", "pass is longer than "+strconv.Itoa(directory.MaxPassword)+" bytes")
	}
	if err := f.Problems.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), records.CommandWait)
	defer cancel()
	session, token, err := h.cfg.Directory.LogIn(ctx, directoryactor.Login{
		Org:   auth.Organization(req.Request.Header.PeekBytes(web.HeaderOrganization)),
		Login: *login, Pass: pass, Source: h.cfg.Proxies.Source(req.RequestCtx), Console: req.Grant != nil,
	})
	if err != nil {
		return loginRefusal(req, err)
	}
	req.SetOwner(session.Org, 0)
	web.WriteData(req, fiber.StatusCreated, newSession{string(token), web.Instant(session.ExpiresAt), session.Org, session.Roles.Strings()})
	return nil
}

// loginRefusal returns the refusal of a failed login. If too many attempts from the caller's address run at the same time, or
// if the login was tried too often, the refusal is RateLimited; otherwise it is err itself. If the login was tried too often,
// loginRefusal also sets the Retry-After header of the response.
func loginRefusal(req *web.Request, err error) error {
	if errors.Is(err, directoryactor.ErrCrowded) {
		return ledger.Refuse("admin.logIn", web.RateLimited, "too many attempts to log in at once").By(ledger.LimitLogins)
	}
	var locked *directoryactor.LockedOut
	if !errors.As(err, &locked) {
		return err
	}
	seconds := max(1, int64((locked.Wait+time.Second-1)/time.Second))
	req.Response.Header.SetCanonical(web.HeaderRetryAfter, strconv.AppendInt(nil, seconds, 10))
	return ledger.Refuse("admin.logIn", web.RateLimited, "too many failed attempts to log in").By(ledger.LimitLogins)
}

// readSession is GET /sessions/current. If the request has no organization header and there is
// only one organization, the response names that organization.
func (h *Handlers) readSession(req *web.Request) error {
	session := req.Principal.Session
	web.WriteData(req, fiber.StatusOK, currentSession{session.Org, session.Roles.Strings(), web.Instant(session.ExpiresAt)})
	return nil
}

// logOut is DELETE /sessions/current: the token becomes invalid before the response is sent.
func (h *Handlers) logOut(req *web.Request) error {
	ctx, cancel := context.WithTimeout(context.Background(), records.CommandWait)
	defer cancel()
	if err := h.cfg.Directory.LogOut(ctx, req.Principal.Session); err != nil {
		return err
	}
	req.Response.Header.SetCanonical(web.HeaderCache, web.ValueNoStore)
	req.Response.SetStatusCode(fiber.StatusNoContent)
	return nil
}
