package contracts

import (
	"sort"

	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/posting"
)

// Page is one page of a list of a product's contracts in one reading (secular or religious). Find reads it.
type Page struct {
	Org     ledger.ID
	Product *contract.Product
	Reading *contract.Reading
	Skip    uint64 // number of contracts on the previous pages
	Limit   int    // maximum number of contracts on this page
	MaxSkip uint64 // up to this number of rows are skipped one by one, without a search

	// Find sets the fields below.
	Total   uint64 // contracts on all pages
	Skipped uint64 // rows that were skipped
}

// Find returns the page's contracts in the environments, newest first. It takes Total from a
// counter, and loads no contracts that come before the page.
func (p *Page) Find(view *posting.View, envs []money.Env) (found []contractactor.Result, err error) {
	if p.Total, err = contractactor.Count(view, p.Org, p.Product, p.Reading, envs...); err != nil || p.Skip >= p.Total {
		return nil, err
	}
	list, before, skip, err := p.begin(view, envs)
	if err != nil {
		return nil, err
	}
	p.Skipped = skip
	err = view.List(p.Org, list, posting.Walk{Before: before}, func(row posting.ListRow) (bool, error) {
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

// begin returns the list to read, the instant at which to start, and the number of rows to
// skip. A page far back is found by a search for its contract number, because numbers have no gaps. But the list of
// one environment lacks the numbers of the other environment's contracts. If these are few, the search corrects for them;
// otherwise rows are skipped one by one.
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

// otherEnvironment returns the instants at which the contracts of the other environment were
// created, newest first; isFew is false if there are too many.
func (p *Page) otherEnvironment(view *posting.View, env money.Env) (createdAt []ledger.Micros, isFew bool, err error) {
	otherEnv := money.Prod
	if env == money.Prod {
		otherEnv = money.Test
	}
	n, err := contractactor.Count(view, p.Org, p.Product, p.Reading, otherEnv)
	if err != nil || n > p.MaxSkip {
		return nil, false, err
	}
	err = view.List(p.Org, contractactor.ListOfEnv(p.Product, p.Reading, otherEnv), posting.Walk{}, func(row posting.ListRow) (bool, error) {
		createdAt = append(createdAt, row.Booked)
		return true, nil
	})
	return createdAt, true, err
}

// search returns the instant at which to start reading in order to reach the contract with a
// rank (the oldest has rank 1), and the number of rows to skip. A contract's rank is its number
// minus the number of older contracts that are not in the list. missing are the instants of all
// contracts that are not in the list, newest first.
func (p *Page) search(view *posting.View, list ledger.List, rank uint64, missing []ledger.Micros) (before ledger.Micros, skip uint64, err error) {
	return searchBack(rank, p.MaxSkip, func(before ledger.Micros) (booked ledger.Micros, last uint64, err error) {
		err = view.List(p.Org, list, posting.Walk{Before: before}, func(row posting.ListRow) (bool, error) {
			stored, _, err := view.Record(p.Org, ledger.Source{Kind: ledger.Contract, ID: row.ID})
			newer := sort.Search(len(missing), func(i int) bool { return missing[i] < row.Booked })
			booked, last = row.Booked, stored.Stamp.Number-uint64(len(missing)-newer)
			return false, err
		})
		return booked, last, err
	})
}

// maxPassedOver is how many rows of a list are skipped one by one, without a search. Skipping them
// takes a few milliseconds.
const maxPassedOver = 50_000

// Steps of the search back in time: the first step (one minute), and the factor between a step and the next.
const (
	firstStep  = ledger.Micros(60_000_000)
	stepFactor = 16
)

// searchBack finds an instant (before) that is a little later than the row with the number. It also returns how many rows
// lie between that row and the instant (skip), at most maxSkip. Numbers grow with time. The search goes back from the newest
// row, in growing steps, to an instant before the row. Then bisection narrows the interval. The function newest
// returns the booked time and the number of the newest row before an instant; the instant 0 means
// the newest of all rows. If there is no row, newest returns zeros.
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
		middle := upper - (upper-lower)/2 // the row was booked at lower or later, and before upper
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
