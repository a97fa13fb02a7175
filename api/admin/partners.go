package admin

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

var showPartner = fieldsOf(directory.Partners)

// createPartner is POST /partners (specification, "Partner administration").
func (h *Handlers) createPartner(req *web.Request) error {
	reply := writeReply[*directory.Partner]{status: fiber.StatusCreated, bare: true, append: showPartner}
	return reply.runInOrganization(h, req, func(ctx context.Context, org ledger.ID) (*directory.Partner, error) {
		f, err := parseRecordForm(req, directory.Partners)
		if err != nil {
			return nil, err
		}
		pass, draft := f.password("pass"), f.draft()
		defer clear(pass)
		return decide(ctx, f.form, func(ctx context.Context) (*directory.Partner, error) {
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
	reply := writeReply[*directory.Partner]{status: fiber.StatusOK, append: showPartner}
	return reply.runOnPartner(h, req, func(ctx context.Context, org ledger.ID, number int64) (*directory.Partner, error) {
		if _, found := h.cfg.Directory.Partner(org, number); !found {
			return nil, web.NotFound()
		}
		f, err := parseRecordForm(req, directory.Partners)
		if err != nil {
			return nil, err
		}
		pass := f.patchedPassword("pass")
		defer clear(pass)
		return decide(ctx, f.form, func(ctx context.Context) (*directory.Partner, error) {
			if pass != nil {
				return h.cfg.Directory.PatchPartnerPass(ctx, org, number, f.change(), pass)
			}
			return h.cfg.Directory.PatchPartner(ctx, org, number, f.change())
		})
	})
}

// deletePartner is DELETE /partners/{id}: the partner is switched off, and stays in the list
// with its history. A second DELETE changes nothing.
func (h *Handlers) deletePartner(req *web.Request) error {
	reply := writeReply[*directory.Partner]{status: fiber.StatusOK, append: showPartner}
	return reply.runOnPartner(h, req, func(ctx context.Context, org ledger.ID, number int64) (*directory.Partner, error) {
		return h.cfg.Directory.PatchPartner(ctx, org, number, func(p *directory.Partner, _ *schema.Faults) { p.Active = false })
	})
}
