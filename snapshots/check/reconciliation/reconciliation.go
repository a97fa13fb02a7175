package reconciliation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"mizan/ledger"
	"mizan/ledger/reconciliation"
	"mizan/ledger/schema"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Check compares an organization's records of reconciliation with each other, with the journal, with claims and with counters.
type Check struct {
	*scan.Scan
	organization *scan.Organization
	reports      map[ledger.ID]*report
	batches      map[ledger.ID][]*batch // by report
	differences  map[ledger.ID]*difference
	days         []*reconciliation.Day
	daySeqs      map[ledger.ID]uint64 // number of the event that closed a day, by the id of the day's record
	entries      map[ledger.ID][]decisionEvent
	claims       map[claim]ledger.ID  // the claims that records require, with their owners
	reportClaims map[ledger.ID]string // report → key of its claim
	counters     map[string]uint64    // the counters that records require, by key and window
	seenCounters map[string]bool
}

type claim struct {
	kind ledger.ClaimKind
	key  string
}

// report is a report, with the sums of its batches and the number of its differences.
type report struct {
	*reconciliation.Report
	found int64
}

// batch is a stored batch of lines, with the number of its event.
type batch struct {
	*reconciliation.Batch
	seq uint64
}

// difference is a stored difference, with the number of its first event.
type difference struct {
	*reconciliation.FoundDifference
	seq uint64
}

// decisionEvent is an event of a difference.
type decisionEvent struct {
	name  string
	seq   uint64
	entry *ledger.Entry
}

// New returns the check of an organization.
func New(s *scan.Scan, o *scan.Organization) *Check {
	return &Check{
		Scan: s, organization: o, reports: make(map[ledger.ID]*report), batches: make(map[ledger.ID][]*batch), differences: make(map[ledger.ID]*difference),
		daySeqs: make(map[ledger.ID]uint64), entries: make(map[ledger.ID][]decisionEvent), claims: make(map[claim]ledger.ID), reportClaims: make(map[ledger.ID]string),
		counters: make(map[string]uint64), seenCounters: make(map[string]bool),
	}
}

// IsKind tells whether records of the kind belong to reconciliation.
func IsKind(kind ledger.Kind) bool {
	switch kind {
	case ledger.SettlementReport, ledger.SettlementLines, ledger.Difference, ledger.ReconciledDay:
		return true
	}
	return false
}

// FollowEvent notes the decisions on differences and their entries.
func (c *Check) FollowEvent(e *ledger.Event) {
	if e.Source.Kind == ledger.Difference && e.Version > 1 {
		c.entries[e.Source.ID] = append(c.entries[e.Source.ID], decisionEvent{e.Name, e.Seq, e.Entry})
	}
}

func (c *Check) breach(rule int, format string, args ...any) {
	c.Report.Breach(rule, "organization %v: "+format, append([]any{c.organization.ID}, args...)...)
}

// CheckRecord reads a record and checks what it says about itself.
func (c *Check) CheckRecord(r *scan.Record) {
	metadata := schema.RowMetadata{Org: r.Organization.ID, ID: r.Source.ID, CreatedAt: r.Header.StartedAt, UpdatedAt: r.Header.UpdatedAt, Seq: r.Header.SettledSeq}
	h := r.Organization.Histories
	switch r.Source.Kind {
	case ledger.SettlementReport:
		p, err := reconciliation.Reports.Read(metadata, r.Payload, schema.NoKeys)
		if err != nil {
			c.Fault(r, "can't be read: %v", err)
			return
		}
		c.CheckState(r, string(p.State))
		h.ExpectLists(r.History, reconciliation.AllReports, reconciliation.ReportsOf(p.Terminal))
		c.reports[p.ID] = &report{Report: p}
	case ledger.SettlementLines:
		b, err := reconciliation.ReadBatch(r.Payload)
		if err != nil {
			c.Fault(r, "can't be read: %v", err)
			return
		}
		c.CheckState(r, string(reconciliation.Stored))
		if r.Source.ID != reconciliation.BatchID(b.Report, b.Number) || !bytes.Equal(b.AppendBinary(nil), r.Payload) {
			c.Fault(r, "has another id or form than its content")
		}
		c.batches[b.Report] = append(c.batches[b.Report], &batch{b, r.Header.FirstSeq})
	case ledger.Difference:
		d, err := reconciliation.Differences.Read(metadata, r.Payload, schema.NoKeys)
		if err != nil {
			c.Fault(r, "can't be read: %v", err)
			return
		}
		c.CheckState(r, string(d.State))
		h.ExpectLists(r.History, reconciliation.AllDifferences, reconciliation.DifferencesOf(d.Terminal))
		c.differences[d.ID] = &difference{d, r.Header.FirstSeq}
	case ledger.ReconciledDay:
		d, err := reconciliation.Days.Read(metadata, r.Payload, schema.NoKeys)
		if err != nil {
			c.Fault(r, "can't be read: %v", err)
			return
		}
		c.CheckState(r, string(reconciliation.Closed))
		h.ExpectLists(r.History, reconciliation.DaysOf(d.Terminal))
		if d.ID != reconciliation.DayID(d.Terminal, d.Date) {
			c.Fault(r, "has another id than its terminal and day")
		}
		c.days = append(c.days, d)
		c.daySeqs[d.ID] = r.Header.FirstSeq
	}
}

