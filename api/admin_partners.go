package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// createPartner is POST /partners (specification, "Partner administration").
func (s *Server) createPartner(c *call) error {
	how := change[*directory.Partner]{status: fiber.StatusCreated, bare: true, append: appendPartner}
	return how.run(s, c, func(ctx context.Context) (*directory.Partner, error) {
		org, err := s.organization(c)
		if err != nil {
			return nil, err
		}
		f, err := formOf(c)
		if err != nil {
			return nil, err
		}
		pass, _ := text(member(f.object, "pass"))
		defer clear(pass)
		active := f.flag("active")
		draft := directory.PartnerDraft{
			Name: f.textOr("name"), Login: f.textOr("login"), Email: f.textOr("email"), Lang: f.textOr("lang"),
			NotifyURL: f.textOr("notify_url"), Secret: f.textOr("secret"), Inactive: active != nil && !*active,
			Sources: valueOf(f.texts("source_addresses")), Overdraft: valueOf(f.overdraft("overdraft_limit")),
		}
		if err := f.problems.err(); err != nil {
			return nil, err
		}
		return s.cfg.Directory.CreatePartner(ctx, org, draft, pass)
	})
}

// listPartners is GET /partners, newest first.
func (s *Server) listPartners(c *call) error {
	org, err := s.organization(c)
	if err != nil {
		return err
	}
	p, err := pageOf(c)
	if err != nil {
		return err
	}
	rows, next, err := s.cfg.Directory.ListPartners(org, p)
	if err != nil {
		return err
	}
	l := newList()
	for _, p := range rows {
		l.row()
		appendPartner(&l.encoder, p)
		l.close('}')
	}
	writeJSON(c.RequestCtx, fiber.StatusOK, l.finish("created_at", next.String()))
	return nil
}

// readPartner is GET /partners/{id}.
func (s *Server) readPartner(c *call) error {
	org, err := s.organization(c)
	if err != nil {
		return err
	}
	number, err := partnerNumber(c)
	if err != nil {
		return err
	}
	p, found := s.cfg.Directory.Partner(org, number)
	if !found {
		return notFound()
	}
	single(c, fiber.StatusOK, false, p, appendPartner)
	return nil
}

// patchPartner is PATCH /partners/{id}.
func (s *Server) patchPartner(c *call) error {
	how := change[*directory.Partner]{status: fiber.StatusOK, append: appendPartner}
	return how.run(s, c, func(ctx context.Context) (*directory.Partner, error) {
		org, err := s.organization(c)
		if err != nil {
			return nil, err
		}
		number, err := partnerNumber(c)
		if err != nil {
			return nil, err
		}
		f, err := formOf(c)
		if err != nil {
			return nil, err
		}
		patch := directory.PartnerPatch{
			Name: f.text("name"), Email: f.text("email"), Lang: f.text("lang"), NotifyURL: f.text("notify_url"), Secret: f.text("secret"),
			Active: f.flag("active"), Sources: f.texts("source_addresses"), Overdraft: f.overdraft("overdraft_limit"),
		}
		if err := f.problems.err(); err != nil {
			return nil, err
		}
		return s.cfg.Directory.PatchPartner(ctx, org, number, patch)
	})
}

// deletePartner is DELETE /partners/{id}: the partner is switched off, and stays
// in the list with its history. A second time changes nothing.
func (s *Server) deletePartner(c *call) error {
	how := change[*directory.Partner]{status: fiber.StatusOK, append: appendPartner}
	return how.run(s, c, func(ctx context.Context) (*directory.Partner, error) {
		org, err := s.organization(c)
		if err != nil {
			return nil, err
		}
		number, err := partnerNumber(c)
		if err != nil {
			return nil, err
		}
		return s.cfg.Directory.PatchPartner(ctx, org, number, directory.PartnerPatch{Active: new(bool)})
	})
}

// overdraft is a list of {currency, network?, env, amount}. Whether a currency
// is one is decided where partners are.
func (f *form) overdraft(name string) *[]directory.Overdraft {
	value := member(f.object, name)
	if value == nil {
		return nil
	}
	if !isArray(value) {
		f.problems.add(name, name+" must be a list")
		return nil
	}
	limits := []directory.Overdraft{}
	m := membersOf(value)
	for {
		element, more := m.element()
		if !more {
			return &limits
		}
		limit, ok := overdraftOf(element)
		if !ok {
			f.problems.add(name, name+" must hold objects of currency, network, env and amount")
			return nil
		}
		limits = append(limits, limit)
	}
}

func overdraftOf(element []byte) (directory.Overdraft, bool) {
	if !isObject(element) {
		return directory.Overdraft{}, false
	}
	f := form{object: element}
	env, known := money.ParseEnv(f.textOr("env"))
	amount, err := money.Parse(f.textOr("amount"))
	asset := money.Asset{Currency: money.Currency(f.textOr("currency")), Network: money.Network(f.textOr("network")), Env: env}
	return directory.Overdraft{Asset: asset, Amount: amount}, known && err == nil && len(f.problems) == 0
}

// appendPartner writes a partner; its password and secret are never shown.
func appendPartner(e *encoder, p *directory.Partner) {
	e.integer("id", p.Number)
	e.text("name", p.Name)
	e.text("login", p.Login)
	e.booked("created_at", p.Created)
	e.boolean("active", p.Active)
	e.textOrNull("email", p.Email)
	e.textOrNull("lang", p.Lang)
	e.textOrNull("notify_url", p.NotifyURL)
	e.enter("source_addresses", '[')
	for _, source := range p.Sources {
		e.comma()
		e.buf = appendText(e.buf, source.String())
	}
	e.close(']')
	e.enter("overdraft_limit", '[')
	for i := range p.Overdraft {
		limit := &p.Overdraft[i]
		e.open('{')
		e.text("currency", string(limit.Asset.Currency))
		e.text("network", string(limit.Asset.Network))
		e.word("env", limit.Asset.Env.String())
		e.amount("amount", limit.Amount)
		e.close('}')
	}
	e.close(']')
}
