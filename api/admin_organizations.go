package api

import (
	"github.com/gofiber/fiber/v2"

	"mizan/ledger/directory"
)

// createOrganization is POST /organizations.
func (s *Server) createOrganization(c *call) error {
	f, err := formOf(c)
	if err != nil {
		return err
	}
	draft := directory.OrganizationDraft{
		Name: f.textOr("name"), Type: directory.OrgType(f.textOr("type")), Status: directory.OrgStatus(f.textOr("status")),
		Modules: valueOf(f.texts("modules")), Regions: valueOf(f.texts("allowed_regions")),
	}
	if err := f.problems.err(); err != nil {
		return err
	}
	ctx, cancel := within()
	defer cancel()
	o, err := s.cfg.Directory.CreateOrganization(ctx, draft)
	if err != nil {
		return err
	}
	single(c, fiber.StatusCreated, false, func(e *encoder) { appendOrganization(e, o) })
	return nil
}

// listOrganizations is GET /organizations, newest first.
func (s *Server) listOrganizations(c *call) error {
	p, err := pageOf(c)
	if err != nil {
		return err
	}
	rows, next, err := s.cfg.Directory.ListOrganizations(p)
	if err != nil {
		return err
	}
	l := newList()
	for _, o := range rows {
		l.row()
		appendOrganization(&l.encoder, o)
		l.close('}')
	}
	writeJSON(c.RequestCtx, fiber.StatusOK, l.finish("created_at", next.String()))
	return nil
}

// readOrganization is GET /organizations/{id}.
func (s *Server) readOrganization(c *call) error {
	id, err := parseID(c.parameter("id"))
	if err != nil {
		return err
	}
	o, found := s.cfg.Directory.Organization(id)
	if !found {
		return notFound()
	}
	single(c, fiber.StatusOK, false, func(e *encoder) { appendOrganization(e, o) })
	return nil
}

// patchOrganization is PATCH /organizations/{id}.
func (s *Server) patchOrganization(c *call) error {
	id, err := parseID(c.parameter("id"))
	if err != nil {
		return err
	}
	f, err := formOf(c)
	if err != nil {
		return err
	}
	patch := directory.OrganizationPatch{
		Name: f.text("name"), Type: like[directory.OrgType](f.text("type")), Status: like[directory.OrgStatus](f.text("status")),
		Modules: f.texts("modules"), Regions: f.texts("allowed_regions"),
	}
	if err := f.problems.err(); err != nil {
		return err
	}
	ctx, cancel := within()
	defer cancel()
	o, err := s.cfg.Directory.PatchOrganization(ctx, id, patch)
	if err != nil {
		return err
	}
	single(c, fiber.StatusOK, false, func(e *encoder) { appendOrganization(e, o) })
	return nil
}

func appendOrganization(e *encoder, o *directory.Organization) {
	e.id("id", o.ID)
	e.text("name", o.Name)
	e.text("type", string(o.Type))
	e.text("status", string(o.Status))
	e.texts("modules", o.Modules)
	e.texts("allowed_regions", o.Regions)
	e.instant("created_at", o.Created)
}
