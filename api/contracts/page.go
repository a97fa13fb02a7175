package contracts

import (
	"sort"

	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/posting"
)

// Page is one page of a product's contracts in a reading.
type Page struct {
	Org     ledger.ID
	Product *contract.Product
	Reading *contract.Reading
	Skip    uint64 // newer contracts on the pages before
	Limit   int    // contracts on this page
	Near    uint64 // how many contracts may be passed over rather than searched for

	// Find fills in the rest.
	Total  uint64 // contracts on all pages
	Passed uint64 // rows that were passed over
}

// Find is the page's contracts in the environments, newest first. A counter says how many
// there are, and contracts before the page are not read.
func (p *Page) Find(view *posting.View, envs []money.Env) (found []contractactor.Result, err error) {
	if p.Total, err = contractactor.Count(view, p.Org, p.Product, p.Reading, envs...); err != nil || p.Skip >= p.Total {
		return nil, err
	}
	list, before, skip, err := p.begin(view, envs)
	if err != nil {
		return nil, err
	}
	p.Passed = skip
	err = view.List(p.Org, list, posting.Walk{Before: before}, func(row posting.Listed) (bool, error) {
		if skip > 0 {
			skip--
			return true, nil
		}
		r, there, err := contractactor.Load(view, p.Org, row.ID)
		if there {
			found = append(found, r)
		}
		return err == nil && len(found) < p.Limit, err
	})
	return found, err
}

// begin says which list to walk from where, and how many rows to pass over. A page far
// behind is found by its contracts' numbers, which have no gaps. In the list of one
// environment the other's numbers are missing: where these are few they are taken into
// account, else the page is walked to.
func (p *Page) begin(view *posting.View, envs []money.Env) (list posting.List, before ledger.Micros, skip uint64, err error) {
	list, skip = contractactor.ListOf(p.Product, p.Reading), p.Skip
	var between []ledger.Micros
	searched := skip > p.Near
	if len(envs) == 1 {
		list = contractactor.ListOfEnv(p.Product, p.Reading, envs[0])
		if searched {
			between, searched, err = p.others(view, envs[0])
		}
	}
	if searched && err == nil {
		before, skip, err = p.search(view, list, p.Total-p.Skip, between)
	}
	return list, before, skip, err
}

// others are the instants at which the contracts of the other environment were made,
// newest first; false: there are too many.
func (p *Page) others(view *posting.View, env money.Env) (made []ledger.Micros, few bool, err error) {
	other := money.Prod
	if env == money.Prod {
		other = money.Test
	}
	n, err := contractactor.Count(view, p.Org, p.Product, p.Reading, other)
	if err != nil || n > p.Near {
		return nil, false, err
	}
	err = view.List(p.Org, contractactor.ListOfEnv(p.Product, p.Reading, other), posting.Walk{}, func(row posting.Listed) (bool, error) {
		made = append(made, row.Booked)
		return true, nil
	})
	return made, true, err
}

// search is where to begin a walk to the contract of a rank (the oldest has rank 1), and
// how many rows to pass over. A contract's rank is its number less the older contracts
// that are not in the list; between are the instants of all contracts that are not in it,
// newest first.
func (p *Page) search(view *posting.View, list posting.List, rank uint64, between []ledger.Micros) (before ledger.Micros, skip uint64, err error) {
	return searchBack(rank, p.Near, func(before ledger.Micros) (booked ledger.Micros, last uint64, err error) {
		err = view.List(p.Org, list, posting.Walk{Before: before}, func(row posting.Listed) (bool, error) {
			stored, _, err := view.Record(p.Org, ledger.Source{Kind: ledger.Contract, ID: row.ID})
			newer := sort.Search(len(between), func(i int) bool { return between[i] < row.Booked })
			booked, last = row.Booked, stored.Stamp.Number-uint64(len(between)-newer)
			return false, err
		})
		return booked, last, err
	})
}

// maxPassedOver is how many rows of a list are passed over unread rather than searched
// for. It takes a few milliseconds.
const maxPassedOver = 50_000

// Steps of the search back in time: the first one, and the factor of each next one.
const (
	firstStep  = ledger.Micros(60_000_000)
	stepFactor = 16
)

// searchBack finds an instant behind the row with a number, or behind one of at most near
// newer rows. Numbers grow with time, so growing steps back from the newest row find an
// instant before it, and bisection comes close. newest is the newest row booked before an
// instant (0: of all) and its number; 0: there is none.
func searchBack(number, near uint64, newest func(before ledger.Micros) (ledger.Micros, uint64, error)) (before ledger.Micros, skip uint64, err error) {
	end, above, err := newest(0)
	if err != nil {
		return 0, 0, err
	}
	until, since := end, ledger.Micros(0)
	for step := firstStep; step < end && since == 0 && above > number+near; step *= stepFactor {
		booked, last, err := newest(end - step)
		switch {
		case err != nil:
			return 0, 0, err
		case last < number:
			since = end - step
		default:
			until, above = booked, last
		}
	}
	for above > number+near {
		middle := until - (until-since)/2 // the row is booked at since or later, and before until
		booked, last, err := newest(middle)
		switch {
		case err != nil:
			return 0, 0, err
		case last < number:
			since = middle
		default:
			until, above = booked, last
		}
	}
	return until + 1, above - number, nil
}
