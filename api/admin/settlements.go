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

// Settlements books and lists settlements: money that moved between the institution's bank account and partners' banks or
// terminals' providers. *directory.Service of package actors/directory implements it. Its methods return a *ledger.Refusal or
// an error of the store.
type Settlements interface {
	SettlePartner(ctx context.Context, org ledger.ID, partner int64, outward bool, draft directory.SettlementDraft) (result *directory.Settlement, isRepeated bool, err error)
	SettleProvider(ctx context.Context, org, terminal ledger.ID, fee money.Amount, draft directory.SettlementDraft) (result *directory.Settlement, isRepeated bool, err error)
	Settlement(org, id ledger.ID) (*directory.Settlement, bool, error)
	PartnerSettlements(org ledger.ID, partner int64, p directoryactor.SettlementPage) ([]*directory.Settlement, directoryactor.Cursor, error)
	ProviderSettlements(org, terminal ledger.ID, p directoryactor.SettlementPage) ([]*directory.Settlement, directoryactor.Cursor, error)
}

var showSettlement = records.FieldsOf(directory.Settlements)

// settlementReply describes the response to a settlement. If the same settlement was booked before with this reference, the
// response shows the earlier settlement and is marked as a replay.
var settlementReply = records.Reply[*directory.Settlement]{Status: fiber.StatusCreated, Append: showSettlement}

// settlePartner is POST /partners/{id}/settlements
// {direction,amount,currency,network?,env,reference}.
func (h *Handlers) settlePartner(req *web.Request) error {
	return runOnPartner(h, req, settlementReply, func(ctx context.Context, org ledger.ID, partner int64) (*directory.Settlement, error) {
		f, err := parseForm(req, "direction", "amount", "currency", "network", "env", "reference")
		if err != nil {
			return nil, err
		}
		outward := f.isOutward("direction")
		draft := f.settlement("amount")
		return records.Decide(ctx, f.Form, markRepeated(req, f, func(ctx context.Context) (*directory.Settlement, bool, error) {
			return h.cfg.Directory.SettlePartner(ctx, org, partner, outward, draft)
		}))
	})
}

// settleProvider is POST /terminal/{id}/settlements
// {gross,fee,currency,network?,env,reference}.
func (h *Handlers) settleProvider(req *web.Request) error {
	return runOnRecord(h, req, settlementReply, func(ctx context.Context, org, terminal ledger.ID) (*directory.Settlement, error) {
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

// markRepeated returns a function that calls settle. If the same settlement was booked before, the function marks the response
// as a replay.
func markRepeated(req *web.Request, f form, settle func(context.Context) (*directory.Settlement, bool, error)) func(context.Context) (*directory.Settlement, error) {
	return func(ctx context.Context) (*directory.Settlement, error) {
		result, isRepeated, err := settle(ctx)
		if isRepeated && len(f.Problems) == 0 {
			web.MarkReplayed(req)
		}
		return result, err
	}
}

// readSettlement is GET /settlements/{id}. The settlement may be with a partner or with a provider.
func (h *Handlers) readSettlement(req *web.Request) error {
	org, id, err := h.organizationAndID(req)
	if err != nil {
		return err
	}
	settlement, found, err := h.cfg.Directory.Settlement(org, id)
	if err != nil {
		return err
	}
	if !found {
		return web.NotFound()
	}
	web.WriteOne(req, fiber.StatusOK, false, settlement, showSettlement)
	return nil
}

// listPartnerSettlements is GET /partners/{id}/settlements, newest first.
func (h *Handlers) listPartnerSettlements(req *web.Request) error {
	org, partner, err := h.organizationAndNumber(req)
	if err != nil {
		return err
	}
	p, err := settlementPage(req)
	if err != nil {
		return err
	}
	return writeRows(req, showSettlement)(h.cfg.Directory.PartnerSettlements(org, partner, p))
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

// settlementPage reads the query of a request for a list of settlements.
func settlementPage(req *web.Request) (directoryactor.SettlementPage, error) {
	q := web.QueryOf(req.RequestCtx, "env", "limit", "cursor")
	p := directoryactor.SettlementPage{Env: q.Env(), Limit: q.Limit()}
	p.After = rowCursor(q)
	return p, q.Problems.Err()
}
