package search

import (
	"errors"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/ledger/search"
	"mizan/posting"
)

// The entries in memory are written to the store when one of these bounds is reached.
const (
	MinUnstored = 65_536  // the entries are written when there are so many, if they fill few rows
	manyRows    = 4_096   // for each manyRows rows to write, the required number of entries rises by MinUnstored
	maxUnstored = 262_144 // maximum number of entries in memory (16 bytes each); if there are more, they are written
)

// maxRows bounds the rows in a Change, so that the group of changes that become durable together stays short. A row is about
// half a kilobyte long.
const maxRows = 64

// isTimeToStore tells whether each row to be written would contain enough entries, or there are more entries in
// memory than allowed.
func (x *Index) isTimeToStore() bool {
	return x.unstoredEntries > 0 && x.unstoredEntries >= x.minUnstored+x.minUnstored*x.rows/manyRows || x.unstoredEntries > x.maxUnstored
}

// Flush implements follower.Consumer: if isTimeToStore, it writes the entries that are only in memory.
func (x *Index) Flush() (err error) {
	if !x.isTimeToStore() {
		return nil
	}
	for org, p := range x.organizations {
		if x.follower.IsElsewhere(org) {
			x.forgetOrganization(org, p)
			continue
		}
		if p.storedSeq < p.seq {
			err = errors.Join(err, x.storeOrganization(org, p))
		}
	}
	return err
}

// forgetOrganization drops the entries of an organization that was moved to another store.
func (x *Index) forgetOrganization(org ledger.ID, p *progress) {
	x.forget(p, slices.Collect(maps.Keys(p.buckets)))
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.organizations, org)
}

// storeOrganization writes the entries of an organization, and then its progress row.
func (x *Index) storeOrganization(org ledger.ID, p *progress) error {
	if err := x.storeBuckets(org, p, slices.Sorted(maps.Keys(p.buckets))); err != nil {
		return err
	}
	key, row := search.EncodePosition(p.seq)
	if err := x.follower.Submit([]posting.KV{{Org: org, Key: key, Value: row}}); err != nil {
		return err
	}
	p.storedSeq = p.seq
	return nil
}

// storeBuckets writes the entries of these buckets. Once all rows of a bucket are durable, it drops the bucket's
// entries from memory.
func (x *Index) storeBuckets(org ledger.ID, p *progress, buckets []search.Bucket) error {
	var rows []posting.KV
	var written []search.Bucket
	flush := func() error {
		if err := x.follower.Submit(rows); err != nil {
			return err
		}
		x.forget(p, written)
		rows, written = rows[:0:0], written[:0]
		return nil
	}
	for _, bucket := range buckets {
		// EncodeRows sorts its argument, so it gets a copy: Find may read the entries meanwhile.
		for _, row := range search.EncodeRows(bucket, p.seq, slices.Clone(p.buckets[bucket])) {
			if len(rows) == maxRows {
				if err := flush(); err != nil {
					return err
				}
			}
			rows = append(rows, posting.KV{Org: org, Key: row.Key.Encode(), Value: row.Value})
		}
		written = append(written, bucket)
	}
	if len(rows) == 0 {
		return nil
	}
	return flush()
}

// forget drops buckets from memory.
func (x *Index) forget(p *progress, buckets []search.Bucket) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, bucket := range buckets {
		x.unstoredEntries -= len(p.buckets[bucket])
		x.rows--
		delete(p.buckets, bucket)
	}
}
