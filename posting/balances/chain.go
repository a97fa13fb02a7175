package balances

import (
	"bytes"
	"slices"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// readChain returns the chain of a checkpoint: the checkpoint itself, its base (an earlier checkpoint), the base's base and
// so on. If id.Seq is 0, the chain is empty. If a base does not exist, the error is a *IncompleteCheckpointError with the
// Seq of the checkpoint that refers to the base. If the checkpoint id itself does not exist, the error is a
// *IncompleteCheckpointError with the Seq of id.
func readChain(view *posting.View, org ledger.ID, id store.CheckpointID) (chain []Checkpoint, err error) {
	wrongSeq := id.Seq
	for id.Seq != 0 {
		c, err := checkpointAt(view, org, id.Booked)
		if err != nil {
			return nil, err
		}
		if c.CheckpointID != id || len(chain) == maxChain {
			return nil, &IncompleteCheckpointError{Seq: wrongSeq}
		}
		chain = append(chain, c)
		wrongSeq, id = c.Seq, c.Base
	}
	return chain, nil
}

// movementFunc is called with an account's key and the account's movement, which is what was added to the account's totals.
// The key and the movement are valid until the call returns.
type movementFunc func(key []byte, m *ledger.Movement) (more bool, err error)

// sum adds up each account's movements in the checkpoints of a chain and in a turnover (the sums of the events after the
// newest checkpoint). It calls fn with each account in the range keys that has a movement, ordered by key. The turnover may
// contain only the first accounts of the range; then sum reads the events again for the next accounts. If a row of a
// checkpoint is wrong, the error is a *IncompleteCheckpointError, and fn was not called for any account of that row.
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

// sumPart does the work of sum for a range of accounts that the turnover contains completely.
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

// source returns accounts ordered by key. Each account has a movement: the amounts to add to the account's totals.
type source interface {
	// next returns the next account. After the last account, it returns a nil key. The key and the movement are valid until
	// next is called again.
	next() (key []byte, m *ledger.Movement, err error)
}

// merger merges several sources, and adds up the movements of each account.
type merger struct {
	sources []source
	current []sourceAccount // current account of each source
	key     []byte          // key of the account to which next has moved
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

// next moves to the next account that at least one of the sources has. It returns false if there is none.
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

// turnoverReader is a source that returns the accounts of a turnover.
type turnoverReader struct {
	*turnover
	order []string
	key   []byte
}

// in returns a reader of those accounts of the turnover that are in a range.
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
