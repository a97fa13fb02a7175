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
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/findings"
)

// Scan is one check under way: what it reads from, what it reports to, and the
// organizations that it has met.
type Scan struct {
	Ctx     context.Context
	View    *posting.View
	Report  *findings.Report
	Digest  *Digest
	Keyring actors.Sealer // nil: none

	Organizations map[ledger.ID]*Organization
	LastGroup     uint64 // the last durable one
	seen          uint64 // rows, to look at ctx now and then
}

func New(ctx context.Context, v *posting.View, keyring actors.Sealer, lastGroup uint64) *Scan {
	return &Scan{
		Ctx: ctx, View: v, Report: findings.New(), Digest: newDigest(), Keyring: keyring,
		Organizations: make(map[ledger.ID]*Organization), LastGroup: lastGroup,
	}
}

// Organization is what stays known of one organization until the end of the check, because
// answers and provider calls name its records.
type Organization struct {
	ID        ledger.ID
	Histories *Histories
}

func (c *Scan) OrganizationOf(id ledger.ID) *Organization {
	o := c.Organizations[id]
	if o == nil {
		o = &Organization{ID: id, Histories: newHistories()}
		c.Organizations[id] = o
	}
	return o
}

// ReadSection runs a scan that belongs to a rule. Rows that can't be read or taken
// apart break the rule; the other rules go on.
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

// everyNth is how many rows are read between two looks at the context.
const everyNth = 4096

func (c *Scan) Interrupted() error {
	if c.seen++; c.seen%everyNth == 0 {
		return c.Ctx.Err()
	}
	return nil
}

// Rows reads a section into the digest and hands it on: all but checkpoints, which
// follow from the journal, are read beside it, and are made when there is time.
func (c *Scan) Rows(o *Organization, s posting.Section, fn func(key, row []byte) error) error {
	c.Digest.section(s)
	return c.View.Rows(o.ID, s, func(key, row []byte) (bool, error) {
		if err := c.Interrupted(); err != nil {
			return false, err
		}
		if s == posting.KVs && store.IsCheckpoint(store.KVKey(key)) {
			return true, nil
		}
		c.Digest.row(key, row)
		return true, fn(key, row)
	})
}

// StoredIn is the history of a record that an organization has; nil without one.
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

// KV is a KV, or the error that has ended the scan.
type KV struct {
	Key, Row []byte // until the next one is asked for
	Err      error
}

// KVs are the KVs of a kind of an organization, and at the end the
// scan's error.
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

// InFlight is longer than any decision is on its way into the journal: what was
// decided before a setting changed may be booked after it.
const InFlight = ledger.Micros(time.Minute / time.Microsecond)

func SortedIDs(set map[ledger.ID]bool) []ledger.ID {
	return slices.SortedFunc(maps.Keys(set), func(a, b ledger.ID) int { return bytes.Compare(a[:], b[:]) })
}

type Place struct{ Org, ID ledger.ID }
