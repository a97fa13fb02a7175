package reconciliation

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	reconciliationactor "mizan/actors/reconciliation"
	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/reconciliation"
	"mizan/ledger/schema"
)

// Service imports, decides, closes and reads; *reconciliation.Service of package actors/reconciliation implements it. Its methods
// return a *ledger.Refusal or an error of the store.
type Service interface {
	Import(ctx context.Context, u reconciliationactor.Upload) (result *reconciliation.Report, isRepeated bool, err error)
	Report(org, id ledger.ID) (*reconciliation.Report, error)
	Reports(org ledger.ID, p reconciliationactor.Page) ([]*reconciliation.Report, ledger.Micros, error)
	Difference(org, id ledger.ID) (*reconciliation.FoundDifference, error)
	Differences(org ledger.ID, p reconciliationactor.Page, f reconciliationactor.Filter) ([]*reconciliation.FoundDifference, ledger.Micros, error)
	Settle(ctx context.Context, org, id ledger.ID, r reconciliation.Request) (*reconciliation.FoundDifference, error)
	Summary(org, terminal ledger.ID, asset money.Asset, at ledger.Micros) (*reconciliationactor.Summary, error)
	Days(org ledger.ID, p reconciliationactor.Page) ([]*reconciliation.Day, ledger.Micros, error)
	Close(ctx context.Context, org, terminal ledger.ID, date ledger.Date) (*reconciliation.Day, error)
}

// Directory finds organizations and terminals, and the replies that are cached for idempotency keys; *directory.Service of package
// actors/directory implements it.
type Directory interface {
	web.Organizations
	Terminal(org, id ledger.ID) (*directory.Terminal, bool)
	FindCachedReply(actors.Key) (answer directoryactor.CachedReply, found bool, err error)
}

// Config contains the services that the handlers call.
type Config struct {
	Service     Service
	Directory   Directory
	Clock       clock.Clock
	Fingerprint func(request []byte) string // returns a keyed hash of a request
}

// Handlers serves the routes of reconciliation.
type Handlers struct {
	cfg  Config
	keys web.IdempotencyKeys
}

// New returns the handlers.
func New(cfg Config) *Handlers {
	return &Handlers{cfg: cfg, keys: web.IdempotencyKeys{Fingerprint: cfg.Fingerprint}}
}

const root = "/api/v1/reconciliation"

// Routes lists the routes. There are none if the service is nil.
func (h *Handlers) Routes() []web.Route {
	if h.cfg.Service == nil {
		return nil
	}
	const get, post = fiber.MethodGet, fiber.MethodPost
	writer := web.Access{Callers: web.AdminToken}
	reader := web.Access{Callers: web.AdminToken | web.Session, Roles: web.LedgerRoles}
	return []web.Route{
		// A repeated upload has no further effect, and an import may take longer than the reply to an idempotency key is waited for.
		{Method: post, Path: root + "/reports", Access: writer, Console: web.ByAdmin(), Command: true, Repeatable: true, MaxBody: maxBody, Handle: h.importReport},
		{Method: get, Path: root + "/reports", Access: reader, Handle: h.listReports},
		{Method: get, Path: root + "/reports/:id", Access: reader, Handle: h.readReport},
		{Method: get, Path: root + "/differences", Access: reader, Handle: h.listDifferences},
		{Method: get, Path: root + "/differences/:id", Access: reader, Handle: h.readDifference},
		{Method: post, Path: root + "/differences/:id/settle", Access: writer, Console: web.ByAdmin(), JSON: true, Command: true, Handle: h.settle},
		{Method: get, Path: root + "/summary", Access: reader, Handle: h.summary},
		{Method: get, Path: root + "/days/:id", Access: reader, Handle: h.listDays},
		{Method: post, Path: root + "/days/:id/:date/close", Access: writer, Console: web.ByAdmin(), Command: true, Handle: h.closeDay}, // the body may be absent
	}
}

// organization returns the organization of the request: that of the caller's session, or the one that the operator names.
func (h *Handlers) organization(req *web.Request) (ledger.ID, error) {
	if req.Principal.Session != nil {
		return req.Principal.Org, nil
	}
	return req.Organization(h.cfg.Directory)
}

// organizationAndID returns the organization, and the id in the path.
func (h *Handlers) organizationAndID(req *web.Request) (org, id ledger.ID, err error) {
	if org, err = h.organization(req); err != nil {
		return org, id, err
	}
	id, err = web.ParseID(req.Parameter("id"))
	return org, id, err
}

