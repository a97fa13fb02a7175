package balances

import (
	"bytes"
	"slices"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// readChain returns the chain of the checkpoint with the given id: the checkpoint, its base (an earlier checkpoint), the base's
// base and so on; nil if id.Seq is 0. If a base does not exist, the error is a *NotWholeError with the Seq of the checkpoint that
// refers to it. If the given checkpoint itself does not exist, the error has the Seq of id.
func readChain(view *posting.View, org ledger.ID, id store.CheckpointID) (chain []Checkpoint, err error) {
	wrongSeq := id.Seq
	for id.Seq != 0 {
		c, err := checkpointAt(view, org, id.Booked)
		if err != nil {
			return nil, err
		}
		if c.CheckpointID != id || len(chain) == maxChain {
			return nil, &NotWholeError{Seq: wrongSeq}
		}
		chain = append(chain, c)
		wrongSeq, id = c.Seq, c.Base
	}
	return chain, nil
}

// movementFunc is called with an account's key in checkpoints and the account's movement: the amounts that were added to its
// totals. The key and the movement are valid until the call returns.
type movementFunc func(key []byte, m *ledger.Movement) (more bool, err error)

// sum adds up the movements in the checkpoints of a chain and in a turnover (the sums of the events after the newest
// checkpoint). It calls fn with every account in the range keys that has a movement, in the order of the accounts' keys.
// If the turnover was cut because there were too many accounts, sum reads the events again for the next accounts. If a
// row of a checkpoint is wrong, the error is a *NotWholeError, and fn has not been called for any account of that row.
func (r *Reader) sum(view *posting.View, chain []Checkpoint, t *turnover, keys keyRange, maxAccounts int, fn movementFunc) error {
	for {
		part := keys
		if t.keys.until != "" && keys.has(t.keys.until) {
			part.until = t.keys.until
		}
		more, err := sumPart(view, chain, t, part, fn)
		if err != nil || !more || part.until == keys.until {
			return err
		}
		keys.from = part.until
		if t, err = r.turnover(view, t.org, keys, t.afterSeq, t.upToSeq, maxAccounts); err != nil {
			return err
		}
	}
}

// sumPart is sum for a range of accounts that the turnover covers.
func sumPart(view *posting.View, chain []Checkpoint, t *turnover, keys keyRange, fn movementFunc) (more bool, err error) {
	m := merger{sources: []source{t.in(keys)}}
	for i := range chain {
		m.sources = append(m.sources, newCheckpointReader(view, t.org, &chain[i], keys))
	}
	for i := range m.sources {
		if err := m.advance(i); err != nil {
			return false, err
		}
	}
	for {
		found, err := m.next()
		if err != nil || !found {
			return err == nil, err
		}
		if more, err := fn(m.key, &m.sum); err != nil || !more {
			return false, err
		}
	}
}

// source has accounts in the order of their keys, each with a movement (the amounts to add to its totals).
type source interface {
	// next returns the next account; a nil key after the last one. The key and the movement are valid until next is called again.
	next() (key []byte, m *ledger.Movement, err error)
}

// merger adds up several sources.
type merger struct {
	sources []source
	current []sourceAccount // current account of each source
	key     []byte          // the account to which next has moved
	sum     ledger.Movement // sum of the account's movements in all sources
}

type sourceAccount struct {
	key      []byte // nil: the source has no further account
	movement *ledger.Movement
}

func (m *merger) advance(source int) (err error) {
	if m.current == nil {
		m.current = make([]sourceAccount, len(m.sources))
	}
	m.current[source].key, m.current[source].movement, err = m.sources[source].next()
	return err
}

// next moves to the next account that any source has. It returns false after the last one.
func (m *merger) next() (bool, error) {
	var first []byte
	for i := range m.current {
		if key := m.current[i].key; key != nil && (first == nil || bytes.Compare(key, first) < 0) {
			first = key
		}
	}
	if first == nil {
		return false, nil
	}
	m.key, m.sum = append(m.key[:0], first...), ledger.Movement{}
	for i := range m.current {
		if c := &m.current[i]; c.key != nil && bytes.Equal(c.key, m.key) {
			if err := m.sum.Add(c.movement); err != nil {
				return false, damaged("account with key %x: %v", m.key, err)
			}
			if err := m.advance(i); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// turnoverReader is a source that has the accounts of a turnover.
type turnoverReader struct {
	*turnover
	order []string
	key   []byte
}

// in returns a reader of the turnover's accounts in a range.
func (t *turnover) in(keys keyRange) *turnoverReader {
	start, _ := slices.BinarySearch(t.order, keys.from)
	order := t.order[start:]
	if keys.until != "" {
		end, _ := slices.BinarySearch(order, keys.until)
		order = order[:end]
	}
	return &turnoverReader{turnover: t, order: order}
}

// next implements source.
func (t *turnoverReader) next() ([]byte, *ledger.Movement, error) {
	if len(t.order) == 0 {
		return nil, nil, nil
	}
	key := t.order[0]
	t.order = t.order[1:]
	t.key = append(t.key[:0], key...)
	return t.key, t.movements[key], nil
}
