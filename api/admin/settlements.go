package admin

import (
	"context"

	"github.com/gofiber/fiber/v2"

	directoryactor "mizan/actors/directory"
	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// Settlements books and lists settlements: money that moved between the institution's bank
// account and partners' banks or terminals' providers. *directory.Service of actors is one.
// Errors are *ledger.Refusal, or the store's.
type Settlements interface {
	SettlePartner(ctx context.Context, org ledger.ID, number int64, out bool, d directory.SettlementDraft) (result *directory.Settlement, again bool, err error)
	SettleProvider(ctx context.Context, org, terminal ledger.ID, fee money.Amount, d directory.SettlementDraft) (result *directory.Settlement, again bool, err error)
	Settlement(org, id ledger.ID) (*directory.Settlement, bool, error)
	PartnerSettlements(ledger.ID, int64, directoryactor.SettlementPage) ([]*directory.Settlement, directoryactor.Cursor, error)
	ProviderSettlements(org, terminal ledger.ID, p directoryactor.SettlementPage) ([]*directory.Settlement, directoryactor.Cursor, error)
}

var showSettlement = records.FieldsOf(directory.Settlements)

// settlement describes the response to a settlement. If the reference was used for the same
// settlement before, the response shows that settlement and is marked as a replay.
var settlement = records.Reply[*directory.Settlement]{Status: fiber.StatusCreated, Append: showSettlement}

// settlePartner is POST /partners/{id}/settlements
// {direction,amount,currency,network?,env,reference}.
func (h *Handlers) settlePartner(req *web.Request) error {
	return runOnPartner(h, req, settlement, func(ctx context.Context, org ledger.ID, number int64) (*directory.Settlement, error) {
		f, err := parseForm(req, "direction", "amount", "currency", "network", "env", "reference")
		if err != nil {
			return nil, err
		}
		out := f.isOutward("direction")
		draft := f.settlement("amount")
		return records.Decide(ctx, f.Form, markRepeated(req, f, func(ctx context.Context) (*directory.Settlement, bool, error) {
			return h.cfg.Directory.SettlePartner(ctx, org, number, out, draft)
		}))
	})
}

// settleProvider is POST /terminal/{id}/settlements
// {gross,fee,currency,network?,env,reference}.
func (h *Handlers) settleProvider(req *web.Request) error {
	return runOnRecord(h, req, settlement, func(ctx context.Context, org, terminal ledger.ID) (*directory.Settlement, error) {
		f, err := parseForm(req, "gross", "fee", "currency", "network", "env", "reference")
		if err != nil {
			return nil, err
		}
		draft := f.settlement("gross")
		fee := f.amount("fee", true)
		return records.Decide(ctx, f.Form, markRepeated(req, f, func(ctx context.Context) (*directory.Settlement, bool, error) {
			return h.cfg.Directory.SettleProvider(ctx, org, terminal, fee, draft)
		}))
	})
}

// markRepeated marks the response if the same settlement was made before.
func markRepeated(req *web.Request, f form, settle func(context.Context) (*directory.Settlement, bool, error)) func(context.Context) (*directory.Settlement, error) {
	return func(ctx context.Context) (*directory.Settlement, error) {
		result, again, err := settle(ctx)
		if again && len(f.Problems) == 0 {
			web.MarkReplayed(req)
		}
		return result, err
	}
}

// readSettlement is GET /settlements/{id}, for settlements with partners and with providers.
func (h *Handlers) readSettlement(req *web.Request) error {
	org, id, err := h.organizationAndID(req)
	if err != nil {
		return err
	}
	n, found, err := h.cfg.Directory.Settlement(org, id)
	if err != nil {
		return err
	}
	if !found {
		return web.NotFound()
	}
	web.WriteOne(req, fiber.StatusOK, false, n, showSettlement)
	return nil
}

// listPartnerSettlements is GET /partners/{id}/settlements, newest first.
func (h *Handlers) listPartnerSettlements(req *web.Request) error {
	org, number, err := h.organizationAndNumber(req)
	if err != nil {
		return err
	}
	p, err := settlementPage(req)
	if err != nil {
		return err
	}
	return writeRows(req, showSettlement)(h.cfg.Directory.PartnerSettlements(org, number, p))
}

// listProviderSettlements is GET /terminal/{id}/settlements, newest first.
func (h *Handlers) listProviderSettlements(req *web.Request) error {
	org, terminal, err := h.organizationAndID(req)
	if err != nil {
		return err
	}
	p, err := settlementPage(req)
	if err != nil {
		return err
	}
	return writeRows(req, showSettlement)(h.cfg.Directory.ProviderSettlements(org, terminal, p))
}

// settlementPage reads the parameters of a list of settlements.
func settlementPage(req *web.Request) (directoryactor.SettlementPage, error) {
	q := web.QueryOf(req.RequestCtx, "env", "limit", "cursor")
	p := directoryactor.SettlementPage{Env: q.Env(), Limit: q.Limit()}
	p.After = rowCursor(q)
	return p, q.Problems.Err()
}
