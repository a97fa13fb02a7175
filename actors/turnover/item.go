package turnover

import (
	"fmt"

	"mizan/actors/follower"
	"mizan/ledger"
	"mizan/ledger/turnover"
	"mizan/posting"
)

// ItemOf returns what an event of a transaction adds to the partner's daily figures. turnover.IsCounted must
// accept the event's name.
func ItemOf(view *posting.View, org ledger.ID, e *ledger.Event, t *follower.Transaction) (turnover.Item, error) {
	r, err := t.Record()
	if err != nil {
		return turnover.Item{}, err
	}
	return turnover.ItemOf(e, r, func() (int, error) { return countEarlier(view, org, e) })
}

// countEarlier returns the number of earlier events of the same record with the same name.
func countEarlier(view *posting.View, org ledger.ID, e *ledger.Event) (n int, err error) {
	for seq := e.Previous; seq != 0; {
		earlier, _, found, err := view.Event(org, seq)
		if err != nil {
			return 0, err
		}
		if !found {
			return 0, fmt.Errorf("event %d is missing", seq)
		}
		if earlier.Name == e.Name {
			n++
		}
		seq = earlier.Previous
	}
	return n, nil
}
