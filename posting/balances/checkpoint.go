package balances

import (
	"bytes"
	"fmt"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// Checkpoint is the head of a checkpoint. A checkpoint is made after an event. It contains a sum for each account: the
// amounts that the organization's events after an earlier checkpoint (its base) and up to that event have added to the
// totals. Its rows can be computed from the journal alone. A reader of a trial balance adds up a checkpoint, its base,
// the base's base and so on (its chain), and the events after the checkpoint. A missing or wrong checkpoint costs time
// and never changes a result.
type Checkpoint = store.CheckpointHead

// NotWholeError is the error for a checkpoint whose rows are missing or differ from its head.
type NotWholeError struct {
	Seq uint64 // seq of the checkpoint's event
}

// Error implements error.
func (e *NotWholeError) Error() string {
	return fmt.Sprintf("the checkpoint after event %d is not whole", e.Seq)
}

// Distances between checkpoints, in events. A checkpoint is made at the end of each UTC day with events. Within a day, the
// next one is made after distanceRatio events for each account, but at least minDistance and at most maxDistance events.
// A checkpoint takes some bytes for each account that moved. So a greater distance saves space if the same accounts move
// again and again, but a reader has to read the events of up to one distance.
const (
	minDistance   = 32_768
	maxDistance   = 65_536
	distanceRatio = 4
)

// maxChain bounds the checkpoints that a reader adds up. In a chain each checkpoint has more than twice as many
// accounts as the newer one before it (see checkpointsToMerge). So the oldest checkpoint of a longer chain would have
// more than 2^64 accounts.
const maxChain = 64

// NextCheckpoint returns the seq of the event after which the next checkpoint is made. The next checkpoint is the one that
// follows previous or, if previous is the zero value, the first one. due is false as long as that event is not booked, or may
// still be followed by events of the same day. The event is the last one of a UTC day or, on a day with many events, the one at a
// fixed distance from previous. The result depends on the journal alone, so a rebuilt checkpoint equals the lost one.
func NextCheckpoint(view *posting.View, org ledger.ID, previous *Checkpoint) (seq uint64, due bool, err error) {
	head, _, err := view.Head(org)
	if err != nil {
		return 0, false, err
	}
	byDistance := previous.Seq + distance(previous)
	next := previous.Seq + 1
	if next > head {
		return 0, false, nil
	}
	e, _, found, err := view.Event(org, next)
	if err != nil {
		return 0, false, err
	}
	if !found {
		return 0, false, damaged("organization %v: event %d is missing", org, next)
	}
	endOfDay, err := seqUntil(view, org, head, endOf(e.Booked.Date()))
	switch {
	case err != nil:
		return 0, false, err
	case byDistance <= min(endOfDay, head):
		return byDistance, true, nil
	}
	return endOfDay, endOfDay < head, nil
}

// distance returns the number of events from a checkpoint to the next on a day with many events.
func distance(c *Checkpoint) uint64 {
	return min(max(minDistance, distanceRatio*c.ChainAccounts), maxDistance)
}

// seqUntil returns the seq of the last event booked at or before an instant. It looks at the journal's last event,
// head, first, because the instant is probably later.
func seqUntil(view *posting.View, org ledger.ID, head uint64, at ledger.Micros) (uint64, error) {
	last, _, found, err := view.Event(org, head)
	if err != nil || found && last.Booked <= at {
		return head, err
	}
	return view.SeqAt(org, at)
}

// DraftCheckpoint builds the rows of the checkpoint after the event seq. previous is the checkpoint before it; the zero value:
// there is none. DraftCheckpoint calls write with each row, the head last. It reads the events since previous, and the rows of
// the checkpoints that it merges into the new one. In memory it holds the sums of the events (a turnover) and, of each merged
// checkpoint, one row of each height (index rows and parts form a tree). Errors: *NotWholeError, the store's, and those of write.
func DraftCheckpoint(view *posting.View, org ledger.ID, previous *Checkpoint, seq uint64, write func(posting.KV) error) (*Checkpoint, error) {
	return draft(view, org, previous, seq, maxTurnover, 0, write)
}

// draft is DraftCheckpoint with two bounds: maxAccounts bounds the accounts in a turnover, and rowBytes the length of rows. If
// rowBytes is 0, rows have the length that the store prescribes.
func draft(view *posting.View, org ledger.ID, previous *Checkpoint, seq uint64, maxAccounts, rowBytes int, write func(posting.KV) error) (*Checkpoint, error) {
	e, _, found, err := view.Event(org, seq)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, damaged("organization %v: event %d is missing", org, seq)
	}
	chain, err := readChain(view, org, previous.CheckpointID)
	if err != nil {
		return nil, err
	}
	moved, err := computeTurnover(view, org, keyRange{}, previous.Seq, seq, maxAccounts)
	if err != nil {
		return nil, err
	}
	merged := checkpointsToMerge(chain, moved.weight())
	w := store.CheckpointWriter{Head: Checkpoint{Previous: previous.Seq}, RowBytes: rowBytes}
	w.Head.Seq, w.Head.Booked = seq, e.Booked
	w.Write = func(key, row []byte) error { return write(posting.KV{Org: org, Key: key, Value: row}) }
	err = new(Reader).sum(view, chain[:merged], moved, keyRange{}, maxAccounts, func(key []byte, m *ledger.Movement) (bool, error) {
		if bytes.HasPrefix(key, []byte(store.GroupKeys)) {
			return true, nil // a group's sum, which the writer computes again from the accounts
		}
		return true, w.Add(key, m)
	})
	if err == nil {
		err = w.Finish()
	}
	w.Head.ChainAccounts = w.Head.Accounts
	if merged < len(chain) {
		w.Head.Base = chain[merged].CheckpointID
		w.Head.ChainAccounts += chain[merged].ChainAccounts
	}
	if err == nil {
		err = write(posting.KV{Org: org, Key: store.KeyCheckpointHead(e.Booked), Value: store.EncodeCheckpointHead(&w.Head)})
	}
	return &w.Head, err
}

