package subscription

import (
	"fmt"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/subscription"
	"mizan/posting"
)

// maxRecordsRead bounds the number of records that are read for one page. If the bound is reached, List returns
// the rows found so far, and the next page continues after the last record that was read.
const maxRecordsRead = 500

// Page selects a page of a partner's subscriptions, newest first.
type Page struct {
	Env           money.Env
	Status        string        // one of subscription.Statuses; empty for any status
	CreatedBefore ledger.Micros // only subscriptions created before this time; 0 to start with the newest
	Limit         int           // maximum number of rows; must be above 0
}

// List returns a page of a partner's subscriptions. To get the next page, the caller passes next as
// Page.CreatedBefore; on the last page next is 0.
func (s *Service) List(org ledger.ID, partner int64, p Page) (rows []Result, next ledger.Micros, err error) {
	view := s.runtime.Journal.View()
	defer view.Close()
	rowsRead := 0
	var lastSeen ledger.Micros // creation time of the last subscription that was read
	err = view.List(org, subscription.All.Of(partner, p.Env), posting.ListRange{Before: p.CreatedBefore}, func(row posting.ListRow) (bool, error) {
		if rowsRead++; rowsRead > maxRecordsRead {
			next = lastSeen
			return false, nil
		}
		r, found, err := load(view, org, row.ID)
		if err != nil || !found {
			return false, orMissingError(err, row.ID)
		}
		if p.Status != "" && r.Record.Status() != p.Status {
			lastSeen = row.Booked
			return true, nil
		}
		if len(rows) == p.Limit {
			next = lastSeen
			return false, nil
		}
		lastSeen = row.Booked
		rows = append(rows, r)
		return true, nil
	})
	return rows, next, err
}

func orMissingError(err error, id ledger.ID) error {
	if err == nil {
		err = fmt.Errorf("subscription %v is listed but does not exist", id)
	}
	return err
}
