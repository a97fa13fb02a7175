package admin

import (
	"context"
	"net/netip"
	"strconv"

	"github.com/gofiber/fiber/v2"

	directoryactor "mizan/actors/directory"
	"mizan/actors/directory/logins"
	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// SelfService reads and ends the sessions of the person who is logged in, and checks the person's password;
// *directory.Service of package actors/directory implements it. Its methods return a *ledger.Refusal or an error of the kinds
// that Users.LogIn returns.
type SelfService interface {
	OwnSessions(context.Context, *directory.Session) ([]directory.Session, error)
	EndOwnSessions(ctx context.Context, n *directory.Session, choose func(*directory.Session) bool) (count int, err error)
	CheckOwnPassword(ctx context.Context, n *directory.Session, pass []byte, source netip.Addr) error

	// Logins returns attempts to log in to the organization, newest first. It returns only attempts whose number is less than
	// before.
	Logins(org ledger.ID, before uint64, limit int) (page []logins.Attempt, more bool)
}

// ownSessionRoutes returns the routes on which a person lists and ends the person's own sessions.
func (h *Handlers) ownSessionRoutes() []web.Route {
	const sessions = v1 + "/sessions"
	return []web.Route{
		{Method: fiber.MethodGet, Path: sessions, Access: anyUser, Handle: h.listOwnSessions},
		{Method: fiber.MethodDelete, Path: sessions, Access: anyUser, EndsSession: true, Command: true, Handle: h.endOtherSessions},
		{Method: fiber.MethodDelete, Path: sessions + "/:id", Access: anyUser, EndsSession: true, Command: true, Handle: h.endOwnSession},
	}
}

// ownSession is a row of GET /sessions.
type ownSession struct {
	ID       ledger.ID     `json:"id"`
	Created  web.Instant   `json:"created_at"`
	Used     web.Instant   `json:"last_used_at"`
	Expires  web.Instant   `json:"expires_at"`
	Source   *string       `json:"source"`
	Console  bool          `json:"console"`
	Current  bool          `json:"current"`
	Failures *failedLogins `json:"failures_before"`
}

// failedLogins counts the failed login attempts between the person's previous login and the login of this session.
type failedLogins struct {
	Count  uint32      `json:"count"`
	At     web.Instant `json:"last_at"`
	Source *string     `json:"last_source"`
}

func newOwnSession(n, current *directory.Session) ownSession {
	row := ownSession{
		ID: n.ID, Created: web.Instant(n.CreatedAt), Used: web.Instant(n.LastUsedAt), Expires: web.Instant(n.ExpiresAt), Source: web.NilIfEmpty(n.Source),
		Console: n.Console, Current: n.ID == current.ID,
	}
	if n.Failures > 0 {
		row.Failures = &failedLogins{n.Failures, web.Instant(n.FailedAt), web.NilIfEmpty(n.FailedFrom)}
	}
	return row
}

// listOwnSessions is GET /sessions: the person's sessions, newest first. The list has a single page, because a person has at
// most directoryactor.MaxSessions sessions.
func (h *Handlers) listOwnSessions(req *web.Request) error {
	ctx, cancel := context.WithTimeout(context.Background(), records.CommandWait)
	defer cancel()
	if err := web.QueryOf(req.RequestCtx).Problems.Err(); err != nil {
		return err
	}
	current := req.Principal.Session
	sessions, err := h.cfg.Directory.OwnSessions(ctx, current)
	if err != nil {
		return err
	}
	l := web.NewList()
	for i := range sessions {
		l.Append(newOwnSession(&sessions[i], current))
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish("id", ""))
	return nil
}

// endOwnSession is DELETE /sessions/{id}: the person's session is invalid before the response is sent.
func (h *Handlers) endOwnSession(req *web.Request) error {
	id, err := web.ParseID(req.Parameter("id"))
	if err != nil {
		return err
	}
	count, err := h.endOwn(req, func(n *directory.Session) bool { return n.ID == id })
	if err == nil && count == 0 {
		err = web.NotFound()
	}
	if err != nil {
		return err
	}
	req.Response.Header.SetCanonical(web.HeaderCache, web.ValueNoStore)
	req.Response.SetStatusCode(fiber.StatusNoContent)
	return nil
}

// endedSessions is the response to DELETE /sessions.
type endedSessions struct {
	Ended int `json:"ended"`
}

// endOtherSessions is DELETE /sessions: it ends all sessions of the person except the request's own.
func (h *Handlers) endOtherSessions(req *web.Request) error {
	current := req.Principal.Session.ID
	count, err := h.endOwn(req, func(n *directory.Session) bool { return n.ID != current })
	if err != nil {
		return err
	}
	web.WriteData(req, fiber.StatusOK, endedSessions{count})
	return nil
}

func (h *Handlers) endOwn(req *web.Request, choose func(*directory.Session) bool) (count int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), records.CommandWait)
	defer cancel()
	return h.cfg.Directory.EndOwnSessions(ctx, req.Principal.Session, choose)
}

// ownUser is the response to GET /users/current. Fields that a partner's own login does not have are null.
type ownUser struct {
	ID      *ledger.ID `json:"id"`
	Login   *string    `json:"login"`
	Name    *string    `json:"name"`
	Email   *string    `json:"email"`
	Lang    *string    `json:"lang"`
	Partner *int64     `json:"partner_id"`
	Roles   []string   `json:"roles"`
}

