package journal

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// eventReader fetches at most n events, newest first. If the argument before is not 0, the reader fetches only events with
// a lower seq. If it returns fewer than n events, there are no more.
type eventReader func(before uint64, n int) ([]ledger.Event, error)

// reader chooses the shortest source of matching events: one record's events, the list of the administration's changes, the
// lines of the requested accounts, or the whole journal.
func (q *EventQuery) reader(view *posting.View) (eventReader, error) {
	switch {
	case q.Source != nil:
		return sourceReader(view, q.Caller.Org, *q.Source)
	case q.OnlyAdministration:
		return changesReader(view, q.Caller.Org), nil
	case q.Account != "" || q.Caller.Partner != nil:
		accounts, err := q.accounts(view)
		return LineReader(view, q.Caller.Org, accounts), err
	}
	return func(before uint64, n int) (batch []ledger.Event, err error) {
		err = view.Events(q.Caller.Org, before, func(e ledger.Event) (bool, error) {
			batch = append(batch, e)
			return len(batch) < n, nil
		})
		return batch, err
	}, nil
}

// sourceReader reads the events of the record with the given id, whatever the record's kind is.
func sourceReader(view *posting.View, org, id ledger.ID) (eventReader, error) {
	source := ledger.Source{ID: id}
	for _, kind := range ledger.Kinds() {
		_, found, err := view.Record(org, ledger.Source{Kind: kind, ID: id})
		if err != nil {
			return nil, err
		}
		if found {
			source.Kind = kind
		}
	}
	return func(before uint64, n int) (batch []ledger.Event, err error) {
		if source.Kind == 0 {
			return nil, nil
		}
		err = view.SourceEventsBefore(org, source, before, func(e ledger.Event) (bool, error) {
			batch = append(batch, e)
			return len(batch) < n, nil
		})
		return batch, err
	}, nil
}

// changesReader reads the administration's changes. It finds them in the list of such changes that the journal's writer
// maintains.
func changesReader(view *posting.View, org ledger.ID) eventReader {
	return func(before uint64, n int) (batch []ledger.Event, err error) {
		var walk posting.ListRange
		if before != 0 {
			next, _, found, err := view.Event(org, before)
			if err != nil {
				return nil, err
			}
			if found {
				walk.Before = next.Booked
			}
		}
		err = view.List(org, ledger.AdministrationChanges, walk, func(row posting.ListRow) (bool, error) {
			seq, _ := ledger.SeqOf(row.ID)
			e, _, found, err := view.Event(org, seq)
			if err != nil || !found {
				return false, err
			}
			batch = append(batch, e)
			return len(batch) < n, nil
		})
		return batch, err
	}
}

// accounts returns the accounts that the requested events change: the requested account in each of its assets or, if no
// account is requested, all accounts of the partner.
func (q *EventQuery) accounts(view *posting.View) (accounts []ledger.Account, err error) {
	for _, env := range []money.Env{money.Prod, money.Test} {
		if q.Env.IsValid() && env != q.Env {
			continue
		}
		filter := AccountFilter{Env: env, Path: q.Account, Prefix: string(q.Account)}
		err = filter.Each(view, q.Caller, func(a ledger.Account) (bool, error) {
			accounts = append(accounts, a)
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return accounts, nil
}

// LineReader reads the events that have lines on any of the accounts, each event once.
func LineReader(view *posting.View, org ledger.ID, accounts []ledger.Account) eventReader {
	return func(before uint64, n int) ([]ledger.Event, error) {
		var seqs []uint64
		for _, a := range accounts {
			count := 0
			last := uint64(0)
			err := view.Lines(org, a, before, func(l posting.Line) (bool, error) {
				if l.Seq != last {
					seqs = append(seqs, l.Seq)
					last = l.Seq
					count++
				}
				return count < n, nil
			})
			if err != nil {
				return nil, err
			}
		}
		slices.Sort(seqs)
		slices.Reverse(seqs)
		seqs = slices.Compact(seqs)
		var batch []ledger.Event
		for _, seq := range seqs[:min(n, len(seqs))] {
			e, _, _, err := view.Event(org, seq)
			if err != nil {
				return nil, err
			}
			batch = append(batch, e)
		}
		return batch, nil
	}
}
