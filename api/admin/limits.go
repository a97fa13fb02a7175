package admin

import (
	"context"
	"strconv"

	"github.com/gofiber/fiber/v2"

	directoryactor "mizan/actors/directory"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// Limits changes and lists limits and the block list. It is a part of Directory.
type Limits interface {
	Limit(org, id ledger.ID) (*directory.Limit, bool)
	CreateLimit(context.Context, ledger.ID, directory.LimitDraft) (*directory.Limit, error)
	PatchLimit(ctx context.Context, org, id ledger.ID, p directory.LimitPatch) (*directory.Limit, error)
	ListLimits(ledger.ID, directoryactor.Page) ([]*directory.Limit, directoryactor.Cursor, error)

	Block(org, id ledger.ID) (*directory.Block, error)
	CreateBlock(context.Context, ledger.ID, directory.BlockDraft) (*directory.Block, error)
	DeleteBlock(ctx context.Context, org, id ledger.ID) (*directory.Block, error)
	ListBlocks(ledger.ID, directoryactor.BlockPage) ([]*directory.Block, directoryactor.Cursor, error)
}

// The fields of a limit in the order of refusals. Package directory decides which of them never
// change.
var (
	limitFields = []string{"partner_id", "terminal_id", "kind", "type", "currency", "network", "env", "max_amount", "max_count", "window", "scope", "active"}
	fixedLimit  = []string{"id", "created_at"}
)

// createLimit is POST /limits (specification, "Partner limits").
func (h *Handlers) createLimit(req *web.Request) error {
	how := change[*directory.Limit]{status: fiber.StatusCreated, append: appendLimit}
	return how.in(h, req, func(ctx context.Context, org ledger.ID) (*directory.Limit, error) {
		f, err := formOf(req, limitFields...)
		if err != nil {
			return nil, err
		}
		active := f.flag("active")
		draft := directory.LimitDraft{
			Partner: f.required("partner_id"), Terminal: f.id("terminal_id"), Kind: directory.LimitKind(f.textOr("kind")),
			Type: directory.TerminalType(f.textOr("type")), Currency: f.currencyOr("currency"), Network: f.text("network"),
			Env: f.textOr("env"), MaxAmount: f.minorUnits("max_amount"), MaxCount: f.count("max_count", directory.MaxCount),
			Window: f.textOr("window"), Scope: directory.Scope(f.textOr("scope")), Inactive: active != nil && !*active,
		}
		return decide(ctx, f, func(ctx context.Context) (*directory.Limit, error) {
			return h.cfg.Directory.CreateLimit(ctx, org, draft)
		})
	})
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
	return writeRows(req, appendLimit)(h.cfg.Directory.ListLimits(org, p))
}

// readLimit is GET /limits/{id}.
func (h *Handlers) readLimit(req *web.Request) error {
	return readRecord(h, req, h.cfg.Directory.Limit, appendLimit)
}

// patchLimit is PATCH /limits/{id}.
func (h *Handlers) patchLimit(req *web.Request) error {
	how := change[*directory.Limit]{status: fiber.StatusOK, append: appendLimit}
	return how.run(h, req, func(ctx context.Context) (*directory.Limit, error) {
		l, err := recordAt(h, req, h.cfg.Directory.Limit)
		if err != nil {
			return nil, err
		}
		f, err := patchOf(req, asObject(l, appendLimit), fixedLimit, limitFields...)
		if err != nil {
			return nil, err
		}
		patch := directory.LimitPatch{
			MaxAmount: f.minorUnits("max_amount"), MaxCount: f.count("max_count", directory.MaxCount), Active: f.flag("active"),
			Partner: f.integer("partner_id"), Terminal: f.id("terminal_id"), Kind: textAs[directory.LimitKind](f.text("kind")),
			Type: textAs[directory.TerminalType](f.text("type")), Currency: f.text("currency"), Network: f.text("network"),
			Env: f.text("env"), Window: f.text("window"), Scope: textAs[directory.Scope](f.text("scope")),
		}
		return decide(ctx, f, func(ctx context.Context) (*directory.Limit, error) {
			return h.cfg.Directory.PatchLimit(ctx, l.Org, l.ID, patch)
		})
	})
}

// deleteLimit is DELETE /limits/{id}: the limit is switched off and stays in the list. A second
// DELETE changes nothing.
func (h *Handlers) deleteLimit(req *web.Request) error {
	how := change[*directory.Limit]{status: fiber.StatusOK, append: appendLimit}
	return how.at(h, req, func(ctx context.Context, org, id ledger.ID) (*directory.Limit, error) {
		return h.cfg.Directory.PatchLimit(ctx, org, id, directory.LimitPatch{Active: new(bool)})
	})
}

// id reads a UUID field.
func (f *form) id(name string) *ledger.ID {
	if f.clears(name) {
		return new(ledger.ID)
	}
	text := f.text(name)
	if text == nil {
		return nil
	}
	id, err := web.ParseID(*text)
	if err != nil {
		f.problems.Add(name, name+" must be a UUID")
		return nil
	}
	return &id
}

// currencyOr reads the code of a currency that transactions accept; empty if it is absent.
func (f *form) currencyOr(name string) string {
	if web.Member(f.object, name) == nil {
		return ""
	}
	return string(f.currency(name))
}

// minorUnits reads an optional amount above zero.
func (f *form) minorUnits(name string) *money.Amount {
	if f.clears(name) {
		return new(money.Amount)
	}
	if web.Member(f.object, name) == nil {
		return nil
	}
	amount := f.amount(name, false)
	return &amount
}

// integer reads a JSON integer.
func (f *form) integer(name string) *int64 {
	if f.clears(name) {
		return new(int64)
	}
	if web.Member(f.object, name) == nil {
		return nil
	}
	n := f.number(name)
	return &n
}

// count reads a JSON integer from 1 to most.
func (f *form) count(name string, most int64) *int64 {
	if f.clears(name) {
		return new(int64)
	}
	value := web.Member(f.object, name)
	if value == nil {
		return nil
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n < 1 || n > most {
		f.problems.Add(name, name+" must be an integer from 1 to "+strconv.FormatInt(most, 10))
		return nil
	}
	return &n
}

func appendLimit(e *web.Encoder, l *directory.Limit) {
	e.ID("id", l.ID)
	e.Integer("partner_id", l.Partner)
	if l.Terminal == (ledger.ID{}) {
		e.Null("terminal_id")
	} else {
		e.ID("terminal_id", l.Terminal)
	}
	e.Word("kind", string(l.Kind))
	e.TextOrNull("type", string(l.Type))
	e.TextOrNull("currency", string(l.Asset.Currency))
	e.Text("network", string(l.Asset.Network))
	e.Word("env", l.Asset.Env.String())
	if l.Kind == directory.Velocity {
		e.Null("max_amount")
		e.Integer("max_count", l.MaxCount)
	} else {
		e.Amount("max_amount", l.MaxAmount)
		e.Null("max_count")
	}
	e.TextOrNull("window", l.WindowName())
	e.Word("scope", string(l.Scope))
	e.Boolean("active", l.Active)
	appendBooked(e, "created_at", l.Created)
}