// readOwnUser is GET /users/current: the person of the session. A session that was not begun by a login has no user, so all
// fields but the roles and the partner are null.
func (h *Handlers) readOwnUser(req *web.Request) error {
	n := req.Principal.Session
	own := ownUser{Roles: n.Roles.Strings()}
	if n.Partner != 0 {
		own.Partner = &n.Partner
	}
	if u, found := h.cfg.Directory.User(n.Org, n.User); found {
		own.ID, own.Login, own.Name, own.Email, own.Lang = &u.ID, &u.Login, &u.Name, web.NilIfEmpty(u.Email), web.NilIfEmpty(u.Lang)
	} else if p, found := h.cfg.Directory.Partner(n.Org, n.Partner); found && n.Epoch != 0 {
		own.Login, own.Name, own.Email, own.Lang = &p.Login, &p.Name, web.NilIfEmpty(p.Email), web.NilIfEmpty(p.Lang)
	}
	web.WriteData(req, fiber.StatusOK, own)
	return nil
}

// patchOwnUser is PATCH /users/current {lang?, pass?, current_pass?}. To set a new password, current_pass must be the present
// one. A new password ends all sessions of the person, including the request's own.
func (h *Handlers) patchOwnUser(req *web.Request) error {
	f, err := parseForm(req, "lang", "pass", "current_pass")
	if err != nil {
		return err
	}
	var allowed schema.Encoder // the fields of the body that persons may set for themselves
	allowed.Open('{')
	allowed.Members(f.Object, func(name []byte) bool { return string(name) == "lang" })
	allowed.Close('}')
	columns := records.ReadColumns(&records.Form{Object: allowed.Buf}, directory.Users)
	pass, currentPass := f.patchedPassword("pass"), f.password("current_pass")
	defer clear(pass)
	defer clear(currentPass)
	n := req.Principal.Session
	user, isUser := h.cfg.Directory.User(n.Org, n.User)
	switch {
	case n.Epoch == 0:
		return ledger.Refuse("admin.patchOwnUser", ledger.Forbidden, "no login has begun this session")
	case web.Member(f.Object, "lang") != nil && !isUser:
		f.Problems.Add("lang", "is a field of the partner")
	case pass != nil && len(currentPass) == 0 && !f.Problems.HasField("current_pass"):
		f.Problems.Add("current_pass", "current_pass is required")
	case len(currentPass) > directory.MaxPassword:
		f.Problems.Add("current_pass", "current_pass is longer than "+strconv.Itoa(directory.MaxPassword)+" bytes")
	}
	if err := f.Problems.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(directoryactor.WithAuthor(context.Background(), n.Author()), records.CommandWait)
	defer cancel()
	if pass != nil {
		err := h.cfg.Directory.CheckOwnPassword(ctx, n, currentPass, h.cfg.Proxies.Source(req.RequestCtx))
		if ledger.IsRefusal(err, ledger.Unauthorized) {
			return ledger.RefuseField("admin.patchOwnUser", "current_pass", "is wrong")
		}
		if err != nil {
			return loginRefusal(req, err)
		}
	}
	if isUser {
		_, err = h.cfg.Directory.PatchUser(ctx, n.Org, user.ID, columns.Change(), pass)
	} else if pass != nil {
		_, err = h.cfg.Directory.PatchPartnerPass(ctx, n.Org, n.Partner, func(*directory.Partner, *schema.Faults) {}, pass)
	}
	if err != nil {
		return err
	}
	return h.readOwnUser(req)
}

// loginRow is a row of GET /logins.
type loginRow struct {
	Number  uint64         `json:"number"`
	At      web.Instant    `json:"at"`
	Login   *string        `json:"login"`
	User    *ledger.ID     `json:"user_id"`
	Partner *int64         `json:"partner_id"`
	Outcome logins.Outcome `json:"outcome"`
	Source  *string        `json:"source"`
	Console bool           `json:"console"`
	Count   int            `json:"count"`
}

// listLogins is GET /logins: the latest attempts to log in to the organization, newest first.
func (h *Handlers) listLogins(req *web.Request) error {
	org, err := req.Organization(h.cfg.Directory)
	if err != nil {
		return err
	}
	q := web.QueryOf(req.RequestCtx, "limit", "cursor")
	before, limit := q.SeqCursor(), q.Limit()
	if err := q.Problems.Err(); err != nil {
		return err
	}
	page, more := h.cfg.Directory.Logins(org, before, limit)
	l, next := web.NewList(), ""
	for i := range page {
		a := &page[i]
		row := loginRow{Number: a.Number, At: web.Instant(a.At), Login: web.NilIfEmpty(a.Login), Outcome: a.Outcome, Console: a.Console, Count: a.Count}
		if a.User != (ledger.ID{}) {
			row.User = &a.User
		}
		if a.Partner != 0 {
			row.Partner = &a.Partner
		}
		if a.Source.IsValid() {
			row.Source = web.NilIfEmpty(a.Source.String())
		}
		l.Append(row)
		if more {
			next = strconv.FormatUint(a.Number, 10)
		}
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish("number", next))
	return nil
}
