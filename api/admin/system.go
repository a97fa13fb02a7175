package admin

import (
	"cmp"
	"slices"

	"github.com/gofiber/fiber/v2"

	paymentactor "mizan/actors/payment"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// System is the response to GET /system: the figures of the process and of its store.
type System struct {
	Version  string        `json:"version"`
	Env      string        `json:"env"`
	Status   string        `json:"status"`
	Started  web.Instant   `json:"started_at"`
	Store    StoreFigures  `json:"store"`
	Log      LogFigures    `json:"log"`
	Queue    QueueFigures  `json:"queue"`
	Backups  BackupFigures `json:"backups"`
	Backlogs []Backlog     `json:"deliveries"`
}

// StoreFigures are the sizes and backlogs of the store. The lag is the part of the write-ahead log that is not in the store
// yet.
type StoreFigures struct {
	Bytes              int64  `json:"bytes"`
	UnverifiedBytes    int64  `json:"unverified_bytes"`
	LagGroups          uint64 `json:"lag_groups"`
	LagBytes           uint64 `json:"lag_bytes"`
	WaitingCompactions int    `json:"compactions_waiting"`
}

// LogFigures are the size of the write-ahead log in bytes and in segments.
type LogFigures struct {
	Bytes    int64 `json:"bytes"`
	Segments int   `json:"segments"`
}

// QueueFigures describe the queue of the log's writer. They also count the provider calls under way.
type QueueFigures struct {
	Depth         int    `json:"depth"`
	Groups        uint64 `json:"groups"`
	Changes       uint64 `json:"changes"`
	Refused       uint64 `json:"refused"`
	ProviderCalls int    `json:"provider_calls"`
}

// BackupFigures describe the backups. Until the first backup succeeds, the times and sizes are null.
type BackupFigures struct {
	EverySeconds *int64      `json:"every_seconds"` // interval of the backups; nil if the server makes none by itself
	LastSuccess  web.Instant `json:"last_success_at"`
	LastBytes    *int64      `json:"last_bytes"`
	LastSeconds  *int64      `json:"last_seconds"`
	Succeeded    uint64      `json:"succeeded"`
	Failed       uint64      `json:"failed"`
}

// Backlog counts the deliveries in one state (waiting, or no longer retried) to one group of receivers.
type Backlog struct {
	Receivers     string `json:"receivers"`
	State         string `json:"state"`
	Count         int    `json:"count"`
	OldestSeconds int64  `json:"oldest_seconds"`
}

// readSystem is GET /system.
func (h *Handlers) readSystem(req *web.Request) error {
	q := web.QueryOf(req.RequestCtx)
	if err := q.Problems.Err(); err != nil {
		return err
	}
	figures, err := h.cfg.System()
	if err != nil {
		return err
	}
	web.WriteData(req, fiber.StatusOK, figures)
	return nil
}

// Circuits returns the states of the terminals' circuit breakers; *payment.Service of package actors/payment implements it.
type Circuits interface {
	CircuitStates() []paymentactor.CircuitState
}

// circuitRow is a row of GET /circuits.
type circuitRow struct {
	Terminal ledger.ID `json:"terminal_id"`
	Name     string    `json:"name"`
	Partner  int64     `json:"partner_id"`
	Provider string    `json:"provider"`
	State    string    `json:"state"`
	Failures uint32    `json:"failures"`
}

// listCircuits is GET /circuits: the organization's terminals whose providers have failed to answer since the process started.
// Terminals with an open circuit breaker, to which no transaction is routed, come first.
func (h *Handlers) listCircuits(req *web.Request) error {
	q := web.QueryOf(req.RequestCtx)
	if err := q.Problems.Err(); err != nil {
		return err
	}
	org, err := req.Organization(h.cfg.Directory)
	if err != nil {
		return err
	}
	rows := []circuitRow{}
	for _, c := range h.cfg.Circuits.CircuitStates() {
		if t, found := h.cfg.Directory.Terminal(org, c.Terminal); found {
			rows = append(rows, circuitRow{t.ID, t.Name, t.Partner, t.Provider, c.State, c.Failures})
		}
	}
	slices.SortFunc(rows, func(a, b circuitRow) int {
		order := func(r circuitRow) int { return slices.Index(paymentactor.CircuitStates, r.State) }
		return cmp.Or(order(a)-order(b), cmp.Compare(a.Partner, b.Partner), slices.Compare(a.Terminal[:], b.Terminal[:]))
	})
	web.WriteData(req, fiber.StatusOK, rows[:min(len(rows), directory.MaxTerminals)])
	return nil
}
