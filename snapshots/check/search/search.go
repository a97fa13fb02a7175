package search

import (
	"bytes"
	"slices"

	searchactor "mizan/actors/search"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/search"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Check compares the search index of an organization's transactions with the transactions.
type Check struct {
	*scan.Scan
	organization *scan.Organization
	hasIndex     bool           // whether the organization has an index
	indexedUpTo  uint64         // seq up to which the server has indexed all events
	lastSeq      uint64         // seq of the last event
	transactions bits           // seqs of the events of transactions
	newest       bits           // seqs of the last events of transactions
	expected     []search.Entry // entries that the index must have, each with the seq of its transaction's last event
	unreadable   bool           // whether some row can't be read, so that its entries are unknown
}

// New returns a Check for one organization. It reads the progress row.
func New(s *scan.Scan, o *scan.Organization) *Check {
	c := &Check{Scan: s, organization: o}
	err := c.View.KVKeys(o.ID, search.RowPrefix(), nil, func([]byte) ([]byte, bool, error) {
		c.hasIndex = true
		return nil, false, nil
	})
	row, found, readErr := c.View.KV(o.ID, search.RowPrefix())
	if err == nil {
		err = readErr
	}
	if err == nil && found {
		c.indexedUpTo, err = search.DecodePosition(row)
	}
	if err != nil {
		c.breach("%v", err)
	}
	return c
}

func (c *Check) breach(format string, args ...any) {
	c.Report.Breach(findings.RuleClaims, "organization %v: "+format, append([]any{c.organization.ID}, args...)...)
}

// Follow notes an event. Events must be passed in order.
func (c *Check) Follow(e *ledger.Event) {
	c.lastSeq = e.Seq
	if c.hasIndex && e.Source.Kind == ledger.Transaction {
		c.transactions.set(e.Seq)
	}
}

// CheckTransaction computes the entries that the index must have for a transaction.
func (c *Check) CheckTransaction(r *scan.Record, p *payment.Record) {
	if c.hasIndex && r.Header.LastSeq <= c.lastSeq {
		c.newest.set(r.Header.LastSeq)
		c.expected = searchactor.AppendEntries(c.expected, p, r.Header.LastSeq)
	}
}

// CheckRows compares the stored rows with the entries that CheckTransaction has computed. It is called after all events and
// transactions have been read.
func (c *Check) CheckRows() error {
	if c.indexedUpTo > c.lastSeq {
		c.breach("transactions are indexed up to event %d, which does not exist", c.indexedUpTo)
	}
	slices.SortFunc(c.expected, search.Entry.Compare)
	c.expected = slices.Compact(c.expected)
	var found bits
	err := c.View.KVsAscending(c.organization.ID, search.RowPrefix(), nil, func(key, value []byte) (bool, error) {
		if !bytes.Equal(key, search.RowPrefix()) {
			c.Report.Count(findings.RuleClaims, 1)
			c.checkRow(key, value, &found)
		}
		return true, c.Interrupted()
	})
	if err != nil {
		return err
	}
	for i, entry := range c.expected {
		if entry.Seq <= c.indexedUpTo && !found.has(uint64(i)) && !c.unreadable {
			c.breach("the index of transactions lacks a value of the transaction of event %d", entry.Seq)
		}
	}
	return nil
}

// checkRow checks a row of the index. If the row contains an expected entry, checkRow adds the entry's index in
// c.expected to found.
func (c *Check) checkRow(storedKey, value []byte, found *bits) {
	key, err := search.ParseKey(storedKey)
	var entries []search.Entry
	if err == nil {
		entries, err = search.Decode(key, value)
	}
	if err != nil {
		c.breach("the row %x of the index of transactions: %v", storedKey, err)
		c.unreadable = true
		return
	}
	if key.Last > c.lastSeq {
		c.breach("the row %x of the index of transactions covers events up to %d, which does not exist", storedKey, key.Last)
	}
	for _, entry := range entries {
		at, isExpected := slices.BinarySearchFunc(c.expected, entry, search.Entry.Compare)
		switch {
		case isExpected:
			found.set(uint64(at))
		case !c.transactions.has(entry.Seq):
			c.breach("the index of transactions names event %d, which is not one of a transaction", entry.Seq)
		case c.newest.has(entry.Seq):
			c.breach("the index of transactions has a value that the transaction of event %d lacks", entry.Seq)
		}
	}
}

// bits is a set of numbers.
type bits []uint64

func (b *bits) set(n uint64) {
	for uint64(len(*b)) <= n/64 {
		*b = append(*b, 0)
	}
	(*b)[n/64] |= 1 << (n % 64)
}

func (b bits) has(n uint64) bool { return n/64 < uint64(len(b)) && b[n/64]&(1<<(n%64)) != 0 }
