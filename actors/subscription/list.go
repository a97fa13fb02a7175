package subscription

import (
	"fmt"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/subscription"
	"mizan/posting"
)

// maxRead bounds the records that are read for one page. A page that reaches this bound is returned
// short, with the position where it stopped.
const maxRead = 500

// Page selects a page of a partner's subscriptions, newest first.
type Page struct {
	Env    money.Env
	Status string        // one of subscription.Statuses; empty: any
	Before ledger.Micros // created before; 0: from the newest
	Limit  int           // rows, above zero
}

// List returns a page of a partner's subscriptions, and the creation time before which the next page
// begins; 0 if this is the last page.
func (s *Service) List(org ledger.ID, partner int64, p Page) (rows []Result, next ledger.Micros, err error) {
	view := s.rt.Journal.View()
	defer view.Close()
	rowsRead := 0
	var last ledger.Micros // the last row that was looked at
	err = view.List(org, subscription.All.Of(partner, p.Env), posting.Walk{Before: p.Before}, func(row posting.Listed) (bool, error) {
		if rowsRead++; rowsRead > maxRead {
			next = last
			return false, nil
		}
		r, found, err := load(view, org, row.ID)
		if err != nil || !found {
			return false, orMissing(err, row.ID)
		}
		if p.Status != "" && r.Record.Status() != p.Status {
			last = row.Booked
			return true, nil
		}
		if len(rows) == p.Limit {
			next = last
			return false, nil
		}
		last = row.Booked
		rows = append(rows, r)
		return true, nil
	})
	return rows, next, err
}

func orMissing(err error, id ledger.ID) error {
	if err == nil {
		err = fmt.Errorf("subscription %v is listed and not there", id)
	}
	return err
}
