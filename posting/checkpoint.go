package posting

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"sort"

	"mizan/ledger"
	"mizan/posting/store"
)

// Checkpoint is the head of a checkpoint of the trial balance: the totals of an
// organization's accounts after one event, in rows that follow from the journal alone.
// Whoever reads them reads on in the journal, and one that is missing, or is not as its
// head says, costs time and changes no answer.
type Checkpoint = store.CheckpointHead

// ErrNotWhole says that a checkpoint's parts are missing, or not what its head says.
var ErrNotWhole = errors.New("a checkpoint is not whole")

// ErrManyAccounts says that a checkpoint has no room for as many accounts as there are.
var ErrManyAccounts = errors.New("there are more accounts than a checkpoint has room for")

// Where checkpoints come. A checkpoint is a row of some bytes an account, so there
// are the fewer the more accounts there are: an event pays for at most a quarter of an
// account, and for four at the end of a day.
const (
	checkpointEvents   = 32_768 // at least, from one to the next, but for the end of a day
	checkpointAccounts = 4      // events for each account from one to the next
)

// NextCheckpoint finds after which event the checkpoint comes that follows base (the
// zero value: the first); false: that has not been booked yet. It is the last event of
// a UTC day, or the event so many after base's if a day is long. That depends on the
// journal alone, so what is made again is as it was.
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

// endOf is a day's last instant.
func endOf(day ledger.Date) ledger.Micros { return ledger.MicrosOf((day + 1).Time()) - 1 }

// DraftCheckpoint makes the rows of the checkpoint after an event out of an earlier
// one (the zero value: the journal's beginning) and the events in between: keep is
// called with each part, and with the head last. Errors: ErrNotWhole, ErrManyAccounts, the
// store's, keep's.
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

// CheckpointsAfter calls fn with what removes each row of an organization's checkpoints
// that come after one (the zero value: each row), heads first.
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

// Checkpoints calls fn with an organization's checkpoints, the earliest first. Those
// whose head cannot be read are left out.
func (v *View) Checkpoints(org ledger.ID, fn func(*Checkpoint) (more bool, err error)) error {
	return v.KVsAscending(org, store.CheckpointHeads(), nil, func(key, row []byte) (bool, error) {
		c, err := store.DecodeCheckpointHead(key, row)
		if err != nil {
			return true, nil
		}
		return fn(&c)
	})
}

// Checkpoint reads a checkpoint again of which only the rest may be known. Errors:
// ErrNotWhole if there is no such one.
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

// HasParts tells whether all parts of a checkpoint are there. What they say is seen
// when they are read.
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

// checkpointAt is the last checkpoint that goes up to an instant; the zero value:
// none.
func (v *View) checkpointAt(org ledger.ID, at ledger.Micros) (found Checkpoint, err error) {
	if at < 0 {
		return found, nil // nothing was booked before 1970, and keys are unsigned
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

// totalsOf calls fn with the accounts of a checkpoint that are within bounds, in the
// order of their keys. Errors: ErrNotWhole, before anything of the part at fault.
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

// begins tells whether a part begins with an account.
func begins(part, first []byte) (yes bool) {
	err := store.DecodeCheckpointPart(part, func(key []byte, _ *ledger.Totals) (bool, error) {
		yes = bytes.Equal(key, first)
		return false, nil
	})
	return yes && err == nil
}