// CheckAll compares the records with each other, once all of them are read.
func (c *Check) CheckAll() error {
	for _, d := range c.differences {
		if err := c.checkDifference(d); err != nil {
			return err
		}
	}
	for id := range c.batches {
		if c.reports[id] == nil {
			c.breach(findings.RuleStates, "lines belong to report %v, which does not exist", id)
		}
	}
	for _, r := range c.reports {
		if err := c.checkReport(r); err != nil {
			return err
		}
	}
	for _, d := range c.days {
		if err := c.checkDay(d); err != nil {
			return err
		}
	}
	return nil
}

// requireClaim notes a claim that must exist. Two records that require the same one contradict each other.
func (c *Check) requireClaim(kind ledger.ClaimKind, key string, owner ledger.ID) {
	k := claim{kind, key}
	if other, taken := c.claims[k]; taken {
		c.breach(findings.RuleClaims, "%v and %v both own %c %s", other, owner, kind, key)
	}
	c.claims[k] = owner
}

// CheckClaim checks one claim. It returns false if the claim is of another kind than those of reconciliation.
func (c *Check) CheckClaim(kind ledger.ClaimKind, key string, owner ledger.ID) bool {
	switch kind {
	case ledger.ClaimReport:
		r := c.reports[owner]
		if r == nil || c.reportClaims[owner] != "" || len(key) < 36 || key[:36] != r.Terminal.String() {
			c.breach(findings.RuleClaims, "a claim (%c) names report %v, which does not have it", kind, owner)
		}
		c.reportClaims[owner] = key
	case ledger.ClaimReportLine, ledger.ClaimMatched, ledger.ClaimMissing:
		k := claim{kind, key}
		if required, ok := c.claims[k]; !ok || required != owner {
			c.breach(findings.RuleClaims, "a claim (%c) on %s names %v, which does not own it", kind, key, owner)
		}
		delete(c.claims, k)
	default:
		return false
	}
	return true
}

// CheckMissingClaims reports the claims that records require and that do not exist.
func (c *Check) CheckMissingClaims() {
	for k, owner := range c.claims {
		c.breach(findings.RuleClaims, "%v owns %c %s and has no claim on it", owner, k.kind, k.key)
	}
	for id := range c.reports {
		if c.reportClaims[id] == "" {
			c.breach(findings.RuleClaims, "report %v has no claim", id)
		}
	}
}

// entryKey is the key of the claims on an entry.
func entryKey(terminal ledger.ID, seq uint64) string {
	return terminal.String() + "/" + strconv.FormatUint(seq, 10)
}

// lineKey is the key of the claim on a line with an id of the provider. A line without an id has the key that is stored, because
// its ordinal in the file is not.
func lineKey(l *reconciliation.BookedLine) reconciliation.LineKey {
	if l.ID == "" {
		return l.Key
	}
	sum := sha256.Sum256([]byte("id\x00" + l.ID))
	return reconciliation.LineKey(sum[:len(reconciliation.LineKey{})])
}

func lineClaim(terminal ledger.ID, key reconciliation.LineKey) string {
	return terminal.String() + "/" + hex.EncodeToString(key[:])
}
