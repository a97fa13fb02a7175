package admin

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// The fields of a terminal in the order of refusals, and those that never change.
var (
	terminalFields = []string{"name", "partner_id", "provider", "type", "is_active", "env", "provider_params", "merchant_adapter", "merchant_params"}
	fixedTerminal  = []string{"id", "partner_id", "provider", "type", "env", "created_at"}
)

// createTerminal is POST /terminal.
func (h *Handlers) createTerminal(req *web.Request) error {
	how := change[*directory.Terminal]{status: fiber.StatusCreated, append: appendTerminal, warn: unknownParams}
	return how.in(h, req, func(ctx context.Context, org ledger.ID) (*directory.Terminal, error) {
		f, err := formOf(req, terminalFields...)
		if err != nil {
			return nil, err
		}
		active := f.flag("is_active")
		draft := directory.TerminalDraft{
			Partner: f.required("partner_id"), Name: f.textOr("name"), Provider: f.textOr("provider"),
			Type: directory.TerminalType(f.textOr("type")), Inactive: active != nil && !*active, Env: f.textOr("env"),
			ProviderParams: valueOf(f.settings("provider_params")), MerchantParams: valueOf(f.json("merchant_params")),
			MerchantAdapter: f.textOr("merchant_adapter"),
		}
		return decide(ctx, f, func(ctx context.Context) (*directory.Terminal, error) {
			return h.cfg.Directory.CreateTerminal(ctx, org, draft)
		})
	})
}

// listTerminals is GET /terminals?partner_id, newest first.
func (h *Handlers) listTerminals(req *web.Request) error {
	org, p, err := h.organizationAndPage(req, "partner_id")
	if err != nil {
		return err
	}
	return writeRows(req, appendTerminal)(h.cfg.Directory.ListTerminals(org, p))
}

// readTerminal is GET /terminal/{id}.
func (h *Handlers) readTerminal(req *web.Request) error {
	return readRecord(h, req, h.cfg.Directory.Terminal, appendTerminal)
}

// patchTerminal is PATCH /terminal/{id}.
func (h *Handlers) patchTerminal(req *web.Request) error {
	how := change[*directory.Terminal]{status: fiber.StatusOK, append: appendTerminal, warn: unknownParams}
	return how.at(h, req, func(ctx context.Context, org, id ledger.ID) (*directory.Terminal, error) {
		t, found := h.cfg.Directory.Terminal(org, id)
		if !found {
			return nil, web.NotFound()
		}
		f, err := patchOf(req, asObject(t, appendTerminal), fixedTerminal, terminalFields...)
		if err != nil {
			return nil, err
		}
		patch := directory.TerminalPatch{
			Name: f.text("name"), Active: f.flag("is_active"), MerchantAdapter: f.text("merchant_adapter"),
			ProviderParams: f.settings("provider_params"), MerchantParams: f.json("merchant_params"),
		}
		return decide(ctx, f, func(ctx context.Context) (*directory.Terminal, error) {
			return h.cfg.Directory.PatchTerminal(ctx, org, id, patch)
		})
	})
}

// deleteTerminal is DELETE /terminal/{id}: the terminal is switched off, so that no transaction
// is routed to it, and stays in the list. A second DELETE changes nothing.
func (h *Handlers) deleteTerminal(req *web.Request) error {
	how := change[*directory.Terminal]{status: fiber.StatusOK, append: appendTerminal}
	return how.at(h, req, func(ctx context.Context, org, id ledger.ID) (*directory.Terminal, error) {
		return h.cfg.Directory.PatchTerminal(ctx, org, id, directory.TerminalPatch{Active: new(bool)})
	})
}

// maxWarnings bounds the warnings of one answer.
const maxWarnings = 50

// unknownParams returns a warning for each unknown key, because a caller could take a misspelt
// key for a setting.
func unknownParams(t *directory.Terminal) (warnings []string) {
	unknown := t.Unknown()
	for _, key := range unknown[:min(len(unknown), maxWarnings)] {
		warnings = append(warnings, "provider_params."+key+" is not known here; it is kept as it is")
	}
	return warnings
}

func appendTerminal(e *web.Encoder, t *directory.Terminal) {
	e.ID("id", t.ID)
	e.Text("name", t.Name)
	e.Integer("partner_id", t.Partner)
	e.Text("provider", t.Provider)
	e.Text("type", string(t.Type))
	e.Boolean("is_active", t.Active)
	e.Word("env", t.Env.String())
	appendParams(e, "provider_params", t.ProviderParams)
	e.Text("merchant_adapter", t.MerchantAdapter)
	appendParams(e, "merchant_params", t.MerchantParams)
	appendBooked(e, "created_at", t.Created)
}

// settings reads provider_params. It checks the types of money_storage in methods, which the
// directory does not know.
func (f *form) settings(name string) *[]byte {
	sent := f.json(name)
	if sent == nil || len(*sent) == 0 {
		return sent
	}
	methods := web.Member(*sent, "methods")
	if !web.IsArray(methods) {
		return sent
	}
	m := jsonwalk.MembersOf(methods)
	for {
		element, more := m.Element()
		if !more {
			return sent
		}
		text, isText := jsonwalk.Text(element)
		if _, known := payment.Method(text); isText && !known {
			f.problems.Add(name+".methods", "holds what is not a money_storage type")
			return sent
		}
	}
}

// appendParams writes a terminal's parameters as they were sent, with a mask in place of
// secrets. A patch may send the mask back.
func appendParams(e *web.Encoder, name string, params []byte) {
	if len(params) > 0 {
		params = directory.Masked(params)
	}
	e.Object(name, params)
}
