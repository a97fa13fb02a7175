package admin

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// showPartner writes the fields of a partner.
var showPartner = records.FieldsOf(directory.Partners)

// createPartner is POST /partners (specification, "Partner administration").
func (h *Handlers) createPartner(req *web.Request) error {
	reply := records.Reply[*directory.Partner]{Status: fiber.StatusCreated, AtTopLevel: true, Append: showPartner}
	return runInOrganization(h, req, reply, func(ctx context.Context, org ledger.ID) (*directory.Partner, error) {
		f, err := records.ParseColumns(req, directory.Partners)
		if err != nil {
			return nil, err
		}
		pass, draft := form{f.Form}.password("pass"), f.Draft()
		defer clear(pass)
		if err := h.checkLogo(f.Form, org, draft.Branding.Logo); err != nil {
			return nil, err
		}
		return records.Decide(ctx, f.Form, func(ctx context.Context) (*directory.Partner, error) {
			return h.cfg.Directory.CreatePartner(ctx, org, draft, pass)
		})
	})
}

// listPartners is GET /partners, newest first.
func (h *Handlers) listPartners(req *web.Request) error {
	org, p, err := h.organizationAndPage(req)
	if err != nil {
		return err
	}
	return writeRows(req, showPartner)(h.cfg.Directory.ListPartners(org, p))
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
	web.WriteOne(req, fiber.StatusOK, false, p, showPartner)
	return nil
}

// patchPartner is PATCH /partners/{id}.
func (h *Handlers) patchPartner(req *web.Request) error {
	reply := records.Reply[*directory.Partner]{Status: fiber.StatusOK, Append: showPartner}
	return runOnPartner(h, req, reply, func(ctx context.Context, org ledger.ID, number int64) (*directory.Partner, error) {
		current, found := h.cfg.Directory.Partner(org, number)
		if !found {
			return nil, web.NotFound()
		}
		f, err := records.ParseColumns(req, directory.Partners)
		if err != nil {
			return nil, err
		}
		pass := form{f.Form}.patchedPassword("pass")
		defer clear(pass)
		next := *current
		if f.Change()(&next, new(schema.Faults)); next.Branding.Logo != current.Branding.Logo {
			if err := h.checkLogo(f.Form, org, next.Branding.Logo); err != nil {
				return nil, err
			}
		}
		return records.Decide(ctx, f.Form, func(ctx context.Context) (*directory.Partner, error) {
			if pass != nil {
				return h.cfg.Directory.PatchPartnerPass(ctx, org, number, f.Change(), pass)
			}
			return h.cfg.Directory.PatchPartner(ctx, org, number, f.Change())
		})
	})
}

// deletePartner is DELETE /partners/{id}: the partner is switched off, but stays in the list with its history. A second DELETE
// changes nothing.
func (h *Handlers) deletePartner(req *web.Request) error {
	reply := records.Reply[*directory.Partner]{Status: fiber.StatusOK, Append: showPartner}
	return runOnPartner(h, req, reply, func(ctx context.Context, org ledger.ID, number int64) (*directory.Partner, error) {
		return h.cfg.Directory.PatchPartner(ctx, org, number, func(p *directory.Partner, _ *schema.Faults) { p.Active = false })
	})
}

// checkLogo adds a problem unless the logo's address belongs to an image that the organization has uploaded.
func (h *Handlers) checkLogo(f *records.Form, org ledger.ID, address string) error {
	if address == "" {
		return nil
	}
	isImage := false
	if h.cfg.IsImage != nil {
		var err error
		if isImage, err = h.cfg.IsImage(org, address); err != nil {
			return err
		}
	}
	if !isImage {
		f.Problems.Add("branding.logo", "is not the address of an image that was uploaded here")
	}
	return nil
}
