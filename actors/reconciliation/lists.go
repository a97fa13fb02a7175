package reconciliation

import (
	"mizan/ledger"
	"mizan/ledger/reconciliation"
	"mizan/posting"
)

// Report returns a report. If the organization has no such report, the error has the code NotFound.
func (s *Service) Report(org, id ledger.ID) (*reconciliation.Report, error) {
	view := s.cfg.Journal.View()
	defer view.Close()
	r, err := readReport(view, org, id)
	if err != nil || r.record == nil {
		return nil, orNotFound("reconciliation.Report", "report", err)
	}
	return r.record, nil
}

// Difference returns a difference. If the organization has no such difference, the error has the code NotFound.
func (s *Service) Difference(org, id ledger.ID) (*reconciliation.FoundDifference, error) {
	view := s.cfg.Journal.View()
	defer view.Close()
	d, err := readDifference(view, org, id)
	if err != nil || d.record == nil {
		return nil, orNotFound("reconciliation.Difference", "difference", err)
	}
	return d.record, nil
}

// Page selects a page of a list, newest first.
type Page struct {
	Terminal ledger.ID     // only records of this terminal; zero: of all
	Before   ledger.Micros // only records created before this time; 0 to start with the newest
	Limit    int           // maximum number of records; above 0
}

// maxRead bounds the number of records that are read for one page. If it is reached, the page has fewer records than its limit,
// and the next page continues after the last record that was read.
const maxRead = 2000

// Reports returns a page of the reports, and the instant from which the next page continues; 0 on the last page.
func (s *Service) Reports(org ledger.ID, p Page) ([]*reconciliation.Report, ledger.Micros, error) {
	list := reconciliation.AllReports
	if p.Terminal != (ledger.ID{}) {
		list = reconciliation.ReportsOf(p.Terminal)
	}
	return page(s, org, list, p, readReport, func(r *reconciliation.Report) bool {
		return p.Terminal == (ledger.ID{}) || r.Terminal == p.Terminal
	})
}

// Filter selects differences; an empty field selects all.
type Filter struct {
	Kind  string
	State string // open or settled
}

// Differences returns a page of the differences that a filter selects, and the instant from which the next page continues; 0 on
// the last page.
func (s *Service) Differences(org ledger.ID, p Page, f Filter) ([]*reconciliation.FoundDifference, ledger.Micros, error) {
	list := reconciliation.AllDifferences
	if p.Terminal != (ledger.ID{}) {
		list = reconciliation.DifferencesOf(p.Terminal)
	}
	return page(s, org, list, p, readDifference, func(d *reconciliation.FoundDifference) bool {
		return (p.Terminal == (ledger.ID{}) || d.Terminal == p.Terminal) && (f.Kind == "" || d.Kind == f.Kind) && (f.State == "" || d.ShownState() == f.State)
	})
}

// Days returns a page of the closed days of a terminal, the last closed first, and the instant from which the next page
// continues; 0 on the last page.
func (s *Service) Days(org ledger.ID, p Page) ([]*reconciliation.Day, ledger.Micros, error) {
	return page(s, org, reconciliation.DaysOf(p.Terminal), p, func(view *posting.View, org, id ledger.ID) (stored[reconciliation.Day], error) {
		return read(view, reconciliation.Days, org, ledger.Source{Kind: ledger.ReconciledDay, ID: id})
	}, func(d *reconciliation.Day) bool { return d.Terminal == p.Terminal })
}

// page reads a page of a list.
func page[R any](s *Service, org ledger.ID, list ledger.List, p Page, read func(*posting.View, ledger.ID, ledger.ID) (stored[R], error), selects func(*R) bool) (rows []*R, next ledger.Micros, err error) {
	view := s.cfg.Journal.View()
	defer view.Close()
	readCount := 0
	var last ledger.Micros // creation time of the last record that was read
	err = view.List(org, list, posting.ListRange{Before: p.Before}, func(row posting.ListRow) (bool, error) {
		if readCount++; readCount > maxRead {
			next = last
			return false, nil
		}
		r, err := read(view, org, row.ID)
		if err != nil || r.record == nil {
			return false, orNotFound("reconciliation.List", "record", err)
		}
		isSelected := selects(r.record)
		if isSelected && len(rows) == p.Limit {
			next = last
			return false, nil
		}
		if last = row.Booked; isSelected {
			rows = append(rows, r.record)
		}
		return true, nil
	})
	return rows, next, err
}
