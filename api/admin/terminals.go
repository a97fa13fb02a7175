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

// showTerminal writes the fields of a terminal: a partner's connection to one provider.
var showTerminal = records.FieldsOf(directory.Terminals)

// createTerminal is POST /terminal.
func (h *Handlers) createTerminal(req *web.Request) error {
	reply := records.Reply[*directory.Terminal]{Status: fiber.StatusCreated, Append: showTerminal, Warn: unknownParams}
	return createRecord(h, req, reply, directory.Terminals, h.cfg.Directory.CreateTerminal)
}

// listTerminals is GET /terminals?partner_id, newest first.
func (h *Handlers) listTerminals(req *web.Request) error {
	org, p, err := h.organizationAndPage(req, "partner_id")
	if err != nil {
		return err
	}
	return writeRows(req, showTerminal)(h.cfg.Directory.ListTerminals(org, p))
}

// readTerminal is GET /terminal/{id}.
func (h *Handlers) readTerminal(req *web.Request) error {
	return readRecord(h, req, h.cfg.Directory.Terminal, showTerminal)
}

// patchTerminal is PATCH /terminal/{id}.
func (h *Handlers) patchTerminal(req *web.Request) error {
	reply := records.Reply[*directory.Terminal]{Status: fiber.StatusOK, Append: showTerminal, Warn: unknownParams}
	return patchRecord(h, req, reply, directory.Terminals, h.cfg.Directory.Terminal, h.cfg.Directory.PatchTerminal)
}

// deleteTerminal is DELETE /terminal/{id}: the terminal is switched off, so that no transaction is routed to it, but stays in
// the list. A second DELETE changes nothing.
func (h *Handlers) deleteTerminal(req *web.Request) error {
	reply := records.Reply[*directory.Terminal]{Status: fiber.StatusOK, Append: showTerminal}
	return runOnRecord(h, req, reply, func(ctx context.Context, org, id ledger.ID) (*directory.Terminal, error) {
		return h.cfg.Directory.PatchTerminal(ctx, org, id, func(t *directory.Terminal, _ *schema.Faults) { t.Active = false })
	})
}

// maxWarnings bounds the number of warnings in one response.
const maxWarnings = 50

// unknownParams returns a warning for each unknown key in provider_params, because the caller may
// have misspelt a setting.
func unknownParams(t *directory.Terminal) (warnings []string) {
	unknown := t.UnknownParams()
	for _, key := range unknown[:min(len(unknown), maxWarnings)] {
		warnings = append(warnings, "provider_params."+key+" is not known here; it is kept as it is")
	}
	return warnings
}
