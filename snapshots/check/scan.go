package check

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
)

// scan is one check under way: what it reads from, what it reports to, and the
// organizations that it has met.
type scan struct {
	ctx     context.Context
	view    *posting.View
	report  *Report
	digest  *digest
	keyring actors.Sealer // nil: none

	organizations map[ledger.ID]*organization
	lastGroup     uint64 // the last durable one
	seen          uint64 // rows, to look at ctx now and then
}

func newScan(ctx context.Context, v *posting.View, keyring actors.Sealer, lastGroup uint64) *scan {
	return &scan{
		ctx: ctx, view: v, report: newReport(), digest: newDigest(), keyring: keyring,
		organizations: make(map[ledger.ID]*organization), lastGroup: lastGroup,
	}
}

// organization is what stays known of one organization until the end of the check, because
// answers and provider calls name its records.
type organization struct {
	id        ledger.ID
	histories *histories
}

func (c *scan) organizationOf(id ledger.ID) *organization {
	o := c.organizations[id]
	if o == nil {
		o = &organization{id: id, histories: newHistories()}
		c.organizations[id] = o
	}
	return o
}

// reading runs a scan that belongs to a rule. Rows that can't be read or taken
// apart break the rule; the other rules go on.
func (c *scan) reading(rule int, scan func() error) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	err := scan()
	if err != nil && c.ctx.Err() == nil {
		c.report.breach(rule, "%v", err)
	}
	return c.ctx.Err()
}

// everyNth is how many rows are read between two looks at the context.
const everyNth = 4096

func (c *scan) alive() error {
	if c.seen++; c.seen%everyNth == 0 {
		return c.ctx.Err()
	}
	return nil
}

// rows reads a section into the digest and hands it on: all but checkpoints, which
// follow from the journal, are read beside it, and are made when there is time.
func (c *scan) rows(o *organization, s posting.Section, fn func(key, row []byte) error) error {
	c.digest.section(s)
	return c.view.Rows(o.id, s, func(key, row []byte) (bool, error) {
		if err := c.alive(); err != nil {
			return false, err
		}
		if s == posting.KVs && store.IsCheckpoint(store.KVKey(key)) {
			return true, nil
		}
		c.digest.row(key, row)
		return true, fn(key, row)
	})
}

// storedIn is the history of a record that an organization has; nil without one.
func (c *scan) storedIn(org ledger.ID, s ledger.Source) *history {
	o := c.organizations[org]
	if o == nil {
		return nil
	}
	if h := o.histories.find(s); h != nil && h.marks&stored != 0 {
		return h
	}
	return nil
}

// kvRow is a KV, or the error that has ended the scan.
type kvRow struct {
	key, row []byte // until the next one is asked for
	err      error
}

// kvRows are the KVs of a kind of an organization, and at the end the
// scan's error.
func (c *scan) kvRows(org ledger.ID, kind notifier.RowKind) iter.Seq[kvRow] {
	return func(yield func(kvRow) bool) {
		err := c.view.KVsAscending(org, []byte{byte(kind)}, nil, func(key, row []byte) (bool, error) {
			return yield(kvRow{key: key, row: row}), c.alive()
		})
		if err != nil {
			yield(kvRow{err: err})
		}
	}
}

// inFlight is longer than any decision is on its way into the journal: what was
// decided before a setting changed may be booked after it.
const inFlight = ledger.Micros(time.Minute / time.Microsecond)

func sortedIDs(set map[ledger.ID]bool) []ledger.ID {
	return slices.SortedFunc(maps.Keys(set), func(a, b ledger.ID) int { return bytes.Compare(a[:], b[:]) })
}

type placed struct{ org, id ledger.ID }
