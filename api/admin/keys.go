package admin

import (
	"context"

	"github.com/gofiber/fiber/v2"

	directoryactor "mizan/actors/directory"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// createKey is POST /api_keys. The key's value is shown in this answer only.
func (h *Handlers) createKey(req *web.Request) error {
	how := change[directoryactor.IssuedKey]{status: fiber.StatusCreated, bare: true, append: appendIssued}
	return how.in(h, req, func(ctx context.Context, org ledger.ID) (directoryactor.IssuedKey, error) {
		f, err := formOf(req, "name", "partner_id", "expires_at")
		if err != nil {
			return directoryactor.IssuedKey{}, err
		}
		draft := directory.APIKeyDraft{Partner: f.required("partner_id"), Name: f.textOr("name"), Expires: f.instant("expires_at")}
		return decide(ctx, f, func(ctx context.Context) (directoryactor.IssuedKey, error) {
			k, value, err := h.cfg.Directory.CreateAPIKey(ctx, org, draft)
			return directoryactor.IssuedKey{APIKey: k, Value: value}, err
		})
	})
}

// listKeys is GET /api_keys?partner_id, newest first, never with a value.
func (h *Handlers) listKeys(req *web.Request) error {
	org, p, err := h.organizationAndPage(req, "partner_id")
	if err != nil {
		return err
	}
	return writeRows(req, appendKey)(h.cfg.Directory.ListAPIKeys(org, p))
}

// revokeKey is DELETE /api_keys/{id}: the key is no longer accepted, and stays in the list. A
// second DELETE changes nothing.
func (h *Handlers) revokeKey(req *web.Request) error {
	how := change[directoryactor.ListedKey]{status: fiber.StatusOK, append: appendKey}
	return how.at(h, req, func(ctx context.Context, org, id ledger.ID) (directoryactor.ListedKey, error) {
		return h.cfg.Directory.RevokeAPIKey(ctx, org, id)
	})
}

// appendIssued writes a new key with its value.
func appendIssued(e *web.Encoder, k directoryactor.IssuedKey) {
	e.ID("id", k.ID)
	e.Text("key", string(k.Value))
	e.Text("prefix", k.Prefix)
	e.Text("name", k.Name)
	e.Integer("partner_id", k.Partner)
	appendBooked(e, "created_at", k.Created)
	e.Instant("expires_at", k.Expires)
}

func appendKey(e *web.Encoder, k directoryactor.ListedKey) {
	e.ID("id", k.ID)
	e.Text("prefix", k.Prefix)
	e.Text("name", k.Name)
	e.Integer("partner_id", k.Partner)
	appendBooked(e, "created_at", k.Created)
	e.Instant("last_used_at", k.LastUsed)
	e.Instant("expires_at", k.Expires)
	e.Instant("revoked_at", k.Revoked)
}
