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
	"mizan/ledger/search"
	"mizan/ledger/turnover"
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
	Keyring actors.Sealer // decrypts cached replies; nil: they are not decrypted

	Organizations map[ledger.ID]*Organization
	LastGroup     uint64 // number of the last group of changes that is durable
	interruptions uint64 // number of calls of Interrupted

	meter *progress.Meter // shows the progress of the check; nil if it is not to be shown
	work  uint64          // number of checked rows and events that were not passed to the meter yet
}

// New returns the Scan for a check of the view.
func New(ctx context.Context, v *posting.View, keyring actors.Sealer, lastGroup uint64) *Scan {
	return &Scan{
		Ctx: ctx, View: v, Report: findings.New(), Digest: newDigest(), Keyring: keyring,
		Organizations: make(map[ledger.ID]*Organization), LastGroup: lastGroup, meter: progress.From(ctx),
	}
}

// BeginProgress makes the check show its progress. work is the number of rows and events that the check will read.
func (c *Scan) BeginProgress(work uint64) { c.meter.Begin("", "rows and events", work) }

// CountWork adds n to the number of rows and events that have been checked.
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

// OrganizationOf returns an organization. If the organization is new, OrganizationOf adds it.
func (c *Scan) OrganizationOf(id ledger.ID) *Organization {
	o := c.Organizations[id]
	if o == nil {
		o = &Organization{ID: id, Histories: newHistories()}
		c.Organizations[id] = o
	}
	return o
}

// ReadSection calls the function scan, which reads a section of the store for a rule. If scan returns an error,
// ReadSection reports that the rule is broken, and the check continues. The only error that ReadSection itself returns
// is the context's error.
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

// callsPerContextCheck says how often Interrupted checks the context: once in this number of calls.
const callsPerContextCheck = 4096

// Interrupted returns the context's error if the check was interrupted. It checks the context only once in
// callsPerContextCheck calls, and otherwise returns nil.
func (c *Scan) Interrupted() error {
	if c.interruptions++; c.interruptions%callsPerContextCheck == 0 {
		c.meter.CountUnits(callsPerContextCheck)
		return c.Ctx.Err()
	}
	return nil
}

// Rows adds a section (an organization's rows of one kind) to the digest and calls fn with each row. Some rows are
// neither in the digest nor passed to fn: checkpoints and turnover, which are read along with the journal, and the
// index of transactions, which package check/search reads.
func (c *Scan) Rows(o *Organization, s posting.RowKind, fn func(key, row []byte) error) error {
	c.Digest.beginSection(s)
	return c.View.Rows(o.ID, s, func(key, row []byte) (bool, error) {
		if err := c.Interrupted(); err != nil {
			return false, err
		}
		if kv := store.KVKey(key); s == posting.KVs && (store.IsCheckpoint(kv) || turnover.IsRow(kv) || search.IsRow(kv)) {
			return true, nil
		}
		c.Digest.addRow(key, row)
		return true, fn(key, row)
	})
}

// StoredIn returns the history of a record. If no row of the record has been read, StoredIn returns nil.
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

// KV is a key-value row that an actor has stored, or the error that ended the iteration.
type KV struct {
	Key, Row []byte // valid until the next row is read
	Err      error
}

// KVs iterates over an organization's key-value rows of one kind. If reading fails, the last element contains the
// error.
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

// MaxDecisionTime is an upper bound for the time between a decision and its event in the journal. After a setting has changed,
// decisions that were made with the old setting may still be booked for as long as MaxDecisionTime.
const MaxDecisionTime = ledger.Micros(time.Minute / time.Microsecond)

// SortedIDs returns the ids in a set, in ascending order.
func SortedIDs(set map[ledger.ID]bool) []ledger.ID {
	return slices.SortedFunc(maps.Keys(set), func(a, b ledger.ID) int { return bytes.Compare(a[:], b[:]) })
}

// RecordKey identifies a record by the organization's id and the record's id.
type RecordKey struct{ Org, ID ledger.ID }
