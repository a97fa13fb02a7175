package stripestub

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
)

// Request is a request that has arrived, also if a fault kept it from being executed.
type Request struct {
	ID             string // header Request-Id of the answer
	Method, Path   string
	Params         url.Values // of the query and the form; of a card number only the last four digits are kept, of a CVC nothing
	IdempotencyKey string     // only of POST
}

// Requests returns all requests to the API that have arrived, oldest first.
func (s *Stub) Requests() []Request {
	s.lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// withoutCards returns the parameters without card numbers and CVCs.
func withoutCards(values url.Values) url.Values {
	masked := make(url.Values, len(values))
	for name, list := range values {
		masked[name] = slices.Clone(list)
		switch {
		case len(list) == 0:
		case len(name) > 8 && name[len(name)-8:] == "[number]":
			masked[name] = []string{"************" + list[0][max(0, len(list[0])-4):]}
		case len(name) > 5 && name[len(name)-5:] == "[cvc]":
			masked[name] = []string{"***"}
		}
	}
	return masked
}

// encoded returns all parameters as one text, to compare two calls.
func (c *call) encoded() string { return url.Values(c.form).Encode() }

// Movement is money that has moved, or is authorized, for one object. Amount is in minor units.
type Movement struct {
	ID       string
	Charge   string // of a refund: the reference of its intent
	Amount   int64
	Currency string
}

// Movements are the movements for one reference, oldest first. The reference of a charge, of an authorization and of a dispute
// is that of the intent.
type Movements struct {
	Authorized []Movement // charges that are neither captured nor released
	Charged    []Movement // captured charges, with the captured amounts
	Refunded   []Movement // refunds that have not failed; released authorizations don't count
	PaidOut    []Movement // payouts that have neither failed nor been canceled
	Disputed   []Movement // disputes that have taken money and have not been won
}

// Movements returns what has moved for a reference. A refund counts under the reference in its own metadata, and without one
// under that of its intent.
func (s *Stub) Movements(reference string) Movements {
	return s.AllMovements()[reference]
}

// AllMovements returns the movements by reference.
func (s *Stub) AllMovements() map[string]Movements {
	s.lock()
	defer s.mu.Unlock()
	return s.movements()
}

func (s *Stub) movements() map[string]Movements {
	all := make(map[string]Movements)
	key := s.options.ReferenceKey
	add := func(reference string, list func(*Movements) *[]Movement, m Movement) {
		moved := all[reference]
		*list(&moved) = append(*list(&moved), m)
		all[reference] = moved
	}
	for _, ch := range s.charges {
		m, reference := Movement{ID: ch.id, Amount: ch.captured, Currency: ch.intent.currency}, ch.intent.metadata[key]
		switch {
		case ch.isCaptured:
			add(reference, func(m *Movements) *[]Movement { return &m.Charged }, m)
		case ch.failure == nil && ch.refunded == 0:
			m.Amount = ch.amount
			add(reference, func(m *Movements) *[]Movement { return &m.Authorized }, m)
		}
	}
	for _, r := range s.refunds {
		reference := r.metadata[key]
		set(&reference, r.charge.intent.metadata[key])
		if !r.isRelease && r.status != "failed" {
			add(reference, func(m *Movements) *[]Movement { return &m.Refunded }, Movement{r.id, r.charge.intent.metadata[key], r.amount, r.charge.intent.currency})
		}
	}
	for _, p := range s.payouts {
		if p.status == "pending" || p.status == "paid" {
			add(p.metadata[key], func(m *Movements) *[]Movement { return &m.PaidOut }, Movement{ID: p.id, Amount: p.amount, Currency: p.currency})
		}
	}
	for _, d := range s.disputes {
		if len(d.entries) > 0 && d.status != disputeWon {
			add(d.charge.intent.metadata[key], func(m *Movements) *[]Movement { return &m.Disputed }, Movement{ID: d.id, Amount: d.amount, Currency: d.charge.intent.currency})
		}
	}
	return all
}

// Check returns an error that names every double movement: more than one charge or authorization, payout or dispute under one
// reference, more than one refund with the same own reference, and a charge of which more went back than was taken. Objects
// without a reference are not compared with each other.
func (s *Stub) Check() error {
	s.lock()
	defer s.mu.Unlock()
	var errs []error
	all := s.movements()
	references := make([]string, 0, len(all))
	for reference := range all {
		if reference != "" {
			references = append(references, reference)
		}
	}
	slices.Sort(references)
	double := func(what, reference string, movements []Movement) {
		if len(movements) > 1 {
			errs = append(errs, fmt.Errorf("%s: %s %d times: %v", reference, what, len(movements), movements))
		}
	}
	for _, reference := range references {
		m := all[reference]
		double("charged or authorized", reference, slices.Concat(m.Charged, m.Authorized))
		double("paid out", reference, m.PaidOut)
		double("disputed", reference, m.Disputed)
		double("refunded", reference, slices.DeleteFunc(slices.Clone(m.Refunded), func(r Movement) bool {
			return s.objects[r.ID].(*refund).metadata[s.options.ReferenceKey] == ""
		}))
	}
	return errors.Join(append(errs, s.checkCharges()...)...)
}

func (s *Stub) checkCharges() (errs []error) {
	for _, ch := range s.charges {
		back := int64(0)
		for _, r := range s.refunds {
			if r.charge == ch && !r.isRelease && r.status != "failed" {
				back += r.amount
			}
		}
		if d := ch.dispute; d != nil && len(d.entries) > 0 && d.status != disputeWon {
			back += d.amount
		}
		if back > ch.captured {
			errs = append(errs, fmt.Errorf("%s: %d was captured, but %d went back", ch.id, ch.captured, back))
		}
	}
	return errs
}
