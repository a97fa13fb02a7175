package directory

import (
	"context"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
)

// Rate returns an organization's rate, which is the value of one major unit of the currency from in
// major units of the currency to. If no rate is set, it returns false. Once PutRate has returned, Rate
// returns the new rate. Rate does not read the store, because it is called while a payment is routed.
func (s *Service) Rate(org ledger.ID, from, to money.Currency) (money.Rate, bool) {
	o, ok := s.org(org)
	if !ok {
		return money.Rate{}, false
	}
	inView, ok := o.rateOf(from, to)
	if !ok {
		return money.Rate{}, false
	}
	return inView.record().Value, true
}

func (o *organization) rateOf(from, to money.Currency) (*viewRecord[directory.Rate], bool) {
	c, ok := o.ratesByPair.Load(pair{from, to})
	if !ok {
		return nil, false
	}
	return c.(*viewRecord[directory.Rate]), true
}

// PutRate sets the organization's rate of a currency pair, whether or not the pair already has a rate.
// If the rate does not change, nothing is written. Errors are *ledger.Refusal.
func (s *Service) PutRate(ctx context.Context, org ledger.ID, draft directory.Rate) (*directory.Rate, error) {
	const op = "directory.PutRate"
	if _, err := s.writable(op, org); err != nil {
		return nil, err
	}
	var next *directory.Rate
	err := s.write(ctx, org, op, func(ledger.Micros) (*posting.Change, any, error) {
		o, err := s.writable(op, org)
		if err != nil {
			return nil, nil, err
		}
		var event ledger.Event
		var version uint64
		if inView, ok := o.rateOf(draft.From, draft.To); ok {
			old := inView.current.Load()
			version = old.header.Version
			next, event, err = old.record.Revalue(draft.Value)
		} else {
			next, event, err = directory.NewRate(org, draft)
		}
		if err != nil || event.Name == "" {
			return nil, nil, err
		}
		next.UpdatedAt = 0 // the journal sets it
		return &posting.Change{Steps: []posting.Step{stepWithoutSecrets(directory.Rates, org, version, next, event)}}, next, nil
	}, func(headers []posting.RecordHeader) {
		o, _ := s.orgs.get(org)
		o.putRate(next, headers[0])
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}
