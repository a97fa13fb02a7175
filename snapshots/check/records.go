package check

import (
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// records compares every stored record with its history: the writer's stamp,
// the state that its payload names, and what else the payload says of events.
func (c *checker) records(o *organization) error {
	err := c.rows(o, posting.Records, func(key, row []byte) error {
		c.report.Counts.Records++
		c.report.count(ruleStates, 1)
		_, source, ok := store.ParseRecordKey(key)
		envelope, payload, well := store.DecodeRecord(row)
		if !ok || !well {
			c.report.breach(ruleStates, "organization %v: a record of an unknown form", o.id)
			return nil
		}
		h := o.histories.find(source)
		if h == nil {
			c.report.breach(ruleStates, "organization %v: %s has no events", o.id, named(source))
			return nil
		}
		if envelope.Parts > 0 {
			whole, _, err := c.view.Record(o.id, source)
			if err != nil {
				c.report.breach(ruleStates, "organization %v: %v", o.id, err)
				return nil
			}
			payload = whole.Payload
		}
		r := &record{organization: o, source: source, history: h, stamp: posting.Stamp(envelope), payload: payload}
		h.marks |= stored
		c.checkStored(r, row)
		c.checkStamp(r)
		c.checkPayload(r)
		return nil
	})
	if err != nil {
		return err
	}
	for source, at := range o.histories.index {
		if o.histories.slab.at(at).marks&stored == 0 {
			c.report.breach(ruleStates, "organization %v: %s has events and no record", o.id, named(source))
		}
	}
	c.checkReturns(o)
	c.checkSettled(o)
	c.checkRenewals(o)
	c.checkSequences(o)
	return nil
}

// record is one stored record beside its history.
type record struct {
	organization *organization
	source       ledger.Source
	history      *history
	stamp        posting.Stamp
	payload      []byte
}

func (c *checker) faulty(r *record, format string, args ...any) {
	c.report.breach(ruleStates, "organization %v: %s "+format, append([]any{r.organization.id, named(r.source)}, args...)...)
}

func (c *checker) checkStamp(r *record) {
	s, h := &r.stamp, r.history
	switch {
	case s.Version != uint64(h.version) || s.LastSeq != h.last:
		c.faulty(r, "is at version %d and event %d, and its events are at %d and %d", s.Version, s.LastSeq, h.version, h.last)
	case s.Started != h.started || s.Updated != h.updated:
		c.faulty(r, "has other times than its events")
	case s.Held != h.held || s.Settled != h.settled:
		c.faulty(r, "holds %d and settled at %d, and its events say %d and %d", s.Held, s.Settled, h.held, h.settled)
	}
	if s.Due != 0 {
		c.timers.want(r.organization.id, r.source, s.Due)
	}
}

func (c *checker) checkPayload(r *record) {
	if r.source.Kind == ledger.Transaction {
		c.checkTransaction(r)
		return
	}
	if r.source.Kind == ledger.Subscription {
		c.checkSubscription(r)
		return
	}
	if r.source.Kind == ledger.Contract {
		c.checkContract(r)
		return
	}
	if r.source.Kind == ledger.Screening {
		c.checkScreening(r)
		return
	}
	if r.source.Kind == ledger.Reply {
		c.checkReply(r)
		return
	}
	if r.source.Kind == ledger.Period {
		c.checkPeriod(r)
		return
	}
	if r.source.Kind == ledger.Retention {
		c.checkRetention(r)
		return
	}
	row, err := decodeDirectoryRow(r.payload)
	if err != nil {
		c.faulty(r, "can't be read: %v", err)
		return
	}
	c.checkDirectoryRow(r, row)
}

// checkState compares the state that a payload names.
func (c *checker) checkState(r *record, state string) {
	if last := r.organization.histories.statesOf(r.source.Kind).name(r.history); state != last {
		c.faulty(r, "says %q, and its events lead to %q", state, last)
	}
}

// timers are what records wait for: a due row that is lost is a payment that
// stays open for ever.
type timers struct{ wanted map[timer]bool }

type timer struct {
	org    ledger.ID
	source ledger.Source
	at     ledger.Micros
}

func newTimers() *timers { return &timers{wanted: make(map[timer]bool)} }

func (t *timers) want(org ledger.ID, s ledger.Source, at ledger.Micros) {
	t.wanted[timer{org, s, at}] = true
}

// checkTimers looks for the due row of everything that a record waits for.
func (c *checker) checkTimers() error {
	return c.reading(ruleStates, func() error {
		const second = 1_000_000
		var late []timer
		mark, err := c.view.DueItems(func(at int64, item posting.Item) {
			t := timer{item.Org, item.Source, item.At}
			if c.timers.wanted[t] && int64(item.At)/second == at {
				delete(c.timers.wanted, t)
				late = append(late, t)
			}
		})
		for _, t := range late {
			if int64(t.at)/second < mark {
				c.report.breach(ruleStates, "organization %v: %s waits for an instant below the mark", t.org, named(t.source))
			}
		}
		for t := range c.timers.wanted {
			c.report.breach(ruleStates, "organization %v: %s waits for an instant without a due row", t.org, named(t.source))
		}
		return err
	})
}