// cached returns what is needed to look up the cached reply for a request's idempotency key.
func (h *Handlers) cached() records.CachedReplies {
	return records.CachedReplies{Reply: h.cfg.Directory.FindCachedReply, Key: h.keys.Admin}
}

var (
	showReport     = records.FieldsOf(reconciliation.Reports)
	showDifference = records.FieldsOf(reconciliation.Differences)
	showDay        = records.FieldsOf(reconciliation.Days)
)

// readReport is GET /reconciliation/reports/{id}.
func (h *Handlers) readReport(req *web.Request) error {
	org, id, err := h.organizationAndID(req)
	if err != nil {
		return err
	}
	r, err := h.cfg.Service.Report(org, id)
	if err != nil {
		return err
	}
	web.WriteOne(req, fiber.StatusOK, false, r, showReport)
	return nil
}

// readDifference is GET /reconciliation/differences/{id}.
func (h *Handlers) readDifference(req *web.Request) error {
	org, id, err := h.organizationAndID(req)
	if err != nil {
		return err
	}
	d, err := h.cfg.Service.Difference(org, id)
	if err != nil {
		return err
	}
	web.WriteOne(req, fiber.StatusOK, false, d, showDifference)
	return nil
}

// listReports is GET /reconciliation/reports, newest first.
func (h *Handlers) listReports(req *web.Request) error {
	org, err := h.organization(req)
	if err != nil {
		return err
	}
	q := web.QueryOf(req.RequestCtx, "terminal_id", "limit", "cursor")
	p := readPage(q)
	if err := q.Problems.Err(); err != nil {
		return err
	}
	return writeRows(req, "created_at", showReport)(h.cfg.Service.Reports(org, p))
}

// listDifferences is GET /reconciliation/differences, newest first.
func (h *Handlers) listDifferences(req *web.Request) error {
	org, err := h.organization(req)
	if err != nil {
		return err
	}
	q := web.QueryOf(req.RequestCtx, "terminal_id", "kind", "state", "limit", "cursor")
	p := readPage(q)
	f := reconciliationactor.Filter{
		Kind:  q.Choice("kind", append([]string{""}, reconciliation.DifferenceKindWords()...)...),
		State: q.Choice("state", "", string(reconciliation.Open), string(reconciliation.Settled)),
	}
	if err := q.Problems.Err(); err != nil {
		return err
	}
	rows, next, err := h.cfg.Service.Differences(org, p, f)
	return writeRows(req, "created_at", showDifference)(rows, next, err)
}

// listDays is GET /reconciliation/days/{terminal_id}: the closed days, the last closed first.
func (h *Handlers) listDays(req *web.Request) error {
	org, terminal, err := h.organizationAndID(req)
	if err != nil {
		return err
	}
	if _, found := h.cfg.Directory.Terminal(org, terminal); !found {
		return web.NotFound()
	}
	q := web.QueryOf(req.RequestCtx, "limit", "cursor")
	p := readPage(q)
	p.Terminal = terminal
	if err := q.Problems.Err(); err != nil {
		return err
	}
	return writeRows(req, "closed_at", showDay)(h.cfg.Service.Days(org, p))
}

// readPage reads the parameters that all lists share.
func readPage(q *web.Query) reconciliationactor.Page {
	p := reconciliationactor.Page{Limit: q.Limit()}
	p.Terminal, _ = q.ID("terminal_id")
	if text, isSent := q.Sent("cursor"); isSent {
		at, isInstant := web.ParseInstant(text)
		if !isInstant || at.Before(time.UnixMicro(1)) {
			q.RefuseCursor()
		}
		p.Before = max(1, web.RoundUpToMicros(at)) // not 0, which would select the first page
	}
	return p
}

// writeRows returns a function to which the caller passes the results of a list method.
func writeRows[T any](req *web.Request, cursorField string, appendRow func(*schema.Encoder, T)) func([]T, ledger.Micros, error) error {
	return func(rows []T, next ledger.Micros, err error) error {
		if err != nil {
			return err
		}
		l := web.NewList()
		for _, r := range rows {
			l.BeginRow()
			appendRow(&l.Encoder, r)
			l.Close('}')
		}
		cursor := ""
		if next != 0 {
			cursor = next.Time().Format(schema.InstantLayout)
		}
		web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish(cursorField, cursor))
		return nil
	}
}

