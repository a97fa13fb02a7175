package check

import (
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/posting"
	"mizan/posting/store"
)

// records compares every stored record with its history: the writer's stamp,
// the state that its payload names, and what else the payload says of events.
func (c *orgCheck) records() error {
	o := c.organization
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
	c.transactions.checkReturns()
	c.directory.checkSettled(o)
	c.transactions.checkRenewals()
	c.contracts.checkSequences()
	return nil
}

func (c *orgCheck) checkStamp(r *record) {
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

func (c *orgCheck) checkPayload(r *record) {
	switch r.source.Kind {
	case ledger.Transaction:
		if p := c.transactions.checkTransaction(r); p != nil {
			c.deliveries.checkTold(r, p)
			c.answers.meet(r, p)
		}
	case ledger.Subscription:
		if p := c.transactions.checkSubscription(r); p != nil {
			c.deliveries.checkTidings(r, p)
		}
	case ledger.Contract:
		c.contracts.checkContract(r, func(p *contract.Record) { c.answers.meetContract(r, p) })
	case ledger.Screening:
		c.contracts.checkScreening(r)
	case ledger.Reply:
		c.checkReply(r)
	case ledger.Period:
		c.books.checkPeriod(r)
	case ledger.Retention:
		c.deliveries.checkRetention(r)
	default:
		c.checkDirectoryRecord(r)
	}
}

func (c *orgCheck) checkDirectoryRecord(r *record) {
	row, err := decodeDirectoryRow(r.payload)
	if err != nil {
		c.faulty(r, "can't be read: %v", err)
		return
	}
	if r.source.Kind == ledger.Answer {
		c.given = append(c.given, placed{r.organization.id, r.source.ID})
		c.checkAnswer(r)
	}
	c.answers.meetKept(r, c.directory.checkDirectoryRow(r, row))
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
