package contracts

import (
	"sort"

	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/posting"
)

// Page is one page of a list of a product's contracts in one reading (secular or religious). The method Find reads the page.
type Page struct {
	Org     ledger.ID
	Product *contract.Product
	Reading *contract.Reading
	Skip    uint64 // number of contracts on the previous pages
	Limit   int    // maximum number of contracts on this page
	MaxSkip uint64 // rows are skipped one by one up to this number; to skip more, Find searches

	// Find sets the following fields.
	Total   uint64 // number of contracts on all pages
	Skipped uint64 // number of rows that were skipped one by one
}

// Find returns the page's contracts in the given environments, newest first. Find reads Total from a counter, and does not load
// the contracts on earlier pages.
func (p *Page) Find(view *posting.View, envs []money.Env) (found []contractactor.Result, err error) {
	if p.Total, err = contractactor.Count(view, p.Org, p.Product, p.Reading, envs...); err != nil || p.Skip >= p.Total {
		return nil, err
	}
	list, before, skip, err := p.begin(view, envs)
	if err != nil {
		return nil, err
	}
	p.Skipped = skip
	err = view.List(p.Org, list, posting.ListRange{Before: before}, func(row posting.ListRow) (bool, error) {
		if skip > 0 {
			skip--
			return true, nil
		}
		r, exists, err := contractactor.Load(view, p.Org, row.ID)
		if exists {
			found = append(found, r)
		}
		return err == nil && len(found) < p.Limit, err
	})
	return found, err
}

// begin returns the list to read, the instant at which to start, and the number of rows to skip. A page far back is found by a
// search for the number of its first contract, because the numbers of contracts have no gaps. But in the list of one
// environment, the numbers of the other environment's contracts are missing. If only a few are missing, the search takes them
// into account. Otherwise rows are skipped one by one.
func (p *Page) begin(view *posting.View, envs []money.Env) (list ledger.List, before ledger.Micros, skip uint64, err error) {
	list, skip = contractactor.ListOf(p.Product, p.Reading), p.Skip
	var missing []ledger.Micros
	searched := skip > p.MaxSkip
	if len(envs) == 1 {
		list = contractactor.ListOfEnv(p.Product, p.Reading, envs[0])
		if searched {
			missing, searched, err = p.otherEnvironment(view, envs[0])
		}
	}
	if searched && err == nil {
		before, skip, err = p.search(view, list, p.Total-p.Skip, missing)
	}
	return list, before, skip, err
}

// otherEnvironment returns the instants at which the contracts of the other environment were created, newest first. If there
// are too many such contracts, isFew is false.
func (p *Page) otherEnvironment(view *posting.View, env money.Env) (createdAt []ledger.Micros, isFew bool, err error) {
	otherEnv := money.Prod
	if env == money.Prod {
		otherEnv = money.Test
	}
	n, err := contractactor.Count(view, p.Org, p.Product, p.Reading, otherEnv)
	if err != nil || n > p.MaxSkip {
		return nil, false, err
	}
	err = view.List(p.Org, contractactor.ListOfEnv(p.Product, p.Reading, otherEnv), posting.ListRange{}, func(row posting.ListRow) (bool, error) {
		createdAt = append(createdAt, row.Booked)
		return true, nil
	})
	return createdAt, true, err
}

// search finds the contract with the given rank in a list. The oldest contract in the list has rank 1. search returns the
// instant at which to start reading, and the number of rows to skip from there. The rank of a contract is its contract number,
// less the count of older contracts that are not in the list. missing has the instants at which the contracts that are not in
// the list were created, newest first.
func (p *Page) search(view *posting.View, list ledger.List, rank uint64, missing []ledger.Micros) (before ledger.Micros, skip uint64, err error) {
	return searchBack(rank, p.MaxSkip, func(before ledger.Micros) (booked ledger.Micros, last uint64, err error) {
		err = view.List(p.Org, list, posting.ListRange{Before: before}, func(row posting.ListRow) (bool, error) {
			stored, _, err := view.Record(p.Org, ledger.Source{Kind: ledger.Contract, ID: row.ID})
			newer := sort.Search(len(missing), func(i int) bool { return missing[i] < row.Booked })
			booked, last = row.Booked, stored.Header.Number-uint64(len(missing)-newer)
			return false, err
		})
		return booked, last, err
	})
}

// maxPassedOver is the greatest number of rows of a list that are skipped one by one, without a search. Skipping so many rows
// takes a few milliseconds.
const maxPassedOver = 50_000

// The search goes back in time in growing steps. The first step is one minute, and each further step is the previous one times
// the factor.
const (
	firstStep  = ledger.Micros(60_000_000)
	stepFactor = 16
)

// searchBack finds the row with the given number. It returns an instant a little later than the row (before), and the number of
// rows between the row and the instant (skip), which is at most maxSkip. Numbers grow with time. The search first goes back
// from the newest row in growing steps, until it reaches an instant before the row. Then bisection narrows the interval. The
// function newest returns the booked time and the number of the newest row before an instant, or of the newest row of all if
// the instant is 0. If there is no such row, newest returns zeros.
func searchBack(number, maxSkip uint64, newest func(before ledger.Micros) (ledger.Micros, uint64, error)) (before ledger.Micros, skip uint64, err error) {
	end, newestNumber, err := newest(0)
	if err != nil {
		return 0, 0, err
	}
	upper, lower := end, ledger.Micros(0)
	for step := firstStep; step < end && lower == 0 && newestNumber > number+maxSkip; step *= stepFactor {
		booked, last, err := newest(end - step)
		switch {
		case err != nil:
			return 0, 0, err
		case last < number:
			lower = end - step
		default:
			upper, newestNumber = booked, last
		}
	}
	for newestNumber > number+maxSkip {
		middle := upper - (upper-lower)/2 // the row was booked between lower (inclusive) and upper
		booked, last, err := newest(middle)
		switch {
		case err != nil:
			return 0, 0, err
		case last < number:
			lower = middle
		default:
			upper, newestNumber = booked, last
		}
	}
	return upper + 1, newestNumber - number, nil
}
