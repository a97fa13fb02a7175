package admin

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/ledger/directory"
)

// showOrganization writes the fields of an organization.
var showOrganization = records.FieldsOf(directory.Organizations)

// createOrganization is POST /organizations.
func (h *Handlers) createOrganization(req *web.Request) error {
	reply := records.Reply[*directory.Organization]{Status: fiber.StatusCreated, Append: showOrganization}
	return run(h, req, reply, func(ctx context.Context) (*directory.Organization, error) {
		f, err := records.ParseColumns(req, directory.Organizations)
		if err != nil {
			return nil, err
		}
		draft := f.Draft()
		return records.Decide(ctx, f.Form, func(ctx context.Context) (*directory.Organization, error) {
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
	reply := records.Reply[*directory.Organization]{Status: fiber.StatusOK, Append: showOrganization}
	return run(h, req, reply, func(ctx context.Context) (*directory.Organization, error) {
		id, err := web.ParseID(req.Parameter("id"))
		if err != nil {
			return nil, err
		}
		if _, found := h.cfg.Directory.Organization(id); !found {
			return nil, web.NotFound()
		}
		f, err := records.ParseColumns(req, directory.Organizations)
		if err != nil {
			return nil, err
		}
		return records.Decide(ctx, f.Form, func(ctx context.Context) (*directory.Organization, error) {
			return h.cfg.Directory.PatchOrganization(ctx, id, f.Change())
		})
	})
}
