package balances

import (
	"errors"
	"slices"
	"sort"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
)

// Bounds of the cached sums of groups.
const (
	maxCachedOrgs = 16    // organizations with cached sums
	maxSnapshots  = 16    // snapshots of an organization that were once its latest one, and the same number of other snapshots
	maxGroupHolds = 4_096 // pending entries of an organization that are kept in memory
	fewEvents     = 4_096 // if at most this many events follow the cached sums, these sums are extended, without a search for a checkpoint
)

// groupSnapshot is the state of the sums of an organization's groups after one event. A snapshot is never changed.
type groupSnapshot struct {
	seq    uint64
	booked ledger.Micros // the event's booked time
	readAt time.Time     // an instant at which the event was the organization's last one; zero if no such instant is known
	sums   []groupSum    // ordered by their keys
}

// groupSum is the sum over those accounts of a group that have the same asset.
type groupSum struct {
	key      string
	movement ledger.Movement
}

// in returns the sums whose keys are in a range.
func (s *groupSnapshot) in(keys keyRange) []groupSum {
	index := func(key string) int {
		return sort.Search(len(s.sums), func(i int) bool { return s.sums[i].key >= key })
	}
	start := index(keys.from)
	return s.sums[start:max(start, index(keys.until))]
}

// copySums returns a copy of the sums, which the caller may change.
func (s *groupSnapshot) copySums() store.GroupSums {
	sums := make(store.GroupSums, len(s.sums))
	for i := range s.sums {
		movement := s.sums[i].movement
		sums[s.sums[i].key] = &movement
	}
	return sums
}

// groupBuilder adds up the changes of events by group.
type groupBuilder struct {
	seq        uint64 // the sums include the events up to this one
	sums       store.GroupSums
	reader     entryReader
	key, group []byte // buffers
}

func newGroupBuilder(org ledger.ID, seq uint64, sums store.GroupSums) *groupBuilder {
	return &groupBuilder{seq: seq, sums: sums, reader: entryReader{org: org, maxHolds: maxGroupHolds}}
}

// extend adds the next events to the sums, up to the event seq. After an error the builder must not be used any more.
func (b *groupBuilder) extend(view *posting.View, seq uint64) error {
	err := b.reader.eachMove(view, b.seq, seq, b.move)
	b.seq = seq
	return err
}

// move adds a posting's amount to the sum of the group to which the posting's account belongs.
func (b *groupBuilder) move(_ uint64, p *ledger.Posting, add addFunc) error {
	b.key = store.AccountKey(b.key[:0], ledger.Account{Path: p.Account, Asset: p.Asset})
	b.group = store.GroupKey(b.group[:0], b.key)
	if m := b.sums.Of(b.group); *m == store.OutOfRangeMovement || add(m, p.Side, p.Amount) != nil {
		*m = store.OutOfRangeMovement
	}
	return nil
}

// snapshot returns a copy of the current sums.
func (b *groupBuilder) snapshot(booked ledger.Micros) *groupSnapshot {
	s := &groupSnapshot{seq: b.seq, booked: booked, sums: make([]groupSum, 0, len(b.sums))}
	for _, key := range b.sums.Keys() {
		s.sums = append(s.sums, groupSum{key, *b.sums[key]})
	}
	return s
}

// startBuilder returns a builder whose sums include all events up to the event seq except the last few. The builder starts
// with the sums of base (an earlier snapshot, or nil), with the sums of a checkpoint, or with empty sums. If too many
// events follow each of these, startBuilder adds up the totals of all accounts, which it reads from their pages.
func startBuilder(view *posting.View, org ledger.ID, seq uint64, booked ledger.Micros, base *groupSnapshot) (*groupBuilder, error) {
	if base != nil && seq-base.seq <= fewEvents {
		return newGroupBuilder(org, base.seq, base.copySums()), nil
	}
	c, err := checkpointAt(view, org, booked)
	if err != nil {
		return nil, err
	}
	if page := (&Query{IsPaged: true}); (base == nil || base.seq < c.Seq) && page.isNear(&c, seq) {
		sums, err := groupsOfChain(view, org, &c)
		if _, isNotWhole := errors.AsType[*IncompleteCheckpointError](err); !isNotWhole {
			return newGroupBuilder(org, c.Seq, sums), err
		}
	}
	switch {
	case base != nil && seq-base.seq <= maxBehind*maxDistance:
		return newGroupBuilder(org, base.seq, base.copySums()), nil
	case seq <= maxBehind*minDistance:
		return newGroupBuilder(org, 0, make(store.GroupSums)), nil
	}
	sums, err := groupsOfPages(view, org, booked)
	return newGroupBuilder(org, seq, sums), err
}

// groupsOfChain returns the sums of groups after the event of a checkpoint. It adds up the sums in the checkpoint's chain.
func groupsOfChain(view *posting.View, org ledger.ID, c *Checkpoint) (store.GroupSums, error) {
	sums := make(store.GroupSums)
	chain, err := readChain(view, org, c.CheckpointID)
	if err != nil {
		return nil, err
	}
	for i := range chain {
		groups := newCheckpointReader(view, org, &chain[i], keyRange{from: store.GroupKeys})
		for {
			key, m, err := groups.next()
			if err != nil {
				return nil, err
			}
			if key == nil {
				break
			}
			sums.Add(key, m)
		}
	}
	return sums, nil
}

// groupsOfPages returns the sums of groups after the event that was booked at an instant. It adds up the totals of all
// accounts of the organization, which it reads from their pages.
func groupsOfPages(view *posting.View, org ledger.ID, booked ledger.Micros) (store.GroupSums, error) {
	sums := make(store.GroupSums)
	var group []byte
	for _, env := range [...]money.Env{money.Prod, money.Test} {
		err := fromPages(view, org, &Query{Env: env, At: booked}, func(key []byte, t *ledger.Totals) (bool, error) {
			group = store.GroupKey(group[:0], key)
			m := ledger.MovementOf(t)
			sums.Add(group, &m)
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// bookedAt returns the booked time of the event seq. If seq is 0, it returns 0.
func bookedAt(view *posting.View, org ledger.ID, seq uint64) (ledger.Micros, error) {
	e, _, found, err := view.Event(org, seq)
	if err == nil && !found && seq != 0 {
		err = damaged("organization %v: event %d is missing", org, seq)
	}
	return e.Booked, err
}

// latestUpTo returns the last snapshot that is not after the event seq. If there is none, it returns nil.
func latestUpTo(snapshots []*groupSnapshot, seq uint64) (found *groupSnapshot) {
	for _, s := range snapshots {
		if s != nil && s.seq <= seq && (found == nil || s.seq > found.seq) {
			found = s
		}
	}
	return found
}

// appendSnapshot appends a snapshot. If there are too many snapshots, it drops the first one.
func appendSnapshot(snapshots []*groupSnapshot, s *groupSnapshot) []*groupSnapshot {
	if len(snapshots) == maxSnapshots {
		snapshots = slices.Delete(snapshots, 0, 1)
	}
	return append(snapshots, s)
}
