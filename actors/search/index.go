package search

import (
	"errors"
	"sync"
	"sync/atomic"

	"mizan/actors/follower"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/search"
	"mizan/posting"
)

// Index finds transactions by a text in one of their fields. It is a consumer of a Follower, which passes it the
// journal's events.
type Index struct {
	follower    *follower.Follower
	minUnstored int
	maxUnstored int
	bounds      bounds
	total       atomic.Uint64 // transactions that were indexed

	// Only the methods that the Follower calls use the fields of this group, and the Follower calls one method at a time.
	entryBuffer     []search.Entry // memory that Consume reuses
	unstoredEntries int            // entries in memory
	rows            int            // buckets with entries in memory, in all organizations; each bucket becomes a row

	mu            sync.RWMutex // guards organizations, which only methods that the Follower calls change
	organizations map[ledger.ID]*progress
}

// progress contains the position up to which an organization's events are indexed, and the entries that are not stored yet.
type progress struct {
	seq       uint64 // seq of the last event that was indexed
	storedSeq uint64 // the seq in the stored progress row
	buckets   map[search.Bucket][]search.Entry
}

// New returns an Index of the transactions whose events the follower reads. minUnstored is MinUnstored, except in tests.
func New(f *follower.Follower, minUnstored int) *Index {
	x := &Index{follower: f, minUnstored: minUnstored, maxUnstored: maxUnstored, bounds: usualBounds, organizations: make(map[ledger.ID]*progress)}
	f.Add(x)
	return x
}

// Indexed returns the number of transactions that were indexed since the start. A transaction counts each time it is indexed.
func (x *Index) Indexed() uint64 { return x.total.Load() }

// Lag returns the number of events that were not indexed yet after the last run.
func (x *Index) Lag() uint64 { return x.follower.Lag(x) }

// Name implements follower.Consumer.
func (x *Index) Name() string { return "search" }

// Position implements follower.Consumer.
func (x *Index) Position(view *posting.View, org ledger.ID) (uint64, error) {
	if p := x.organizations[org]; p != nil {
		return p.seq, nil
	}
	seq, err := storedPosition(view, org)
	if err != nil {
		return 0, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.organizations[org] = &progress{seq: seq, storedSeq: seq, buckets: make(map[search.Bucket][]search.Entry)}
	return seq, nil
}

// storedPosition returns the seq up to which all events are indexed in stored rows. It returns 0 if no rows are stored.
func storedPosition(view *posting.View, org ledger.ID) (seq uint64, err error) {
	row, found, err := view.KV(org, search.RowPrefix())
	if err != nil || !found {
		return 0, err
	}
	if seq, err = search.DecodePosition(row); err != nil {
		return 0, err
	}
	if size, _, err := view.Head(org); err != nil {
		return 0, err
	} else if seq > size {
		return 0, errors.New("transactions are indexed up to an event that does not exist")
	}
	return seq, nil
}

// Consume implements follower.Consumer: it indexes the transactions of the chunk's events.
func (x *Index) Consume(c *follower.Chunk) error {
	x.entryBuffer = x.entryBuffer[:0]
	indexed := uint64(0)
	for i := range c.Events {
		e := &c.Events[i]
		t, err := c.Transaction(e.Source.ID)
		if err != nil {
			return err
		}
		if t.Header.LastSeq != e.Seq {
			continue
		}
		r, err := t.Record()
		if err != nil {
			return err
		}
		indexed++
		x.entryBuffer = AppendEntries(x.entryBuffer, r, e.Seq)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.organizations[c.Org]
	for _, entry := range x.entryBuffer {
		bucket := entry.Hash.Bucket()
		if len(p.buckets[bucket]) == 0 {
			x.rows++
		}
		p.buckets[bucket] = append(p.buckets[bucket], entry)
	}
	x.unstoredEntries += len(x.entryBuffer)
	x.total.Add(indexed)
	p.seq = c.Last
	return nil
}

// AppendEntries appends the index entries of a transaction to dst. seq is the seq of the transaction's last event.
func AppendEntries(dst []search.Entry, r *payment.Record, seq uint64) []search.Entry {
	search.Values(r, func(f search.Field, folded string) { dst = append(dst, search.Entry{Hash: f.HashOf(folded), Seq: seq}) })
	return dst
}
