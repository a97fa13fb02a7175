package balances

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"sort"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// advance computes totals after the event upToSeq: those of a checkpoint (all accounts' totals after an earlier
// event), changed by the events after the checkpoint. It calls fn with every account in the range keys that is
// in the checkpoint or in those events, in the order of the accounts' keys. If there are more accounts than a
// turnover, the sum of the events, can have, it reads the events again for the next accounts. If a part of the
// checkpoint is wrong, the error is ErrNotWhole, and fn has not been called for any account of that part.
func (r *Reader) advance(view *posting.View, org ledger.ID, c *Checkpoint, upToSeq uint64, keys keyRange, maxAccounts int, fn accountFunc) error {
	for {
		t, err := r.turnover(view, org, keys, c.Seq, upToSeq, maxAccounts)
		if err != nil {
			return err
		}
		part := keys
		if t.keys.until != "" && keys.has(t.keys.until) {
			part.until = t.keys.until
		}
		more, err := merge(view, c, t, part, fn)
		if err != nil || !more || part.until == keys.until {
			return err
		}
		keys.from = part.until
	}
}

// merge calls fn with the accounts in the range keys and their totals, which are those of a checkpoint plus a
// turnover.
func merge(view *posting.View, c *Checkpoint, t *turnover, keys keyRange, fn accountFunc) (more bool, err error) {
	start, _ := slices.BinarySearch(t.order, keys.from)
	movedKeys := t.order[start:]
	if keys.until != "" {
		end, _ := slices.BinarySearch(movedKeys, keys.until)
		movedKeys = movedKeys[:end]
	}
	more = true
	// emitMoved calls fn with the next accounts of the turnover that the checkpoint does not have: those with keys
	// below the given one, or all of them.
	emitMoved := func(below string, allMoved bool) error {
		for more && len(movedKeys) > 0 && (allMoved || movedKeys[0] < below) {
			var totals ledger.Totals
			if err := t.addTo(movedKeys[0], &totals); err != nil {
				return err
			}
			if more, err = fn([]byte(movedKeys[0]), &totals); err != nil {
				return err
			}
			movedKeys = movedKeys[1:]
		}
		return nil
	}
	err = totalsOf(view, t.org, c, keys, func(key []byte, totals *ledger.Totals) (bool, error) {
		if err := emitMoved(string(key), false); err != nil || !more {
			return false, err
		}
		if len(movedKeys) > 0 && movedKeys[0] == string(key) {
			movedKeys = movedKeys[1:]
			if err := t.addTo(string(key), totals); err != nil {
				return false, err
			}
		}
		more, err = fn(key, totals)
		return more, err
	})
	if err == nil {
		err = emitMoved("", true)
	}
	return more, err
}

// addTo adds what the turnover has for an account to the account's totals.
func (t *turnover) addTo(key string, totals *ledger.Totals) error {
	if err := t.movements[key].apply(totals, false); err != nil {
		return damaged("organization %v: account with key %x: %v", t.org, key, err)
	}
	return nil
}

// totalsOf calls fn with the accounts of a checkpoint that are in the range keys, in the order of their keys.
// If a part of the checkpoint is wrong, the error is ErrNotWhole, and fn has not been called for any account of
// that part.
func totalsOf(view *posting.View, org ledger.ID, c *Checkpoint, keys keyRange, fn accountFunc) error {
	start := sort.Search(len(c.Parts), func(i int) bool { return string(c.Parts[i].First) > keys.from }) - 1
	more := true
	for number := max(start, 0); more && number < len(c.Parts); number++ {
		part := &c.Parts[number]
		if keys.until != "" && string(part.First) >= keys.until {
			return nil
		}
		row, found, err := view.KV(org, store.KeyCheckpointPart(c.Seq, number))
		if err != nil {
			return err
		}
		if !found || sha256.Sum256(row) != part.Sum || !beginsWith(row, part.First) {
			return ErrNotWhole
		}
		err = store.DecodeCheckpointPart(row, func(key []byte, t *ledger.Totals) (bool, error) {
			switch {
			case keys.until != "" && string(key) >= keys.until:
				more = false
			case string(key) >= keys.from:
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

// beginsWith tells whether the first account of a part has the given key.
func beginsWith(part, accountKey []byte) (isFirst bool) {
	err := store.DecodeCheckpointPart(part, func(key []byte, _ *ledger.Totals) (bool, error) {
		isFirst = bytes.Equal(key, accountKey)
		return false, nil
	})
	return isFirst && err == nil
}
