package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	directoryactor "mizan/actors/directory"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// createKey is POST /api_keys. The answer is the only place that ever has the
// key's value.
func (h *adminHandlers) createKey(req *Request) error {
	how := change[directoryactor.IssuedKey]{status: fiber.StatusCreated, bare: true, append: appendIssued}
	return how.in(h, req, func(ctx context.Context, org ledger.ID) (directoryactor.IssuedKey, error) {
		f, err := formOf(req, "name", "partner_id", "expires_at")
		if err != nil {
			return directoryactor.IssuedKey{}, err
		}
		draft := directory.APIKeyDraft{Partner: f.required("partner_id"), Name: f.textOr("name"), Expires: f.instant("expires_at")}
		return decided(ctx, f, func(ctx context.Context) (directoryactor.IssuedKey, error) {
			k, value, err := h.cfg.Directory.CreateAPIKey(ctx, org, draft)
			return directoryactor.IssuedKey{APIKey: k, Value: value}, err
		})
	})
}

// listKeys is GET /api_keys?partner_id, newest first, never with a value.
func (h *adminHandlers) listKeys(req *Request) error {
	org, p, err := h.pageIn(req, "partner_id")
	if err != nil {
		return err
	}
	return writeRows(req, appendKey)(h.cfg.Directory.ListAPIKeys(org, p))
}

// revokeKey is DELETE /api_keys/{id}: the key is taken no more, and stays in
// the list. A second time changes nothing.
func (h *adminHandlers) revokeKey(req *Request) error {
	how := change[directoryactor.ListedKey]{status: fiber.StatusOK, append: appendKey}
	return how.at(h, req, func(ctx context.Context, org, id ledger.ID) (directoryactor.ListedKey, error) {
		return h.cfg.Directory.RevokeAPIKey(ctx, org, id)
	})
}

// appendIssued writes a new key with its value.
func appendIssued(e *encoder, k directoryactor.IssuedKey) {
	e.id("id", k.ID)
	e.text("key", string(k.Value))
	e.text("prefix", k.Prefix)
	e.text("name", k.Name)
	e.integer("partner_id", k.Partner)
	appendBooked(e, "created_at", k.Created)
	e.instant("expires_at", k.Expires)
}

func appendKey(e *encoder, k directoryactor.ListedKey) {
	e.id("id", k.ID)
	e.text("prefix", k.Prefix)
	e.text("name", k.Name)
	e.integer("partner_id", k.Partner)
	appendBooked(e, "created_at", k.Created)
	e.instant("last_used_at", k.LastUsed)
	e.instant("expires_at", k.Expires)
	e.instant("revoked_at", k.Revoked)
}
