package admin

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// The fields of a partner in the order of refusals, and those that never change.
var (
	partnerFields = []string{"name", "login", "pass", "email", "lang", "notify_url", "secret", "source_addresses", "overdraft_limit", "active"}
	fixedPartner  = []string{"id", "login", "created_at"}
)

// createPartner is POST /partners (specification, "Partner administration").
func (h *Handlers) createPartner(req *web.Request) error {
	how := change[*directory.Partner]{status: fiber.StatusCreated, bare: true, append: appendPartner}
	return how.in(h, req, func(ctx context.Context, org ledger.ID) (*directory.Partner, error) {
		f, err := formOf(req, partnerFields...)
		if err != nil {
			return nil, err
		}
		pass := f.password("pass")
		defer clear(pass)
		active := f.flag("active")
		draft := directory.PartnerDraft{
			Name: f.textOr("name"), Login: f.textOr("login"), Email: f.textOr("email"), Lang: valueOf(f.lang()),
			NotifyURL: valueOf(f.notifyURL()), Secret: valueOf(f.secret()), Inactive: active != nil && !*active,
			Sources: valueOf(f.texts("source_addresses")), Overdraft: valueOf(f.overdraft("overdraft_limit")),
		}
		return decide(ctx, f, func(ctx context.Context) (*directory.Partner, error) {
			return h.cfg.Directory.CreatePartner(ctx, org, draft, pass)
		})
	})
}

func (f *form) notifyURL() *string { return f.nonEmptyText("notify_url", directory.EmptyNotifyURL) }

func (f *form) secret() *string { return f.nonEmptyText("secret", directory.EmptySecret) }

// lang reads a partner's language. Null clears it, and an empty one is refused.
func (f *form) lang() *string { return f.nonEmptyText("lang", directory.LanguageRule) }

// listPartners is GET /partners, newest first.
func (h *Handlers) listPartners(req *web.Request) error {
	org, p, err := h.organizationAndPage(req)
	if err != nil {
		return err
	}
	return writeRows(req, appendPartner)(h.cfg.Directory.ListPartners(org, p))
}

// readPartner is GET /partners/{id}.
func (h *Handlers) readPartner(req *web.Request) error {
	org, number, err := h.organizationAndNumber(req)
	if err != nil {
		return err
	}
	p, found := h.cfg.Directory.Partner(org, number)
	if !found {
		return web.NotFound()
	}
	web.WriteOne(req, fiber.StatusOK, false, p, appendPartner)
	return nil
}

// patchPartner is PATCH /partners/{id}.
func (h *Handlers) patchPartner(req *web.Request) error {
	how := change[*directory.Partner]{status: fiber.StatusOK, append: appendPartner}
	return how.atPartner(h, req, func(ctx context.Context, org ledger.ID, number int64) (*directory.Partner, error) {
		p, found := h.cfg.Directory.Partner(org, number)
		if !found {
			return nil, web.NotFound()
		}
		f, err := patchOf(req, asObject(p, appendPartner), fixedPartner, partnerFields...)
		if err != nil {
			return nil, err
		}
		pass := f.password("pass")
		defer clear(pass)
		patch := directory.PartnerPatch{
			Name: f.text("name"), Email: f.text("email"), Lang: f.lang(), NotifyURL: f.notifyURL(), Secret: f.secret(),
			Active: f.flag("active"), Sources: f.texts("source_addresses"), Overdraft: f.overdraft("overdraft_limit"),
		}
		return decide(ctx, f, func(ctx context.Context) (*directory.Partner, error) {
			if pass != nil {
				return h.cfg.Directory.PatchPartnerPass(ctx, org, number, patch, pass)
			}
			return h.cfg.Directory.PatchPartner(ctx, org, number, patch)
		})
	})
}

// deletePartner is DELETE /partners/{id}: the partner is switched off, and stays in the list
// with its history. A second DELETE changes nothing.
func (h *Handlers) deletePartner(req *web.Request) error {
	how := change[*directory.Partner]{status: fiber.StatusOK, append: appendPartner}
	return how.atPartner(h, req, func(ctx context.Context, org ledger.ID, number int64) (*directory.Partner, error) {
		return h.cfg.Directory.PatchPartner(ctx, org, number, directory.PartnerPatch{Active: new(bool)})
	})
}

// appendPartner writes a partner. It never shows the password, and shows a mask in place of the
// secret. A patch may send the mask back.
func appendPartner(e *web.Encoder, p *directory.Partner) {
	e.Integer("id", p.Number)
	e.Text("name", p.Name)
	e.Text("login", p.Login)
	appendBooked(e, "created_at", p.Created)
	e.Boolean("active", p.Active)
	e.TextOrNull("email", p.Email)
	e.TextOrNull("lang", p.Lang)
	e.TextOrNull("notify_url", p.NotifyURL)
	e.TextOrNull("secret", p.ShownSecret())
	e.Enter("source_addresses", '[')
	for _, source := range p.Sources {
		e.Comma()
		e.Buf = schema.AppendText(e.Buf, source.String())
	}
	e.Close(']')
	e.Enter("overdraft_limit", '[')
	for i := range p.Overdraft {
		limit := &p.Overdraft[i]
		e.Open('{')
		e.Text("currency", string(limit.Asset.Currency))
		e.Text("network", string(limit.Asset.Network))
		e.Word("env", limit.Asset.Env.String())
		e.Amount("amount", limit.Amount)
		e.Close('}')
	}
	e.Close(']')
}
