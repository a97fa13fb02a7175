package api

import (
	"slices"

	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/posting"
)

// contractPage is one page of a product's contracts in a reading: so many of them,
// behind so many newer ones.
type contractPage struct {
	org     ledger.ID
	product *contract.Product
	reading *contract.Reading
	skip    uint64
	n       int

	total uint64 // how many there are on all pages
}

// find is the page's contracts in the environments, newest first. How many there are
// says a counter. Where all that there are count, the page is found by its contracts'
// numbers, which have no gaps, so that a page far behind costs what the first one
// does; only where some are of another environment those before it are read.
func (p *contractPage) find(view *posting.View, envs []money.Env) (found []contractactor.Result, err error) {
	if p.total, err = contractactor.Count(view, p.org, p.product, p.reading, envs...); err != nil || p.skip >= p.total {
		return nil, err
	}
	all, err := contractactor.Count(view, p.org, p.product, p.reading, money.Prod, money.Test)
	if err != nil {
		return nil, err
	}
	walk, skip, left := posting.Walk{}, p.skip, p.total
	if p.total == all && skip > 0 {
		if walk.Before, err = p.behind(view, all-skip); err != nil {
			return nil, err
		}
		left, skip = left-skip, 0
	}
	err = view.List(p.org, p.list(), walk, func(row posting.Listed) (bool, error) {
		r, there, err := contractactor.Load(view, p.org, row.ID)
		if err != nil || !there || !slices.Contains(envs, r.Record.Asset.Env) {
			return err == nil, err
		}
		left--
		if skip > 0 {
			skip--
			return true, nil
		}
		found = append(found, r)
		return len(found) < p.n && left > 0, nil
	})
	return found, err
}

func (p *contractPage) list() posting.List { return contractactor.ListOf(p.product, p.reading) }

// behind is the first instant behind the creation of the contract with the number.
// Numbers grow with time, so it is searched for by halves.
func (p *contractPage) behind(view *posting.View, number uint64) (ledger.Micros, error) {
	newest, last, err := p.newest(view, 0)
	if err != nil || last <= number {
		return newest + 1, err
	}
	before, until := ledger.Micros(0), newest+1
	for before+1 < until {
		middle := before + (until-before)/2
		booked, last, err := p.newest(view, middle)
		switch {
		case err != nil:
			return 0, err
		case last < number:
			before = middle
		case last == number:
			return booked + 1, nil
		default:
			until = booked + 1
		}
	}
	return until, nil
}

// newest is when the newest contract before an instant (0: of all) was made, and its
// number; 0: there is none.
func (p *contractPage) newest(view *posting.View, before ledger.Micros) (booked ledger.Micros, number uint64, err error) {
	err = view.List(p.org, p.list(), posting.Walk{Before: before}, func(row posting.Listed) (bool, error) {
		stored, _, err := view.Record(p.org, ledger.Source{Kind: ledger.Contract, ID: row.ID})
		booked, number = row.Booked, stored.Stamp.Number
		return false, err
	})
	return booked, number, err
}
