package scan

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"mizan/actors"
	"mizan/actors/notifier"
	"mizan/internal/progress"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/findings"
)

// Scan is the state of one check: its view of the store, its report, and the organizations
// found so far.
type Scan struct {
	Ctx     context.Context
	View    *posting.View
	Report  *findings.Report
	Digest  *Digest
	Keyring actors.Sealer // opens cached replies; nil: they are not opened

	Organizations map[ledger.ID]*Organization
	LastGroup     uint64 // the number of the last durable group of changes
	interruptions uint64 // number of calls of Interrupted

	meter *progress.Meter // shows how far the check is; nil: nobody looks
	work  uint64          // rows and events that were checked and not counted by the meter yet
}

// New starts a check of the view.
func New(ctx context.Context, v *posting.View, keyring actors.Sealer, lastGroup uint64) *Scan {
	return &Scan{
		Ctx: ctx, View: v, Report: findings.New(), Digest: newDigest(), Keyring: keyring,
		Organizations: make(map[ledger.ID]*Organization), LastGroup: lastGroup, meter: progress.From(ctx),
	}
}

// BeginProgress begins to show how far the check is, which takes this much work.
func (c *Scan) BeginProgress(work uint64) { c.meter.Begin("", "rows and events", work) }

// CountWork adds to the work that is done.
func (c *Scan) CountWork(n uint64) {
	if c.work += n; c.work >= callsPerContextCheck {
		c.meter.CountWork(c.work)
		c.work = 0
	}
}

// Organization is the part of an organization's data that stays in memory until the end of the
// check, because answers and provider calls name the organization's records.
type Organization struct {
	ID        ledger.ID
	Histories *Histories
}

// OrganizationOf returns an organization, and adds it if it is new.
func (c *Scan) OrganizationOf(id ledger.ID) *Organization {
	o := c.Organizations[id]
	if o == nil {
		o = &Organization{ID: id, Histories: newHistories()}
		c.Organizations[id] = o
	}
	return o
}

// ReadSection calls scan to read a section of the store for a rule. If rows can't be read, the rule is broken and
// the check continues. ReadSection returns only the context's error.
func (c *Scan) ReadSection(rule int, scan func() error) error {
	if err := c.Ctx.Err(); err != nil {
		return err
	}
	err := scan()
	if err != nil && c.Ctx.Err() == nil {
		c.Report.Breach(rule, "%v", err)
	}
	return c.Ctx.Err()
}

// callsPerContextCheck says how often Interrupted checks the context: once in so many calls.
const callsPerContextCheck = 4096

// Interrupted returns the context's error, but checks the context only once in callsPerContextCheck calls.
func (c *Scan) Interrupted() error {
	if c.interruptions++; c.interruptions%callsPerContextCheck == 0 {
		c.meter.CountUnits(callsPerContextCheck)
		return c.Ctx.Err()
	}
	return nil
}

// Rows adds a section (an organization's rows of one kind) to the digest and calls fn with each row. It skips
// checkpoints, which are read along with the journal.
func (c *Scan) Rows(o *Organization, s posting.RowKind, fn func(key, row []byte) error) error {
	c.Digest.beginSection(s)
	return c.View.Rows(o.ID, s, func(key, row []byte) (bool, error) {
		if err := c.Interrupted(); err != nil {
			return false, err
		}
		if s == posting.KVs && store.IsCheckpoint(store.KVKey(key)) {
			return true, nil
		}
		c.Digest.addRow(key, row)
		return true, fn(key, row)
	})
}

// StoredIn returns the history of a record whose row has been read; nil if there is no such record.
func (c *Scan) StoredIn(org ledger.ID, s ledger.Source) *History {
	o := c.Organizations[org]
	if o == nil {
		return nil
	}
	if h := o.Histories.Find(s); h != nil && h.Marks&HasRow != 0 {
		return h
	}
	return nil
}

// KV is a key-value row of the actors, or the error because of which no further row can be read.
type KV struct {
	Key, Row []byte // valid until the next row is read
	Err      error
}

// KVs iterates over an organization's key-value rows of one kind. If reading fails, the last element has the error.
func (c *Scan) KVs(org ledger.ID, kind notifier.RowKind) iter.Seq[KV] {
	return func(yield func(KV) bool) {
		err := c.View.KVsAscending(org, []byte{byte(kind)}, nil, func(key, row []byte) (bool, error) {
			return yield(KV{Key: key, Row: row}), c.Interrupted()
		})
		if err != nil {
			yield(KV{Err: err})
		}
	}
}

// MaxDecisionTime is longer than any decision takes to reach the journal. For that time after a setting was changed,
// decisions that were made with the old value may still be booked.
const MaxDecisionTime = ledger.Micros(time.Minute / time.Microsecond)

// SortedIDs returns the ids of a set, in order.
func SortedIDs(set map[ledger.ID]bool) []ledger.ID {
	return slices.SortedFunc(maps.Keys(set), func(a, b ledger.ID) int { return bytes.Compare(a[:], b[:]) })
}

// RecordKey is a record's id with its organization.
type RecordKey struct{ Org, ID ledger.ID }
