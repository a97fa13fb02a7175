package admin

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/ledger/directory"
)

// The fields of an organization in the order of refusals, and those that never change.
var (
	organizationFields = []string{"name", "type", "status", "modules", "allowed_regions"}
	fixedOrganization  = []string{"id", "created_at"}
)

// createOrganization is POST /organizations.
func (h *Handlers) createOrganization(req *web.Request) error {
	how := change[*directory.Organization]{status: fiber.StatusCreated, append: appendOrganization}
	return how.run(h, req, func(ctx context.Context) (*directory.Organization, error) {
		f, err := formOf(req, organizationFields...)
		if err != nil {
			return nil, err
		}
		draft := directory.OrganizationDraft{
			Name: f.textOr("name"), Type: directory.OrgType(f.textOr("type")), Status: directory.OrgStatus(f.textOr("status")),
			Modules: valueOf(f.texts("modules")), Regions: valueOf(f.texts("allowed_regions")),
		}
		return decide(ctx, f, func(ctx context.Context) (*directory.Organization, error) {
			return h.cfg.Directory.CreateOrganization(ctx, draft)
		})
	})
}

// listOrganizations is GET /organizations, newest first.
func (h *Handlers) listOrganizations(req *web.Request) error {
	p, err := pageOf(req)
	if err != nil {
		return err
	}
	return writeRows(req, appendOrganization)(h.cfg.Directory.ListOrganizations(p))
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
	web.WriteOne(req, fiber.StatusOK, false, o, appendOrganization)
	return nil
}

// patchOrganization is PATCH /organizations/{id}.
func (h *Handlers) patchOrganization(req *web.Request) error {
	how := change[*directory.Organization]{status: fiber.StatusOK, append: appendOrganization}
	return how.run(h, req, func(ctx context.Context) (*directory.Organization, error) {
		id, err := web.ParseID(req.Parameter("id"))
		if err != nil {
			return nil, err
		}
		o, found := h.cfg.Directory.Organization(id)
		if !found {
			return nil, web.NotFound()
		}
		f, err := patchOf(req, asObject(o, appendOrganization), fixedOrganization, organizationFields...)
		if err != nil {
			return nil, err
		}
		patch := directory.OrganizationPatch{
			Name: f.text("name"), Type: textAs[directory.OrgType](f.text("type")), Status: textAs[directory.OrgStatus](f.text("status")),
			Modules: f.texts("modules"), Regions: f.texts("allowed_regions"),
		}
		return decide(ctx, f, func(ctx context.Context) (*directory.Organization, error) {
			return h.cfg.Directory.PatchOrganization(ctx, id, patch)
		})
	})
}

func appendOrganization(e *web.Encoder, o *directory.Organization) {
	e.ID("id", o.ID)
	e.Text("name", o.Name)
	e.Text("type", string(o.Type))
	e.Text("status", string(o.Status))
	e.Texts("modules", o.Modules)
	e.Texts("allowed_regions", o.Regions)
	appendBooked(e, "created_at", o.Created)
}