// checkpointsToMerge returns how many checkpoints of a chain, from the newest on, are merged into a new checkpoint.
// movedAccounts is the number of accounts with postings since the newest checkpoint. A checkpoint is merged if it has at
// most twice as many accounts as the newer ones and the moved accounts together. So each checkpoint of a chain has more
// than twice as many accounts as the newer one before it, which keeps chains short. An account is rewritten only a few
// times. Then it is in a checkpoint that is much larger than the newer ones, and such a checkpoint is rarely merged.
func checkpointsToMerge(chain []Checkpoint, movedAccounts uint64) (merged int) {
	for above := movedAccounts; merged < len(chain) && chain[merged].Accounts <= 2*above; merged++ {
		above += chain[merged].Accounts
	}
	return merged
}

// RemovalsAfter calls fn for each row of the checkpoints of an organization that follow c, heads first. If c is the zero value,
// it calls fn for the rows of all checkpoints. Each KV that fn gets removes one row.
func RemovalsAfter(view *posting.View, org ledger.ID, c *Checkpoint, fn func(removal posting.KV) error) error {
	for _, from := range [...]struct{ prefix, key []byte }{
		{store.CheckpointHeads(), store.KeyCheckpointHead(c.Booked + 1)},
		{store.CheckpointRows(), store.CheckpointRowsOf(c.Seq + 1)},
	} {
		err := view.KVKeys(org, from.prefix, from.key, func(key []byte) ([]byte, bool, error) {
			return nil, true, fn(posting.KV{Org: org, Key: bytes.Clone(key)})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Checkpoints calls fn with an organization's checkpoints, the earliest first. It skips
// checkpoints whose head cannot be parsed.
func Checkpoints(view *posting.View, org ledger.ID, fn func(*Checkpoint) (more bool, err error)) error {
	return view.KVsAscending(org, store.CheckpointHeads(), nil, func(key, row []byte) (bool, error) {
		c, err := store.DecodeCheckpointHead(key, row)
		if err != nil {
			return true, nil
		}
		return fn(&c)
	})
}

// HasRows tells whether all parts and index rows of a checkpoint exist. Their content is checked when they are
// read.
func HasRows(view *posting.View, org ledger.ID, c *Checkpoint) (bool, error) {
	rows := uint64(0)
	lastHeight, nextNumber := 0, 0
	err := view.KVKeys(org, store.CheckpointRowsOf(c.Seq), nil, func(key []byte) ([]byte, bool, error) {
		_, height, number, ok := store.ParseCheckpointRow(key)
		if height > lastHeight {
			lastHeight, nextNumber = height, 0
		}
		if ok && number == nextNumber {
			rows++
			nextNumber++
		}
		return nil, true, nil
	})
	return rows == c.Rows, err
}

// checkpointAt returns the last checkpoint up to an instant; the zero value if there is none.
func checkpointAt(view *posting.View, org ledger.ID, at ledger.Micros) (found Checkpoint, err error) {
	if at < 0 {
		return found, nil // nothing is booked before 1970, and keys are unsigned
	}
	err = view.KVsDescending(org, store.CheckpointHeads(), store.KeyCheckpointHead(at), func(key, row []byte) (bool, error) {
		c, err := store.DecodeCheckpointHead(key, row)
		if err != nil {
			return true, nil
		}
		found = c
		return false, nil
	})
	return found, err
}
