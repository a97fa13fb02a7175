package reconciliation

import (
	"context"
	"fmt"

	"mizan/actors"
	"mizan/internal/assert"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/reconciliation"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Writer makes the records of an organization durable, and finds the organization's terminals. *Service of actors/directory
// implements it.
type Writer interface {
	// Write calls decide in the organization's actor, makes the returned Change durable and then calls publish with the headers
	// of the Change's steps. decide also returns the record, from which the reply that is stored with an idempotency key is
	// made. If decide returns no Change, nothing is written.
	Write(ctx context.Context, org ledger.ID, op string, decide func(now ledger.Micros) (*posting.Change, any, error), publish func([]posting.RecordHeader)) error

	Terminal(org, id ledger.ID) (*directory.Terminal, bool)
}

// Journal is the store that the service reads.
type Journal interface{ View() *posting.View }

// Config has what the service needs.
type Config struct {
	Journal Journal
	Writer  Writer
	Clock   clock.Clock

	// Sources are the adapters whose providers report lines by an API, by the name of the terminal's provider.
	Sources map[string]actors.LineSource
}

// Service imports reports, decides on differences, closes days and reads all of them. Errors are *ledger.Refusal or come from the
// store.
type Service struct {
	cfg  Config
	slot chan struct{} // has one element while a report is imported or a day is closed
}

// New returns the service.
func New(cfg Config) *Service { return &Service{cfg: cfg, slot: make(chan struct{}, 1)} }

// enter waits until no other report is imported. If ctx ends first, the error is Unavailable.
func (s *Service) enter(ctx context.Context, op string) (leave func(), err error) {
	select {
	case s.slot <- struct{}{}:
		return func() { <-s.slot }, nil
	case <-ctx.Done():
		return nil, ledger.Refuse(op, ledger.Unavailable, "another report is being imported")
	}
}

// terminal returns a terminal whose provider holds money.
func (s *Service) terminal(op string, org, id ledger.ID) (*directory.Terminal, error) {
	t, found := s.cfg.Writer.Terminal(org, id)
	switch {
	case !found:
		return nil, ledger.RefuseField(op, "terminal_id", "names no terminal")
	case t.Type == directory.MerchantTerminal:
		return nil, ledger.RefuseField(op, "terminal_id", "names a terminal of type merchant, which moves no money")
	}
	return t, nil
}

// stored is a record with its version.
type stored[R any] struct {
	record  *R
	version uint64
	header  posting.RecordHeader
}

// read reads a record. record is nil if the organization has no such record.
func read[R any](view *posting.View, columns *schema.Type[R], org ledger.ID, source ledger.Source) (stored[R], error) {
	row, found, err := view.Record(org, source)
	if err != nil || !found {
		return stored[R]{}, err
	}
	h := row.Header
	r, err := columns.Read(schema.RowMetadata{Org: org, ID: source.ID, CreatedAt: h.StartedAt, UpdatedAt: h.UpdatedAt, Seq: h.SettledSeq}, row.Payload, schema.NoKeys)
	if err != nil {
		return stored[R]{}, fmt.Errorf("reconciliation: %s %v: %w", columns.Name, source.ID, err)
	}
	return stored[R]{r, h.Version, h}, nil
}

func readReport(view *posting.View, org, id ledger.ID) (stored[reconciliation.Report], error) {
	return read(view, reconciliation.Reports, org, ledger.Source{Kind: ledger.SettlementReport, ID: id})
}

func readDifference(view *posting.View, org, id ledger.ID) (stored[reconciliation.FoundDifference], error) {
	return read(view, reconciliation.Differences, org, ledger.Source{Kind: ledger.Difference, ID: id})
}

func readDay(view *posting.View, org, terminal ledger.ID, day ledger.Date) (stored[reconciliation.Day], error) {
	return read(view, reconciliation.Days, org, ledger.Source{Kind: ledger.ReconciledDay, ID: reconciliation.DayID(terminal, day)})
}

// step returns the Step that stores a record with its event.
func step[R any](columns *schema.Type[R], org ledger.ID, expect uint64, r *R, event ledger.Event) posting.Step {
	payload, err := columns.AppendStored(nil, r, schema.NoKeys)
	assert.NoError(err) // only secrets need keys, and these records have none
	return posting.Step{Org: org, Source: event.Source, Expect: expect, Record: payload, Events: []ledger.Event{event}}
}

// isLostRace tells whether the writer refused a Change because the store has changed since the decision.
func isLostRace(err error) bool {
	return ledger.IsRefusal(err, ledger.ClaimTaken) || ledger.IsRefusal(err, ledger.StaleVersion)
}

// today returns the current day.
func (s *Service) today() ledger.Date { return ledger.DateOf(s.cfg.Clock.Now()) }

// claimOwner returns the record that owns a claim, or a zero id if there is none.
func claimOwner(view *posting.View, claim *ledger.Claim) (ledger.ID, error) {
	owner, taken, err := view.Claim(claim.Org, claim.Kind, claim.Key)
	if err != nil || !taken {
		return ledger.ID{}, err
	}
	if len(owner) != len(ledger.ID{}) {
		return ledger.ID{}, fmt.Errorf("reconciliation: a claim (%c) names no record", claim.Kind)
	}
	return ledger.ID(owner), nil
}

// dayStart returns the first instant of a day.
func dayStart(d ledger.Date) ledger.Micros { return ledger.MicrosOf(d.Time()) }
