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

var (
	// showKey writes the fields of an API key.
	showKey = records.FieldsOf(directory.APIKeys)

	// showNewKey writes the fields of a new key, without the fields that a new key can't have yet.
	showNewKey = func(e *schema.Encoder, k *directory.APIKey) {
		style := records.Style
		style.JustCreated = true
		e.Buf = directory.APIKeys.AppendFields(e.Buf, k, style)
	}
)

// createKey is POST /api_keys. The key's value is shown in this response only.
func (h *Handlers) createKey(req *web.Request) error {
	reply := records.Reply[*directory.APIKey]{Status: fiber.StatusCreated, AtTopLevel: true, Append: showNewKey}
	return createRecord(h, req, reply, directory.APIKeys, h.cfg.Directory.CreateAPIKey)
}

// listKeys is GET /api_keys?partner_id, newest first, never with a value.
func (h *Handlers) listKeys(req *web.Request) error {
	org, p, err := h.organizationAndPage(req, "partner_id")
	if err != nil {
		return err
	}
	return writeRows(req, showKey)(h.cfg.Directory.ListAPIKeys(org, p))
}

// revokeKey is DELETE /api_keys/{id}: the key is no longer accepted, and stays in the list. A
// second DELETE changes nothing.
func (h *Handlers) revokeKey(req *web.Request) error {
	reply := records.Reply[*directory.APIKey]{Status: fiber.StatusOK, Append: showKey}
	return runOnRecord(h, req, reply, func(ctx context.Context, org, id ledger.ID) (*directory.APIKey, error) {
		return h.cfg.Directory.RevokeAPIKey(ctx, org, id)
	})
}
