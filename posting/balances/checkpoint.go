package balances

import (
	"bytes"
	"errors"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// Checkpoint is the head of a checkpoint. A checkpoint has the totals of an organization's accounts after one
// event, in rows (a head and parts) that follow from the journal alone. A reader of the trial balance begins with
// a checkpoint and continues in the journal. A missing or wrong checkpoint costs time and never changes a result.
type Checkpoint = store.CheckpointHead

// ErrNotWhole is the error for a checkpoint whose parts are missing or differ from its head.
var ErrNotWhole = errors.New("a checkpoint is not whole")

// ErrManyAccounts is the error for more accounts than a checkpoint has room for.
var ErrManyAccounts = errors.New("there are more accounts than a checkpoint has room for")

// Distances between checkpoints. A checkpoint has an entry of some bytes for each account, so the more
// accounts there are, the rarer are checkpoints: within a day, at most one entry is written for every
// four events; at the end of a day, at most four entries for each event.
const (
	minDistance   = 32_768 // minimum number of events from one checkpoint to the next, except at the end of a day
	distanceRatio = 4      // minimum number of events per account within a day; maximum number of accounts per event at the day's end
)

// NextCheckpoint returns the seq of the event after which the next checkpoint after base is made (if base is the
// zero value, the first checkpoint); due is false if that event is not booked yet. The event is the last one of a
// UTC day or, on a day with many events, the one at a fixed distance from base. The result depends on the journal
// alone, so a rebuilt checkpoint equals the lost one.
func NextCheckpoint(view *posting.View, org ledger.ID, base *Checkpoint) (seq uint64, due bool, err error) {
	head, _, err := view.Head(org)
	if err != nil {
		return 0, false, err
	}
	byDistance := base.Seq + distance(base)
	earliest := base.Seq + max(1, base.Accounts/distanceRatio)
	if earliest > head {
		return 0, false, nil
	}
	e, _, found, err := view.Event(org, earliest)
	if err != nil {
		return 0, false, err
	}
	if !found {
		return 0, false, damaged("organization %v: event %d is missing", org, earliest)
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
func distance(c *Checkpoint) uint64 { return max(minDistance, distanceRatio*c.Accounts) }

// seqUntil returns the seq of the last event booked by an instant, which is probably after the journal's last
// event, head.
func seqUntil(view *posting.View, org ledger.ID, head uint64, at ledger.Micros) (uint64, error) {
	last, _, found, err := view.Event(org, head)
	if err != nil || found && last.Booked <= at {
		return head, err
	}
	return view.SeqAt(org, at)
}

// DraftCheckpoint builds the rows of the checkpoint after the event seq. It begins with the checkpoint base
// (the zero value: with the journal's beginning) and adds the events in between. It calls write with each part,
// and then with the head. Errors: ErrNotWhole, ErrManyAccounts, the store's, and those of write.
func DraftCheckpoint(view *posting.View, org ledger.ID, base *Checkpoint, seq uint64, write func(posting.KV) error) (*Checkpoint, error) {
	e, _, found, err := view.Event(org, seq)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, damaged("organization %v: event %d is missing", org, seq)
	}
	w := store.CheckpointWriter{Head: Checkpoint{Seq: seq, Booked: e.Booked, Previous: base.Seq}}
	parts := 0
	writePart := func(row []byte) error {
		switch {
		case w.Full():
			return ErrManyAccounts
		case row == nil:
			return nil
		}
		parts++
		return write(posting.KV{Org: org, Key: store.KeyCheckpointPart(seq, parts-1), Value: row})
	}
	err = new(Reader).advance(view, org, base, seq, keyRange{}, maxTurnover, func(key []byte, t *ledger.Totals) (bool, error) {
		return true, writePart(w.Add(key, t))
	})
	if err == nil {
		err = writePart(w.Flush())
	}
	if err == nil {
		err = write(posting.KV{Org: org, Key: store.KeyCheckpointHead(e.Booked), Value: store.EncodeCheckpointHead(&w.Head)})
	}
	return &w.Head, err
}

// RemovalsAfter calls fn with a KV that removes a row, for each row of an organization's checkpoints after c (if
// c is the zero value, of all its checkpoints), heads first.
func RemovalsAfter(view *posting.View, org ledger.ID, c *Checkpoint, fn func(removal posting.KV) error) error {
	for _, from := range [...]struct{ prefix, key []byte }{
		{store.CheckpointHeads(), store.KeyCheckpointHead(c.Booked + 1)},
		{store.CheckpointParts(), store.KeyCheckpointPart(c.Seq+1, 0)},
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

// ReadCheckpoint reads the checkpoint with the Seq and Booked of c. The error is ErrNotWhole if it
// does not exist.
func ReadCheckpoint(view *posting.View, org ledger.ID, c *Checkpoint) (Checkpoint, error) {
	if c.Seq == 0 {
		return *c, nil
	}
	found, err := checkpointAt(view, org, c.Booked)
	if err == nil && found.Seq != c.Seq {
		err = ErrNotWhole
	}
	return found, err
}

// HasParts tells whether all parts of a checkpoint exist. Their content is checked when they are
// read.
func HasParts(view *posting.View, org ledger.ID, c *Checkpoint) (bool, error) {
	parts := 0
	firstKey := store.KeyCheckpointPart(c.Seq, 0)
	err := view.KVKeys(org, firstKey[:len(firstKey)-4], nil, func(key []byte) ([]byte, bool, error) {
		if _, number, ok := store.ParseCheckpointPart(key); ok && number == parts {
			parts++
		}
		return nil, true, nil
	})
	return parts == len(c.Parts), err
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
