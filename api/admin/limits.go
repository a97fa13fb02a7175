package admin

import (
	"context"

	"github.com/gofiber/fiber/v2"

	directoryactor "mizan/actors/directory"
	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// Limits creates, changes and lists the limits on how much and how often payers pay, and the entries of the block list.
// Directory includes this interface.
type Limits interface {
	Limit(org, id ledger.ID) (*directory.Limit, bool)
	CreateLimit(context.Context, ledger.ID, directory.Limit) (*directory.Limit, error)
	PatchLimit(ctx context.Context, org, id ledger.ID, change schema.Change[directory.Limit]) (*directory.Limit, error)
	ListLimits(ledger.ID, directoryactor.Page) ([]*directory.Limit, directoryactor.Cursor, error)

	Block(org, id ledger.ID) (*directory.Block, error)
	CreateBlock(context.Context, ledger.ID, directory.BlockDraft) (*directory.Block, error)
	DeleteBlock(ctx context.Context, org, id ledger.ID) (*directory.Block, error)
	ListBlocks(ledger.ID, directoryactor.BlockPage) ([]*directory.Block, directoryactor.Cursor, error)
}

// showLimit writes the fields of a limit.
var showLimit = records.FieldsOf(directory.Limits)

// createLimit is POST /limits (specification, "Partner limits").
func (h *Handlers) createLimit(req *web.Request) error {
	reply := records.Reply[*directory.Limit]{Status: fiber.StatusCreated, Append: showLimit}
	return createRecord(h, req, reply, directory.Limits, h.cfg.Directory.CreateLimit)
}

// listLimits is GET /limits?partner_id, newest first.
func (h *Handlers) listLimits(req *web.Request) error {
	org, p, err := h.organizationAndPage(req, "partner_id")
	if err != nil {
		return err
	}
	if p.Partner != 0 {
		if _, found := h.cfg.Directory.Partner(org, p.Partner); !found {
			return web.NotFound()
		}
	}
	return writeRows(req, showLimit)(h.cfg.Directory.ListLimits(org, p))
}

// readLimit is GET /limits/{id}.
func (h *Handlers) readLimit(req *web.Request) error {
	return readRecord(h, req, h.cfg.Directory.Limit, showLimit)
}

// patchLimit is PATCH /limits/{id}.
func (h *Handlers) patchLimit(req *web.Request) error {
	reply := records.Reply[*directory.Limit]{Status: fiber.StatusOK, Append: showLimit}
	return patchRecord(h, req, reply, directory.Limits, h.cfg.Directory.Limit, h.cfg.Directory.PatchLimit)
}

// deleteLimit is DELETE /limits/{id}: the limit is switched off and stays in the list. A second
// DELETE changes nothing.
func (h *Handlers) deleteLimit(req *web.Request) error {
	reply := records.Reply[*directory.Limit]{Status: fiber.StatusOK, Append: showLimit}
	return runOnRecord(h, req, reply, func(ctx context.Context, org, id ledger.ID) (*directory.Limit, error) {
		return h.cfg.Directory.PatchLimit(ctx, org, id, func(l *directory.Limit, _ *schema.Faults) { l.Active = false })
	})
}