// settle is POST /reconciliation/differences/{id}/settle {decision,entry_seq?,note}.
func (h *Handlers) settle(req *web.Request) error {
	reply := records.Reply[*reconciliation.FoundDifference]{Status: fiber.StatusOK, Append: showDifference}
	return reply.Run(h.cached(), req, func(ctx context.Context) (*reconciliation.FoundDifference, error) {
		org, id, err := h.organizationAndID(req)
		if err != nil {
			return nil, err
		}
		if _, err := h.cfg.Service.Difference(org, id); err != nil {
			return nil, err
		}
		f, err := records.Parse(req, "decision", "entry_seq", "note")
		if err != nil {
			return nil, err
		}
		f.AllowOnly("decision", "entry_seq", "note")
		r := reconciliation.Request{Decision: reconciliation.Action(f.TextOrEmpty("decision")), Note: f.TextOrEmpty("note")}
		if seq := f.Number("entry_seq"); seq < 0 {
			f.Problems.Add("entry_seq", "entry_seq must be the number of an entry")
		} else {
			r.EntrySeq = uint64(seq)
		}
		return records.Decide(ctx, f, func(ctx context.Context) (*reconciliation.FoundDifference, error) {
			return h.cfg.Service.Settle(ctx, org, id, r)
		})
	})
}

// closeDay is POST /reconciliation/days/{terminal_id}/{date}/close. The request needs no body. If there is one, its fields are
// ignored.
func (h *Handlers) closeDay(req *web.Request) error {
	reply := records.Reply[*reconciliation.Day]{Status: fiber.StatusOK, Append: showDay}
	return reply.Run(h.cached(), req, func(ctx context.Context) (*reconciliation.Day, error) {
		org, terminal, err := h.organizationAndID(req)
		if err != nil {
			return nil, err
		}
		if _, found := h.cfg.Directory.Terminal(org, terminal); !found {
			return nil, web.NotFound()
		}
		date, ok := schema.ParseDate(req.Parameter("date"))
		if !ok || date < 1 {
			return nil, ledger.RefuseField("reconciliation.closeDay", "date", "must be a day, yyyy-mm-dd")
		}
		if _, err := req.Input(); err != nil {
			return nil, err
		}
		return h.cfg.Service.Close(ctx, org, terminal, date)
	})
}

// summaryJSON is the summary in a response.
type summaryJSON struct {
	Terminal   ledger.ID   `json:"terminal_id"`
	Currency   string      `json:"currency"`
	Network    string      `json:"network"`
	Env        string      `json:"env"`
	At         web.Instant `json:"at"`
	Provider   string      `json:"provider"`
	Ledger     string      `json:"ledger"`
	InTransit  string      `json:"in_transit"`
	Bank       string      `json:"bank"`
	Difference string      `json:"difference"`
	ReportedTo *string     `json:"reported_to"`
}

// summary is GET /reconciliation/summary?terminal_id&currency&network&env&at.
func (h *Handlers) summary(req *web.Request) error {
	org, err := h.organization(req)
	if err != nil {
		return err
	}
	q := web.QueryOf(req.RequestCtx, "terminal_id", "currency", "network", "env", "at")
	terminal, isSent := q.ID("terminal_id")
	if _, hasText := q.Sent("terminal_id"); !isSent && !hasText {
		q.Problems.Add("terminal_id", "terminal_id is required")
	}
	at := q.UpperBound("at", h.cfg.Clock.Now())
	asset := money.Asset{Env: q.Env(), Network: money.Network(q.Text("network"))}
	if code := q.Text("currency"); code == "" {
		q.Problems.Add("currency", "currency is required")
	} else if currency, accepted := money.AcceptedCurrency(code); accepted {
		asset.Currency, asset.Network = currency, money.ResolveNetwork(currency, asset.Network)
	} else {
		q.Problems.Add("currency", "unsupported currency")
	}
	if err := q.Problems.Err(); err != nil {
		return err
	}
	s, err := h.cfg.Service.Summary(org, terminal, asset, at)
	if err != nil {
		return err
	}
	out := summaryJSON{
		Terminal: terminal, Currency: string(asset.Currency), Network: string(asset.Network), Env: asset.Env.String(), At: web.Instant(min(at, ledger.MicrosOf(h.cfg.Clock.Now()))),
		Provider: s.Provider.String(), Ledger: s.Ledger.String(), InTransit: s.InTransit.String(), Bank: s.Bank.String(), Difference: s.Difference.String(),
	}
	if s.ReportedTo != 0 {
		day := s.ReportedTo.String()
		out.ReportedTo = &day
	}
	web.WriteData(req, fiber.StatusOK, out)
	return nil
}
