package admin

import (
	"bytes"
	"context"

	"github.com/gofiber/fiber/v2"

	directoryactor "mizan/actors/directory"
	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// People changes and lists the users who log in; *directory.Service of actors is one. Errors
// are *ledger.Refusal; those of LogIn may also be a *directory.LockedOut or
// directory.ErrCrowded.
type People interface {
	User(org, id ledger.ID) (*directory.User, bool)
	CreateUser(ctx context.Context, org ledger.ID, d directory.UserDraft, pass []byte) (*directory.User, error)
	PatchUser(ctx context.Context, org, id ledger.ID, p directory.UserPatch, pass []byte) (*directory.User, error)
	ListUsers(ledger.ID, directoryactor.Page) ([]*directory.User, directoryactor.Cursor, error)
	PatchPartnerPass(ctx context.Context, org ledger.ID, number int64, p directory.PartnerPatch, pass []byte) (*directory.Partner, error)

	LogIn(context.Context, directoryactor.Login) (*directory.Session, secret.Text, error)
	LogOut(context.Context, *directory.Session) error

	RotateAdminToken(ctx context.Context, token []byte) (secret.Text, error)
}

// The fields of a user in the order of refusals, and those that never change.
var (
	userFields = []string{"login", "pass", "email", "name", "roles", "partner_id", "active"}
	fixedUser  = []string{"id", "login", "created_at"}
)

// createUser is POST /users.
func (h *Handlers) createUser(req *web.Request) error {
	how := change[*directory.User]{status: fiber.StatusCreated, append: appendUser}
	return how.in(h, req, func(ctx context.Context, org ledger.ID) (*directory.User, error) {
		f, err := formOf(req, userFields...)
		if err != nil {
			return nil, err
		}
		pass := f.password("pass")
		defer clear(pass)
		active := f.flag("active")
		draft := directory.UserDraft{
			Login: f.textOr("login"), Email: f.textOr("email"), Name: f.textOr("name"), Roles: valueOf(f.texts("roles")),
			Partner: f.number("partner_id"), Inactive: active != nil && !*active,
		}
		return decide(ctx, f, func(ctx context.Context) (*directory.User, error) {
			return h.cfg.Directory.CreateUser(ctx, org, draft, pass)
		})
	})
}

// listUsers is GET /users?partner_id, newest first.
func (h *Handlers) listUsers(req *web.Request) error {
	org, p, err := h.organizationAndPage(req, "partner_id")
	if err != nil {
		return err
	}
	return writeRows(req, appendUser)(h.cfg.Directory.ListUsers(org, p))
}

// readUser is GET /users/{id}.
func (h *Handlers) readUser(req *web.Request) error {
	return readRecord(h, req, h.cfg.Directory.User, appendUser)
}

// patchUser is PATCH /users/{id}.
func (h *Handlers) patchUser(req *web.Request) error {
	how := change[*directory.User]{status: fiber.StatusOK, append: appendUser}
	return how.at(h, req, func(ctx context.Context, org, id ledger.ID) (*directory.User, error) {
		u, found := h.cfg.Directory.User(org, id)
		if !found {
			return nil, web.NotFound()
		}
		f, err := patchOf(req, asObject(u, appendUser), fixedUser, userFields...)
		if err != nil {
			return nil, err
		}
		pass := f.password("pass")
		defer clear(pass)
		patch := directory.UserPatch{Email: f.text("email"), Name: f.text("name"), Roles: f.texts("roles"), Partner: f.integer("partner_id"), Active: f.flag("active")}
		return decide(ctx, f, func(ctx context.Context) (*directory.User, error) {
			return h.cfg.Directory.PatchUser(ctx, org, id, patch, pass)
		})
	})
}

// deleteUser is DELETE /users/{id}: the user is switched off and stays in the list. A second
// DELETE changes nothing.
func (h *Handlers) deleteUser(req *web.Request) error {
	how := change[*directory.User]{status: fiber.StatusOK, append: appendUser}
	return how.at(h, req, func(ctx context.Context, org, id ledger.ID) (*directory.User, error) {
		return h.cfg.Directory.PatchUser(ctx, org, id, directory.UserPatch{Active: new(bool)}, nil)
	})
}

// password reads a password field; nil if it is absent. The caller wipes the result.
func (f *form) password(name string) []byte {
	if f.clears(name) {
		return []byte{}
	}
	value := web.Member(f.object, name)
	if value == nil {
		return nil
	}
	text, isText := jsonwalk.Text(value)
	if !isText {
		f.problems.Add(name, name+" must be a string")
	}
	return append(make([]byte, 0, len(text)), text...)
}

// appendUser writes a user. The password is never shown.
func appendUser(e *web.Encoder, u *directory.User) {
	e.ID("id", u.ID)
	e.Text("login", u.Login)
	e.Text("name", u.Name)
	e.TextOrNull("email", u.Email)
	e.Texts("roles", u.Roles.Strings())
	if u.Partner != 0 {
		e.Integer("partner_id", u.Partner)
	} else {
		e.Null("partner_id")
	}
	e.Boolean("active", u.Active)
	appendBooked(e, "created_at", u.Created)
}

// rotateAdminToken is POST /admin_tokens/rotate: a new token, which only this answer shows,
// replaces the token of the request.
func (h *Handlers) rotateAdminToken(req *web.Request) error {
	if err := noneOrObject(req.Request.Body()); err != nil {
		return err
	}
	how := change[secret.Text]{status: fiber.StatusCreated, append: func(e *web.Encoder, t secret.Text) { e.Text("token", string(t)) }}
	return how.run(h, req, func(ctx context.Context) (secret.Text, error) {
		presented := bytes.Clone(web.Bearer(req.Request.Header.Peek(fiber.HeaderAuthorization)))
		return h.cfg.Directory.RotateAdminToken(ctx, presented)
	})
}

// noneOrObject refuses a body that is neither absent nor a JSON object. The object's fields are
// ignored.
func noneOrObject(body []byte) error {
	if len(body) == 0 {
		return nil
	}
	value, err := web.Document(body)
	if err == nil && !web.IsObject(value) {
		err = ledger.Refuse("admin.noneOrObject", web.BadRequest, "the body must be an object, or absent")
	}
	return err
}
