package admin

import (
	"context"

	"github.com/gofiber/fiber/v2"

	directoryactor "mizan/actors/directory"
	"mizan/api/web"
	"mizan/ledger"
)

// find looks up a record of an organization by its id.
type find[T any] func(org, id ledger.ID) (*T, bool)

// organizationAndID is the organization that a request is about and the id in its path.
func (h *Handlers) organizationAndID(req *web.Request) (org, id ledger.ID, err error) {
	if org, err = req.Organization(h.cfg.Directory); err != nil {
		return org, id, err
	}
	id, err = web.ParseID(req.Parameter("id"))
	return org, id, err
}

// organizationAndNumber is the organization that a request is about and the partner's
// number in its path.
func (h *Handlers) organizationAndNumber(req *web.Request) (org ledger.ID, number int64, err error) {
	if org, err = req.Organization(h.cfg.Directory); err != nil {
		return org, 0, err
	}
	number, err = partnerNumber(req)
	return org, number, err
}

// organizationAndPage is the organization that a request is about and the page of a list
// that it asks for.
func (h *Handlers) organizationAndPage(req *web.Request, known ...string) (org ledger.ID, p directoryactor.Page, err error) {
	if org, err = req.Organization(h.cfg.Directory); err != nil {
		return org, p, err
	}
	p, err = pageOf(req, known...)
	return org, p, err
}

// recordAt is the record that the path names.
func recordAt[T any](h *Handlers, req *web.Request, by find[T]) (*T, error) {
	org, id, err := h.organizationAndID(req)
	if err != nil {
		return nil, err
	}
	record, found := by(org, id)
	if !found {
		return nil, web.NotFound()
	}
	return record, nil
}

// readRecord answers with the record that the path names.
func readRecord[T any](h *Handlers, req *web.Request, by find[T], appendRecord func(*web.Encoder, *T)) error {
	record, err := recordAt(h, req, by)
	if err != nil {
		return err
	}
	web.WriteOne(req, fiber.StatusOK, false, record, appendRecord)
	return nil
}

// writeRows answers with a page of a list, or with the list's error.
func writeRows[T any](req *web.Request, appendRow func(*web.Encoder, T)) func([]T, directoryactor.Cursor, error) error {
	return func(rows []T, next directoryactor.Cursor, err error) error {
		if err != nil {
			return err
		}
		l := web.NewList()
		for _, row := range rows {
			l.Row()
			appendRow(&l.Encoder, row)
			l.Close('}')
		}
		web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish("created_at", next.String()))
		return nil
	}
}

// in is run for a change inside the organization that the request is about.
func (how change[T]) in(h *Handlers, req *web.Request, do func(ctx context.Context, org ledger.ID) (T, error)) error {
	return how.run(h, req, func(ctx context.Context) (made T, err error) {
		org, err := req.Organization(h.cfg.Directory)
		if err != nil {
			return made, err
		}
		return do(ctx, org)
	})
}

// at is run for a change of the record that the path names.
func (how change[T]) at(h *Handlers, req *web.Request, do func(ctx context.Context, org, id ledger.ID) (T, error)) error {
	return how.run(h, req, func(ctx context.Context) (made T, err error) {
		org, id, err := h.organizationAndID(req)
		if err != nil {
			return made, err
		}
		return do(ctx, org, id)
	})
}

// atPartner is run for a change of the partner that the path names, or of something of the
// partner's.
func (how change[T]) atPartner(h *Handlers, req *web.Request, do func(ctx context.Context, org ledger.ID, number int64) (T, error)) error {
	return how.run(h, req, func(ctx context.Context) (made T, err error) {
		org, number, err := h.organizationAndNumber(req)
		if err != nil {
			return made, err
		}
		return do(ctx, org, number)
	})
}
