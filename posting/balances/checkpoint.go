package balances

import (
	"bytes"
	"fmt"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// Checkpoint is the head row of a checkpoint. A checkpoint belongs to an event of an organization. For each account it
// contains a sum: the amounts that were added to the account's totals by the events after an earlier checkpoint (the base),
// up to the checkpoint's own event. All rows of a checkpoint can be computed from the journal. To compute a trial balance, a
// reader adds up a checkpoint, its base, the base's base and so on (the chain), and the events after the checkpoint. If a
// checkpoint is missing or wrong, readers take longer, but return the same results.
type Checkpoint = store.CheckpointHead

// IncompleteCheckpointError is the error for a checkpoint whose rows are missing or differ from its head.
type IncompleteCheckpointError struct {
	Seq uint64 // seq of the checkpoint's event
}

// Error implements error.
func (e *IncompleteCheckpointError) Error() string {
	return fmt.Sprintf("the checkpoint after event %d is not whole", e.Seq)
}

// Distances between checkpoints, in events. A checkpoint is made at the end of each UTC day that has events. On a day with
// many events, more checkpoints are made: the distance to the next one is distanceRatio times the number of accounts, but at
// least minDistance and at most maxDistance. A checkpoint takes space for each account that has postings since the base. So a
// greater distance saves space if the same accounts have postings again and again. But a reader then has to read more events
// after the last checkpoint.
const (
	minDistance   = 32_768
	maxDistance   = 65_536
	distanceRatio = 4
)

// maxChain is the maximum number of checkpoints that a reader adds up. Each base has more than twice as many accounts as the
// checkpoint that refers to it (see checkpointsToMerge). So the oldest checkpoint of a longer chain would have more than 2^64
// accounts.
const maxChain = 64

// NextCheckpoint returns the seq of the event after which the next checkpoint is made. The next checkpoint is the one that
// follows previous. If previous is the zero value, it is the first checkpoint. The event is the last one of a UTC day or, on
// a day with many events, the one at a fixed distance from previous. While this event is not booked, or events of the same
// day may still follow it, due is false. The result depends only on the journal, so a rebuilt checkpoint equals the lost one.
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

// distance returns the number of events between a checkpoint and the next one on a day with many events.
func distance(c *Checkpoint) uint64 {
	return min(max(minDistance, distanceRatio*c.ChainAccounts), maxDistance)
}

// seqUntil returns the seq of the last event booked at or before an instant. It first looks at the journal's last event,
// head, because most callers ask for an instant after it.
func seqUntil(view *posting.View, org ledger.ID, head uint64, at ledger.Micros) (uint64, error) {
	last, _, found, err := view.Event(org, head)
	if err != nil || found && last.Booked <= at {
		return head, err
	}
	return view.SeqAt(org, at)
}

// BuildCheckpoint builds the rows of the checkpoint after the event seq, and calls write with each row, the head last.
// previous is the checkpoint before the new one, or the zero value if there is none. BuildCheckpoint reads the events since
// previous, and the rows of the checkpoints that it merges into the new one. The rows of a checkpoint form a tree. In memory
// BuildCheckpoint holds the sums of the events (a turnover) and, for each merged checkpoint, one row of each height of the
// tree. It returns a *IncompleteCheckpointError, an error of the store, or an error of write.
func BuildCheckpoint(view *posting.View, org ledger.ID, previous *Checkpoint, seq uint64, write func(posting.KV) error) (*Checkpoint, error) {
	return buildCheckpoint(view, org, previous, seq, maxTurnover, 0, write)
}

// buildCheckpoint does the work of BuildCheckpoint. maxAccounts bounds the number of accounts in a turnover, and rowBytes the
// length of rows. If rowBytes is 0, the store's own bound is used.
func buildCheckpoint(view *posting.View, org ledger.ID, previous *Checkpoint, seq uint64, maxAccounts, rowBytes int, write func(posting.KV) error) (*Checkpoint, error) {
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
	merged := checkpointsToMerge(chain, moved.accountCount())
	w := store.CheckpointWriter{Head: Checkpoint{Previous: previous.Seq}, RowBytes: rowBytes}
	w.Head.Seq, w.Head.Booked = seq, e.Booked
	w.Write = func(key, row []byte) error { return write(posting.KV{Org: org, Key: key, Value: row}) }
	err = new(Reader).sum(view, chain[:merged], moved, keyRange{}, maxAccounts, func(key []byte, m *ledger.Movement) (bool, error) {
		if bytes.HasPrefix(key, []byte(store.GroupKeys)) {
			return true, nil // skip a group's sum, because the writer computes it again from the accounts
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

// checkpointsToMerge returns how many of a chain's newest checkpoints are merged into a new checkpoint. movedAccounts is the
// number of accounts with postings since the newest checkpoint. A checkpoint is merged if its number of accounts is at most
// twice the sum of movedAccounts and the numbers of accounts of all newer checkpoints. So each base has more than twice as
// many accounts as the checkpoint that refers to it, which keeps chains short. An account is rewritten only a few times:
// after that it is in a checkpoint that is much larger than the newer ones, and such a checkpoint is rarely merged.
func checkpointsToMerge(chain []Checkpoint, movedAccounts uint64) (merged int) {
	for above := movedAccounts; merged < len(chain) && chain[merged].Accounts <= 2*above; merged++ {
		above += chain[merged].Accounts
	}
	return merged
}

// RemovalsAfter calls fn with KVs that remove the checkpoints of an organization that follow c. There is one KV for each row,
// and the heads come first. If c is the zero value, the KVs remove all checkpoints.
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

// Checkpoints calls fn with each checkpoint of an organization, the earliest first, until fn returns false. It skips
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

// HasRows tells whether all parts and index rows of a checkpoint exist. It does not check their content, which is checked
// when the rows are read.
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

// checkpointAt returns the last checkpoint whose event was booked at or before an instant. If there is none, it returns the
// zero value.
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
