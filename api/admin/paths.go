package admin

import (
	"github.com/gofiber/fiber/v2"

	directoryactor "mizan/actors/directory"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// findByID looks up a record of an organization by its id.
type findByID[T any] func(org, id ledger.ID) (*T, bool)

// organizationAndID returns the request's organization and the id in its path.
func (h *Handlers) organizationAndID(req *web.Request) (org, id ledger.ID, err error) {
	if org, err = req.Organization(h.cfg.Directory); err != nil {
		return org, id, err
	}
	id, err = web.ParseID(req.Parameter("id"))
	return org, id, err
}

// organizationAndNumber returns the request's organization and the partner number in its path.
func (h *Handlers) organizationAndNumber(req *web.Request) (org ledger.ID, number int64, err error) {
	if org, err = req.Organization(h.cfg.Directory); err != nil {
		return org, 0, err
	}
	number, err = partnerNumber(req)
	return org, number, err
}

// organizationAndPage returns the request's organization and the requested page of a list. known names the query parameters
// that only this list accepts, besides those that all lists accept.
func (h *Handlers) organizationAndPage(req *web.Request, known ...string) (org ledger.ID, p directoryactor.Page, err error) {
	if org, err = req.Organization(h.cfg.Directory); err != nil {
		return org, p, err
	}
	p, err = parsePage(req, known...)
	return org, p, err
}

// recordAt returns the record whose id is in the path.
func recordAt[T any](h *Handlers, req *web.Request, lookup findByID[T]) (*T, error) {
	org, id, err := h.organizationAndID(req)
	if err != nil {
		return nil, err
	}
	record, found := lookup(org, id)
	if !found || !mayAccess(req, record) {
		return nil, web.NotFound()
	}
	return record, nil
}

// mayAccess tells whether the request may access a record. If req.OwnPartner is set, the request may access only the records of
// the partner with this number.
func mayAccess(req *web.Request, record any) bool {
	if req.OwnPartner == 0 {
		return true
	}
	switch r := record.(type) {
	case *directory.Terminal:
		return r.Partner == req.OwnPartner
	case *directory.APIKey:
		return r.Partner == req.OwnPartner
	}
	return false
}

// mayAccessRecipient tells whether recipient is the id of one of the organization's terminals or partners, and whether the
// request may access it.
func (h *Handlers) mayAccessRecipient(req *web.Request, org, recipient ledger.ID) bool {
	number, found := h.cfg.Directory.PartnerOfRecipient(org, recipient)
	return found && (req.OwnPartner == 0 || number == req.OwnPartner)
}

// readRecord responds with the record whose id is in the path.
func readRecord[T any](h *Handlers, req *web.Request, lookup findByID[T], appendRecord func(*schema.Encoder, *T)) error {
	record, err := recordAt(h, req, lookup)
	if err != nil {
		return err
	}
	web.WriteOne(req, fiber.StatusOK, false, record, appendRecord)
	return nil
}

// writeRows returns a function to which the caller passes the results of a List method. The function responds with the rows, or
// returns the method's error. appendRow writes one row.
func writeRows[T any](req *web.Request, appendRow func(*schema.Encoder, T)) func([]T, directoryactor.Cursor, error) error {
	return func(rows []T, next directoryactor.Cursor, err error) error {
		if err != nil {
			return err
		}
		l := web.NewList()
		for _, row := range rows {
			l.BeginRow()
			appendRow(&l.Encoder, row)
			l.Close('}')
		}
		web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish("created_at", next.String()))
		return nil
	}
}
