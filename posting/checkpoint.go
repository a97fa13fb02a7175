package posting

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"sort"

	"mizan/ledger"
	"mizan/posting/store"
)

// Checkpoint is the head of a checkpoint of the trial balance: the totals of an organization's
// accounts after one event, in rows that follow from the journal alone. A reader begins with a
// checkpoint and continues in the journal. A missing or wrong checkpoint costs time and never
// changes a result.
type Checkpoint = store.CheckpointHead

// ErrNotWhole is the error for a checkpoint whose parts are missing or differ from its head.
var ErrNotWhole = errors.New("a checkpoint is not whole")

// ErrManyAccounts is the error for more accounts than a checkpoint has room for.
var ErrManyAccounts = errors.New("there are more accounts than a checkpoint has room for")

// Distances between checkpoints. A checkpoint is a row of some bytes for each account, so with
// more accounts checkpoints are rarer: in a long day, one account's row is written for every
// four events at most; at the end of a day, four accounts' rows for each event at most.
const (
	checkpointEvents   = 32_768 // minimum number of events from one to the next, except at the end of a day
	checkpointAccounts = 4      // events per account from one to the next
)

// NextCheckpoint returns the event after which the checkpoint that follows base comes (the zero
// value: the first one); due is false if that event is not booked yet. It is the last event of a
// UTC day, or in a long day the event at a fixed distance from base. The result depends on the
// journal alone, so a rebuilt checkpoint equals the lost one.
func (v *View) NextCheckpoint(org ledger.ID, base *Checkpoint) (seq uint64, due bool, err error) {
	head, _, err := v.Head(org)
	if err != nil {
		return 0, false, err
	}
	long := base.Seq + max(checkpointEvents, checkpointAccounts*base.Accounts)
	enough := base.Seq + max(1, base.Accounts/checkpointAccounts)
	if enough > head {
		return 0, false, nil
	}
	e, _, found, err := v.Event(org, enough)
	if err != nil {
		return 0, false, err
	}
	if !found {
		return 0, false, damaged("organization %v: event %d is missing", org, enough)
	}
	day, err := v.seqUntil(org, head, endOf(e.Booked.Date()))
	switch {
	case err != nil:
		return 0, false, err
	case long <= min(day, head):
		return long, true, nil
	}
	return day, day < head, nil
}

// endOf returns a day's last instant.
func endOf(day ledger.Date) ledger.Micros { return ledger.MicrosOf((day + 1).Time()) - 1 }

// DraftCheckpoint builds the rows of the checkpoint after an event from an earlier one (the zero
// value: the journal's beginning) and the events in between. It calls keep with each part and at
// last with the head. Errors: ErrNotWhole, ErrManyAccounts, the store's, keep's.
func (v *View) DraftCheckpoint(org ledger.ID, base *Checkpoint, seq uint64, keep func(KV) error) (*Checkpoint, error) {
	e, _, found, err := v.Event(org, seq)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, damaged("organization %v: event %d is missing", org, seq)
	}
	w := store.CheckpointWriter{Head: Checkpoint{Seq: seq, Booked: e.Booked, Previous: base.Seq}}
	places := 0
	part := func(row []byte) error {
		switch {
		case w.Full():
			return ErrManyAccounts
		case row == nil:
			return nil
		}
		places++
		return keep(KV{Org: org, Key: store.KeyCheckpointPart(seq, places-1), Value: row})
	}
	err = v.carriedOn(org, base, seq, keys{}, maxTurnover, func(key []byte, t *ledger.Totals) (bool, error) {
		return true, part(w.Add(key, t))
	})
	if err == nil {
		err = part(w.Flush())
	}
	if err == nil {
		err = keep(KV{Org: org, Key: store.KeyCheckpointHead(e.Booked), Value: store.EncodeCheckpointHead(&w.Head)})
	}
	return &w.Head, err
}

