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

	// showNewKey writes the fields of a new key. Fields that a new key can't have yet, such as its last use, are left out.
	showNewKey = func(e *schema.Encoder, k *directory.APIKey) {
		style := records.Style
		style.JustCreated = true
		e.Buf = directory.APIKeys.AppendFields(e.Buf, k, style)
	}
)

// createKey is POST /api_keys. The key's value is shown in this response only.
func (h *Handlers) createKey(req *web.Request) error {
	reply := records.Reply[*directory.APIKey]{Status: fiber.StatusCreated, AtTopLevel: true, Append: showNewKey}
	return createRecord(h, req, reply, directory.APIKeys, func(ctx context.Context, org ledger.ID, draft directory.APIKey) (*directory.APIKey, error) {
		if req.OwnPartner != 0 && draft.Partner != req.OwnPartner {
			return nil, ledger.RefuseField("admin.createKey", "partner_id", "partner %d does not exist", draft.Partner)
		}
		return h.cfg.Directory.CreateAPIKey(ctx, org, draft)
	})
}

// listKeys is GET /api_keys?partner_id. It lists the newest key first, and never shows a key's value.
func (h *Handlers) listKeys(req *web.Request) error {
	org, p, err := h.organizationAndPage(req, "partner_id")
	if err != nil {
		return err
	}
	return writeRows(req, showKey)(h.cfg.Directory.ListAPIKeys(org, p))
}

// readKey is GET /api_keys/{id}. It also shows keys that are no longer accepted, but never a key's value.
func (h *Handlers) readKey(req *web.Request) error {
	return readRecord(h, req, h.cfg.Directory.APIKey, showKey)
}

// revokeKey is DELETE /api_keys/{id}: the key is no longer accepted, but stays in the list. A second DELETE changes nothing.
func (h *Handlers) revokeKey(req *web.Request) error {
	reply := records.Reply[*directory.APIKey]{Status: fiber.StatusOK, Append: showKey}
	return runOnRecord(h, req, reply, func(ctx context.Context, org, id ledger.ID) (*directory.APIKey, error) {
		if key, found := h.cfg.Directory.APIKey(org, id); req.OwnPartner != 0 && (!found || !mayAccess(req, key)) {
			return nil, web.NotFound()
		}
		return h.cfg.Directory.RevokeAPIKey(ctx, org, id)
	})
}
