package admin

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/ledger/directory"
)

var showOrganization = fieldsOf(directory.Organizations)

// createOrganization is POST /organizations.
func (h *Handlers) createOrganization(req *web.Request) error {
	reply := writeReply[*directory.Organization]{status: fiber.StatusCreated, append: showOrganization}
	return reply.run(h, req, func(ctx context.Context) (*directory.Organization, error) {
		f, err := parseRecordForm(req, directory.Organizations)
		if err != nil {
			return nil, err
		}
		draft := f.draft()
		return decide(ctx, f.form, func(ctx context.Context) (*directory.Organization, error) {
			return h.cfg.Directory.CreateOrganization(ctx, draft)
		})
	})
}

// listOrganizations is GET /organizations, newest first.
func (h *Handlers) listOrganizations(req *web.Request) error {
	p, err := parsePage(req)
	if err != nil {
		return err
	}
	return writeRows(req, showOrganization)(h.cfg.Directory.ListOrganizations(p))
}

// readOrganization is GET /organizations/{id}.
func (h *Handlers) readOrganization(req *web.Request) error {
	id, err := web.ParseID(req.Parameter("id"))
	if err != nil {
		return err
	}
	o, found := h.cfg.Directory.Organization(id)
	if !found {
		return web.NotFound()
	}
	web.WriteOne(req, fiber.StatusOK, false, o, showOrganization)
	return nil
}

// patchOrganization is PATCH /organizations/{id}.
func (h *Handlers) patchOrganization(req *web.Request) error {
	reply := writeReply[*directory.Organization]{status: fiber.StatusOK, append: showOrganization}
	return reply.run(h, req, func(ctx context.Context) (*directory.Organization, error) {
		id, err := web.ParseID(req.Parameter("id"))
		if err != nil {
			return nil, err
		}
		if _, found := h.cfg.Directory.Organization(id); !found {
			return nil, web.NotFound()
		}
		f, err := parseRecordForm(req, directory.Organizations)
		if err != nil {
			return nil, err
		}
		return decide(ctx, f.form, func(ctx context.Context) (*directory.Organization, error) {
			return h.cfg.Directory.PatchOrganization(ctx, id, f.change())
		})
	})
}
