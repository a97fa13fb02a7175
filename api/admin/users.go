package admin

import (
	"bytes"
	"context"

	"github.com/gofiber/fiber/v2"

	directoryactor "mizan/actors/directory"
	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/internal/jsonwalk"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// Users changes and lists the users who log in; *directory.Service of package actors/directory implements it. Its methods
// return errors of type *ledger.Refusal. LogIn may also return a *directory.LockedOut or directory.ErrCrowded.
type Users interface {
	User(org, id ledger.ID) (*directory.User, bool)
	CreateUser(ctx context.Context, org ledger.ID, draft directory.User, pass []byte) (*directory.User, error)
	PatchUser(ctx context.Context, org, id ledger.ID, change schema.Change[directory.User], pass []byte) (*directory.User, error)
	ListUsers(ledger.ID, directoryactor.Page) ([]*directory.User, directoryactor.Cursor, error)
	PatchPartnerPass(ctx context.Context, org ledger.ID, number int64, change schema.Change[directory.Partner], pass []byte) (*directory.Partner, error)

	LogIn(context.Context, directoryactor.Login) (*directory.Session, secret.Text, error)
	LogOut(context.Context, *directory.Session) error

	RotateAdminToken(ctx context.Context, token []byte) (secret.Text, error)
}

var showUser = records.FieldsOf(directory.Users)

// createUser is POST /users.
func (h *Handlers) createUser(req *web.Request) error {
	reply := records.Reply[*directory.User]{Status: fiber.StatusCreated, Append: showUser}
	return runInOrganization(h, req, reply, func(ctx context.Context, org ledger.ID) (*directory.User, error) {
		f, err := records.ParseColumns(req, directory.Users)
		if err != nil {
			return nil, err
		}
		pass, draft := form{f.Form}.password("pass"), f.Draft()
		defer clear(pass)
		return records.Decide(ctx, f.Form, func(ctx context.Context) (*directory.User, error) {
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
	return writeRows(req, showUser)(h.cfg.Directory.ListUsers(org, p))
}

// readUser is GET /users/{id}.
func (h *Handlers) readUser(req *web.Request) error {
	return readRecord(h, req, h.cfg.Directory.User, showUser)
}

// patchUser is PATCH /users/{id}.
func (h *Handlers) patchUser(req *web.Request) error {
	reply := records.Reply[*directory.User]{Status: fiber.StatusOK, Append: showUser}
	return runOnRecord(h, req, reply, func(ctx context.Context, org, id ledger.ID) (*directory.User, error) {
		if _, found := h.cfg.Directory.User(org, id); !found {
			return nil, web.NotFound()
		}
		f, err := records.ParseColumns(req, directory.Users)
		if err != nil {
			return nil, err
		}
		pass := form{f.Form}.patchedPassword("pass")
		defer clear(pass)
		return records.Decide(ctx, f.Form, func(ctx context.Context) (*directory.User, error) {
			return h.cfg.Directory.PatchUser(ctx, org, id, f.Change(), pass)
		})
	})
}

// deleteUser is DELETE /users/{id}: the user is switched off but stays in the list. A second DELETE changes nothing.
func (h *Handlers) deleteUser(req *web.Request) error {
	reply := records.Reply[*directory.User]{Status: fiber.StatusOK, Append: showUser}
	return runOnRecord(h, req, reply, func(ctx context.Context, org, id ledger.ID) (*directory.User, error) {
		return h.cfg.Directory.PatchUser(ctx, org, id, func(u *directory.User, _ *schema.Faults) { u.Active = false }, nil)
	})
}

// password reads a password field. If the field is absent, password returns nil. The caller must overwrite the result after
// use.
func (f form) password(name string) []byte {
	value := web.Member(f.Object, name)
	if value == nil {
		return nil
	}
	text, isText := jsonwalk.Text(value)
	if !isText {
		f.Problems.Add(name, name+" must be a string")
	}
	return append(make([]byte, 0, len(text)), text...)
}

// patchedPassword reads a password field of a patch, in which null means an empty password.
func (f form) patchedPassword(name string) []byte {
	if jsonwalk.Has(f.Object, name) && web.Member(f.Object, name) == nil {
		return []byte{}
	}
	return form{f.Form}.password(name)
}

type newAdminToken struct {
	Token string `json:"token"`
}

// rotateAdminToken is POST /admin_tokens/rotate: a new token, which only this response shows,
// replaces the token of the request.
func (h *Handlers) rotateAdminToken(req *web.Request) error {
	if err := checkEmptyOrObject(req.Request.Body()); err != nil {
		return err
	}
	reply := records.Reply[secret.Text]{Status: fiber.StatusCreated, Show: func(t secret.Text) any { return newAdminToken{string(t)} }}
	return run(h, req, reply, func(ctx context.Context) (secret.Text, error) {
		oldToken := bytes.Clone(web.Bearer(req.Request.Header.Peek(fiber.HeaderAuthorization)))
		return h.cfg.Directory.RotateAdminToken(ctx, oldToken)
	})
}

// checkEmptyOrObject returns an error unless the body is absent or a JSON object, whose fields are ignored.
func checkEmptyOrObject(body []byte) error {
	if len(body) == 0 {
		return nil
	}
	value, err := web.Document(body)
	if err == nil && !web.IsObject(value) {
		err = ledger.Refuse("admin.noneOrObject", web.BadRequest, "the body must be an object, or absent")
	}
	return err
}
