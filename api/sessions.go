package api

import (
	"context"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	directoryactor "mizan/actors/directory"
	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// logIn is POST /sessions. Whatever is wrong with who asks is one 401; only a
// body that can't be a login and a password is told from it.
func (h *adminHandlers) logIn(req *Request) error {
	f, err := formOf(req)
	if err != nil {
		return err
	}
	login, pass := f.text("login"), f.password("pass")
	defer clear(pass)
	switch {
	case login == nil && !f.problems.about("login"), login != nil && *login == "":
		f.problems.add("login", "login is required")
	case login != nil && utf8.RuneCountInString(*login) > directory.MaxText:
		f.problems.add("login", "login is longer than "+strconv.Itoa(directory.MaxText)+" characters")
	}
	switch {
	case len(pass) == 0 && !f.problems.about("pass"):
		f.problems.add("pass", "pass is required")
	case len(pass) > directory.MaxPass:
		f.problems.add("pass", "pass is longer than "+strconv.Itoa(directory.MaxPass)+" bytes")
	}
	if err := f.problems.err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandWait)
	defer cancel()
	n, token, err := h.cfg.Directory.LogIn(ctx, directoryactor.Login{
		Org:   auth.Organization(req.Request.Header.PeekBytes(headerOrg)),
		Login: *login, Pass: pass, Source: h.cfg.Proxies.Source(req.RequestCtx),
	})
	if err != nil {
		return lockedOut(req, err)
	}
	single(req, fiber.StatusCreated, false, n, func(e *encoder, n *directory.Session) {
		e.text("token", string(token))
		e.instant("expires_at", n.Expires)
		e.id("organization_id", n.Org)
		e.texts("roles", n.Roles.Strings())
	})
	return nil
}

// lockedOut says how long a login has to wait that was tried too often, and
// refuses one of too many from its address at once.
func lockedOut(req *Request, err error) error {
	if errors.Is(err, directoryactor.ErrCrowded) {
		return ledger.Refuse("api.logIn", rateLimited, "too many attempts to log in at once")
	}
	var locked *directoryactor.LockedOut
	if !errors.As(err, &locked) {
		return err
	}
	seconds := max(1, int64((locked.Wait+time.Second-1)/time.Second))
	req.Response.Header.SetCanonical(headerRetryAfter, strconv.AppendInt(nil, seconds, 10))
	return ledger.Refuse("api.logIn", rateLimited, "too many failed attempts to log in")
}

// readSession is GET /sessions/current: who asks. Without the header it tells a
// session of the only organization which one that is.
func (h *adminHandlers) readSession(req *Request) error {
	single(req, fiber.StatusOK, false, req.Principal.Session, func(e *encoder, n *directory.Session) {
		e.id("organization_id", n.Org)
		e.texts("roles", n.Roles.Strings())
		e.instant("expires_at", n.Expires)
	})
	return nil
}

// logOut is DELETE /sessions/current: the token is dead before the answer leaves.
func (h *adminHandlers) logOut(req *Request) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandWait)
	defer cancel()
	if err := h.cfg.Directory.LogOut(ctx, req.Principal.Session); err != nil {
		return err
	}
	req.Response.Header.SetCanonical(headerCache, valueNoStore)
	req.Response.SetStatusCode(fiber.StatusNoContent)
	return nil
}