// CheckpointsAfter calls fn with the removal of each row of an organization's checkpoints that
// come after c (the zero value: of all checkpoints), heads first.
func (v *View) CheckpointsAfter(org ledger.ID, c *Checkpoint, fn func(removal KV) error) error {
	for _, from := range [...]struct{ prefix, key []byte }{
		{store.CheckpointHeads(), store.KeyCheckpointHead(c.Booked + 1)},
		{store.CheckpointParts(), store.KeyCheckpointPart(c.Seq+1, 0)},
	} {
		err := v.KVKeys(org, from.prefix, from.key, func(key []byte) ([]byte, bool, error) {
			return nil, true, fn(KV{Org: org, Key: bytes.Clone(key)})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Checkpoints calls fn with an organization's checkpoints, the earliest first. It skips
// checkpoints whose head cannot be parsed.
func (v *View) Checkpoints(org ledger.ID, fn func(*Checkpoint) (more bool, err error)) error {
	return v.KVsAscending(org, store.CheckpointHeads(), nil, func(key, row []byte) (bool, error) {
		c, err := store.DecodeCheckpointHead(key, row)
		if err != nil {
			return true, nil
		}
		return fn(&c)
	})
}

// Checkpoint reads the checkpoint with the Seq and Booked of c. The error is ErrNotWhole if it
// does not exist.
func (v *View) Checkpoint(org ledger.ID, c *Checkpoint) (Checkpoint, error) {
	if c.Seq == 0 {
		return *c, nil
	}
	found, err := v.checkpointAt(org, c.Booked)
	if err == nil && found.Seq != c.Seq {
		err = ErrNotWhole
	}
	return found, err
}

// HasParts tells whether all parts of a checkpoint exist. Their content is checked when they are
// read.
func (v *View) HasParts(org ledger.ID, c *Checkpoint) (bool, error) {
	n := 0
	first := store.KeyCheckpointPart(c.Seq, 0)
	err := v.KVKeys(org, first[:len(first)-4], nil, func(key []byte) ([]byte, bool, error) {
		if _, place, ok := store.ParseCheckpointPart(key); ok && place == n {
			n++
		}
		return nil, true, nil
	})
	return n == len(c.Parts), err
}

// checkpointAt returns the last checkpoint up to an instant; the zero value if there is none.
func (v *View) checkpointAt(org ledger.ID, at ledger.Micros) (found Checkpoint, err error) {
	if at < 0 {
		return found, nil // nothing is booked before 1970, and keys are unsigned
	}
	err = v.KVsDescending(org, store.CheckpointHeads(), store.KeyCheckpointHead(at), func(key, row []byte) (bool, error) {
		c, err := store.DecodeCheckpointHead(key, row)
		if err != nil {
			return true, nil
		}
		found = c
		return false, nil
	})
	return found, err
}

// totalsOf calls fn with the accounts of a checkpoint that are in the range k, in the order of
// their keys. The error is ErrNotWhole, before fn gets any account of the wrong part.
func (v *View) totalsOf(org ledger.ID, c *Checkpoint, k keys, fn func(key []byte, t *ledger.Totals) (more bool, err error)) error {
	start := sort.Search(len(c.Parts), func(i int) bool { return string(c.Parts[i].First) > k.from }) - 1
	more := true
	for place := max(start, 0); more && place < len(c.Parts); place++ {
		part := &c.Parts[place]
		if k.until != "" && string(part.First) >= k.until {
			return nil
		}
		row, found, err := v.KV(org, store.KeyCheckpointPart(c.Seq, place))
		if err != nil {
			return err
		}
		if !found || sha256.Sum256(row) != part.Sum || !begins(row, part.First) {
			return ErrNotWhole
		}
		err = store.DecodeCheckpointPart(row, func(key []byte, t *ledger.Totals) (bool, error) {
			switch {
			case k.until != "" && string(key) >= k.until:
				more = false
			case string(key) >= k.from:
				more, err = fn(key, t)
			}
			return more, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// begins tells whether a part begins with the account.
func begins(part, first []byte) (yes bool) {
	err := store.DecodeCheckpointPart(part, func(key []byte, _ *ledger.Totals) (bool, error) {
		yes = bytes.Equal(key, first)
		return false, nil
	})
	return yes && err == nil
}
