package reconciliation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/reconciliation"
)

// fetch imports the lines that the provider reports by its API since the last fetched report.
func (s *Service) fetch(ctx context.Context, t *directory.Terminal) (*reconciliation.Report, bool, error) {
	source := s.cfg.Sources[t.Provider]
	if source == nil {
		return nil, false, ledger.RefuseField(opImport, "format", "the terminal's provider reports no lines by an API: upload a file")
	}
	last, err := s.lastFetched(t)
	if err != nil {
		return nil, false, err
	}
	draft, begun := s.newFetch(t, last), stored[reconciliation.Report]{}
	if last.record != nil && last.record.State == reconciliation.Importing {
		draft, begun = last.record, last
	}
	if draft.Until <= draft.After {
		return last.record, true, nil
	}
	c := new(content)
	var after time.Time
	if draft.After != 0 {
		after = draft.After.Time()
	}
	err = source.Lines(ctx, t, after, draft.Until.Time(), func(page []reconciliation.Line) error {
		for i := range page {
			if field, problem := page[i].Check(); problem != "" {
				return ledger.Refuse(opImport, ledger.Unavailable, "the provider's answer has a line whose %s %s", field, problem)
			}
		}
		if c.lines = append(c.lines, page...); len(c.lines) > reconciliation.MaxLines {
			return ledger.RefuseField(opImport, "format", "the provider reports more than %d lines since the last report: import files instead", reconciliation.MaxLines)
		}
		return nil
	})
	if ledger.CodeOf(err) != "" {
		return nil, false, err
	}
	if err != nil {
		return nil, false, ledger.Refuse(opImport, ledger.Unavailable, "the provider did not report its lines; nothing was imported from this answer")
	}
	slices.SortFunc(c.lines, func(a, b reconciliation.Line) int {
		return cmp.Or(cmp.Compare(a.Date, b.Date), cmp.Compare(a.ID, b.ID))
	})
	result, err := s.run(ctx, t, draft, "", begun, c)
	return result, false, err
}

// fetchDelay is how old a line must be when it is fetched. A younger one may not be listed yet, or may get the instant at which a
// report ends after that report was fetched; and the provider's clock may differ from ours.
const fetchDelay = 5 * time.Minute

// newFetch returns the report of the lines since the last fetched report.
func (s *Service) newFetch(t *directory.Terminal, last stored[reconciliation.Report]) *reconciliation.Report {
	until := ledger.MicrosOf(s.cfg.Clock.Now().Add(-fetchDelay).Truncate(time.Second))
	draft := &reconciliation.Report{
		ID: uuid.New(), Org: t.Org, Terminal: t.ID, Format: reconciliation.FormatStripe, Env: t.Env, State: reconciliation.Importing, Until: until,
	}
	if last.record != nil {
		draft.After = last.record.Until
	}
	draft.Hash = reconciliation.ContentHash(fmt.Appendf(nil, "fetched\x00%d\x00%d", draft.After, draft.Until))
	return draft
}

// lastFetched returns the terminal's newest fetched report, or no record if there is none.
func (s *Service) lastFetched(t *directory.Terminal) (last stored[reconciliation.Report], err error) {
	view := s.cfg.Journal.View()
	defer view.Close()
	err = eachReport(view, t, func(r stored[reconciliation.Report]) (bool, error) {
		if r.record.Format != reconciliation.FormatStripe {
			return true, nil
		}
		last = r
		return false, nil
	})
	return last, err
}
