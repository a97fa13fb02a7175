package check

import (
	"mizan/ledger"
	"mizan/ledger/contract"
	ledgerdirectory "mizan/ledger/directory"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/directory"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 3 of the checker (states of records), this file checks that records agree with their events. Each stored
// record must have events, and each record with events must be stored. The header (the version, times and amounts that
// the writer stores with a record) must agree with the events. A record that is due at an instant must have a timer
// for that instant.

// checkRecords compares every stored record with its history.
func (c *orgCheck) checkRecords() error {
	o := c.organization
	err := c.Rows(o, posting.Records, func(key, row []byte) error {
		c.Report.Counts.Records++
		c.Report.Count(findings.RuleStates, 1)
		_, source, ok := store.ParseRecordKey(key)
		header, payload, valid := store.DecodeRecord(row)
		if !ok || !valid {
			c.Report.Breach(findings.RuleStates, "organization %v: a record of an unknown form", o.ID)
			return nil
		}
		h := o.Histories.Find(source)
		if h == nil {
			c.Report.Breach(findings.RuleStates, "organization %v: %s has no events", o.ID, scan.NameOf(source))
			return nil
		}
		if header.FurtherRows > 0 { // the rest of the payload is in further rows
			fullRecord, _, err := c.View.Record(o.ID, source)
			if err != nil {
				c.Report.Breach(findings.RuleStates, "organization %v: %v", o.ID, err)
				return nil
			}
			payload = fullRecord.Payload
		}
		r := &scan.Record{Organization: o, Source: source, History: h, Header: posting.RecordHeader(header), Payload: payload}
		h.Marks |= scan.HasRow
		c.checkStoredHash(r, row)
		c.checkHeader(r)
		c.checkPayload(r)
		return nil
	})
	if err != nil {
		return err
	}
	for source, h := range o.Histories.All() {
		if h.Marks&scan.HasRow == 0 {
			c.Report.Breach(findings.RuleStates, "organization %v: %s has events and no record", o.ID, scan.NameOf(source))
		}
	}
	c.transactions.CheckReturns()
	if err := c.transactions.CheckLateAttempts(); err != nil {
		return err
	}
	c.directory.CheckSettlements(o)
	c.directory.CheckStorefront(o)
	c.transactions.CheckPaidLinks()
	c.transactions.CheckRenewals()
	c.contracts.CheckNumbers()
	return c.reconciled.CheckAll()
}

// checkHeader compares a record's header with the record's events.
func (c *orgCheck) checkHeader(r *scan.Record) {
	s, h := &r.Header, r.History
	switch {
	case s.Version != uint64(h.Version) || s.LastSeq != h.LastSeq:
		c.Fault(r, "is at version %d and event %d, and its events are at %d and %d", s.Version, s.LastSeq, h.Version, h.LastSeq)
	case s.FirstSeq != h.FirstSeq:
		c.Fault(r, "begins with event %d, and its events with %d", s.FirstSeq, h.FirstSeq)
	case s.StartedAt != h.StartedAt || s.UpdatedAt != h.UpdatedAt:
		c.Fault(r, "has other times than its events")
	case s.HeldSeq != h.HeldSeq || s.SettledSeq != h.SettledSeq:
		c.Fault(r, "holds %d and settled at %d, and its events say %d and %d", s.HeldSeq, s.SettledSeq, h.HeldSeq, h.SettledSeq)
	}
	if s.Due != 0 {
		if c.placements[r.Organization.ID].State != store.Left {
			c.timers.require(r.Organization.ID, r.Source, s.Due)
		}
	}
}

// checkPayload passes the record to the rules for its kind, and to c.answers, which compares the record with the
// responses that clients received.
func (c *orgCheck) checkPayload(r *scan.Record) {
	switch r.Source.Kind {
	case ledger.Transaction:
		if p := c.transactions.CheckTransaction(r); p != nil {
			c.deliveries.CheckTransaction(r, p)
			c.search.CheckTransaction(r, p)
			c.answers.CompareTransaction(r, p)
		}
	case ledger.Subscription:
		if p := c.transactions.CheckSubscription(r); p != nil {
			c.deliveries.CheckSubscription(r, p)
		}
	case ledger.Contract:
		c.contracts.CheckContract(r, func(p *contract.Record) { c.answers.CompareContract(r, p) })
	case ledger.Screening:
		c.contracts.CheckScreening(r)
	case ledger.Reply:
		c.checkReply(r)
	case ledger.Period:
		c.books.CheckPeriod(r)
	case ledger.Retention:
		c.deliveries.CheckRetention(r)
	case ledger.SettlementReport, ledger.SettlementLines, ledger.Difference, ledger.ReconciledDay:
		c.reconciled.CheckRecord(r)
	default:
		c.checkDirectoryRecord(r)
	}
}

// checkDirectoryRecord checks a record of the directory (organizations, partners, terminals …), or a cached reply to an
// administration request.
func (c *orgCheck) checkDirectoryRecord(r *scan.Record) {
	if r.Source.Kind == ledger.AdminReply {
		c.adminReplies = append(c.adminReplies, scan.RecordKey{Org: r.Organization.ID, ID: r.Source.ID})
		c.CheckState(r, string(ledgerdirectory.StateReplyStored))
		c.checkAdminReply(r)
		return
	}
	record, err := directory.Read(r)
	if err != nil {
		c.Fault(r, "can't be read: %v", err)
		return
	}
	c.answers.CompareDirectoryRecord(r, c.directory.CheckRecord(r, record), record)
}

// timers are the timers that must be stored, because records are due at an instant. A missing timer is a fault,
// because a payment without its timer would stay open forever.
type timers struct{ required map[timer]bool }

type timer struct {
	org    ledger.ID
	source ledger.Source
	at     ledger.Micros
}

func newTimers() *timers { return &timers{required: make(map[timer]bool)} }

func (t *timers) require(org ledger.ID, source ledger.Source, at ledger.Micros) {
	t.required[timer{org, source, at}] = true
}

// checkTimers checks that every record that is due at an instant has its timer.
func (c *checker) checkTimers() error {
	return c.ReadSection(findings.RuleStates, func() error {
		const microsPerSecond = 1_000_000
		var stored []timer
		// All timers of the seconds before nextSecond were processed.
		nextSecond, err := c.View.DueItems(func(second int64, item posting.DueItem) {
			t := timer{item.Org, item.Source, item.At}
			if c.timers.required[t] && int64(item.At)/microsPerSecond == second {
				delete(c.timers.required, t)
				stored = append(stored, t)
			}
		})
		for _, t := range stored {
			if int64(t.at)/microsPerSecond < nextSecond {
				c.Report.Breach(findings.RuleStates, "organization %v: %s is due at an instant that was already processed", t.org, scan.NameOf(t.source))
			}
		}
		for t := range c.timers.required {
			c.Report.Breach(findings.RuleStates, "organization %v: %s has no timer for the instant at which it is due", t.org, scan.NameOf(t.source))
		}
		return err
	})
}
