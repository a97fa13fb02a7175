package reconciliation

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"mizan/actors/reconciliation/camt053"
	"mizan/actors/reconciliation/csvfile"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/reconciliation"
	"mizan/posting"
)

// MaxFile is the maximum size of an uploaded report in bytes.
const MaxFile = 32 << 20

// Upload is a request to import a report.
type Upload struct {
	Org      ledger.ID
	Terminal ledger.ID
	Format   string
	Mapping  csvfile.Mapping // for csv
	Content  []byte          // the file; nil if the report is fetched
}

const opImport = "reconciliation.Import"

// maxTries bounds how often the rest of a report is matched again because another import or a decision was faster.
const maxTries = 32

// content is a report before it is stored.
type content struct {
	lines    []reconciliation.Line
	balances []reconciliation.Balance
}

// Import imports a report. If the same report was imported before, it returns that report, and continues its import if the
// import was cut off. isRepeated tells that the report was complete already. Refusals are Invalid, with the field, for a wrong
// upload; nothing is stored then.
func (s *Service) Import(ctx context.Context, u Upload) (result *reconciliation.Report, isRepeated bool, err error) {
	t, err := s.terminal(opImport, u.Org, u.Terminal)
	if err != nil {
		return nil, false, err
	}
	leave, err := s.enter(ctx, opImport)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	if u.Format == reconciliation.FormatStripe {
		return s.fetch(ctx, t)
	}
	draft := &reconciliation.Report{
		ID: uuid.New(), Org: u.Org, Terminal: u.Terminal, Format: u.Format, Env: t.Env, State: reconciliation.Importing, Hash: reconciliation.ContentHash(u.Content),
	}
	mapping := ""
	if u.Format == reconciliation.FormatCSV {
		mapping = u.Mapping.String()
	}
	begun, err := s.findReport(draft, mapping)
	if err != nil {
		return nil, false, err
	}
	if begun.record != nil && begun.record.State == reconciliation.Complete {
		return begun.record, true, nil
	}
	c, err := parse(&u, t)
	if err != nil {
		return nil, false, err
	}
	result, err = s.run(ctx, t, draft, mapping, begun, c)
	return result, false, err
}

// parse reads the file.
func parse(u *Upload, t *directory.Terminal) (*content, error) {
	switch u.Format {
	case reconciliation.FormatCSV:
		lines, err := csvfile.Read(u.Content, &u.Mapping, t.Env)
		if member, problem, ok := csvfile.MappingProblem(err); ok {
			return nil, ledger.RefuseField(opImport, "mapping."+member, "%s", problem)
		}
		if err != nil {
			return nil, ledger.RefuseField(opImport, "file", "%v", err)
		}
		return &content{lines: lines}, nil
	case reconciliation.FormatCAMT053:
		statement, err := camt053.Read(u.Content, t.Env)
		if err != nil {
			return nil, ledger.RefuseField(opImport, "file", "%v", err)
		}
		return &content{statement.Lines, statement.Balances}, nil
	}
	return nil, ledger.RefuseField(opImport, "format", "must be csv, camt053 or stripe")
}

// eachReport calls fn with the reports of a terminal, newest first.
func eachReport(view *posting.View, t *directory.Terminal, fn func(stored[reconciliation.Report]) (more bool, err error)) error {
	return view.List(t.Org, reconciliation.ReportsOf(t.ID), posting.ListRange{}, func(row posting.ListRow) (bool, error) {
		r, err := readReport(view, t.Org, row.ID)
		if err != nil || r.record == nil {
			return false, fmt.Errorf("reconciliation: report %v is listed and can't be read: %w", row.ID, err)
		}
		if r.record.Terminal != t.ID { // the list's key has only a part of the terminal's id
			return true, nil
		}
		return fn(r)
	})
}

// findReport returns the report that the same upload has begun, or no record.
func (s *Service) findReport(draft *reconciliation.Report, mapping string) (stored[reconciliation.Report], error) {
	view := s.cfg.Journal.View()
	defer view.Close()
	claim := draft.Claim(mapping)
	id, err := claimOwner(view, &claim)
	if err != nil || id == (ledger.ID{}) {
		return stored[reconciliation.Report]{}, err
	}
	return readReport(view, draft.Org, id)
}
