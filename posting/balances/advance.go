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

// advance computes totals after the event upToSeq: those of a checkpoint, changed by the events after the
// checkpoint. It calls fn with every account in the range k that is in the checkpoint or in those events, in
// the order of the accounts' keys. If there are more accounts than a turnover can have, it reads the events
// again for the next accounts. If a part of the checkpoint is wrong, the error is ErrNotWhole, and fn has not
// been called for any account of that part.
func (r *Reader) advance(view *posting.View, org ledger.ID, c *Checkpoint, upToSeq uint64, k keys, maxAccounts int, fn accountFunc) error {
	for {
		t, err := r.turnover(view, org, k, c.Seq, upToSeq, maxAccounts)
		if err != nil {
			return err
		}
		part := keys{from: k.from, until: k.until}
		if t.keys.until != "" && k.has(t.keys.until) {
			part.until = t.keys.until
		}
		more, err := merge(view, c, t, part, fn)
		if err != nil || !more || part.until == k.until {
			return err
		}
		k.from = part.until
	}
}

// merge adds a turnover to the totals of a checkpoint, for the accounts in the range k.
func merge(view *posting.View, c *Checkpoint, t *turnover, k keys, fn accountFunc) (more bool, err error) {
	start, _ := slices.BinarySearch(t.order, k.from)
	movedKeys := t.order[start:]
	if k.until != "" {
		end, _ := slices.BinarySearch(movedKeys, k.until)
		movedKeys = movedKeys[:end]
	}
	more = true
	// onlyMoved calls fn with the next moved accounts that the checkpoint does not have: all of them, or those
	// with keys below the given one.
	emitMoved := func(below string, allMoved bool) error {
		for more && len(movedKeys) > 0 && (allMoved || movedKeys[0] < below) {
			var totals ledger.Totals
			if err := t.add(movedKeys[0], &totals); err != nil {
				return err
			}
			if more, err = fn([]byte(movedKeys[0]), &totals); err != nil {
				return err
			}
			movedKeys = movedKeys[1:]
		}
		return nil
	}
	err = totalsOf(view, t.org, c, k, func(key []byte, totals *ledger.Totals) (bool, error) {
		if err := emitMoved(string(key), false); err != nil || !more {
			return false, err
		}
		if len(movedKeys) > 0 && movedKeys[0] == string(key) {
			movedKeys = movedKeys[1:]
			if err := t.add(string(key), totals); err != nil {
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

func (t *turnover) add(key string, totals *ledger.Totals) error {
	if err := t.movements[key].apply(totals, false); err != nil {
		return damaged("organization %v: account with key %x: %v", t.org, key, err)
	}
	return nil
}

// totalsOf calls fn with the accounts of a checkpoint that are in the range k, in the order of their keys. If
// a part of the checkpoint is wrong, the error is ErrNotWhole, and fn has not been called for any account of
// that part.
func totalsOf(view *posting.View, org ledger.ID, c *Checkpoint, k keys, fn accountFunc) error {
	start := sort.Search(len(c.Parts), func(i int) bool { return string(c.Parts[i].First) > k.from }) - 1
	more := true
	for place := max(start, 0); more && place < len(c.Parts); place++ {
		part := &c.Parts[place]
		if k.until != "" && string(part.First) >= k.until {
			return nil
		}
		row, found, err := view.KV(org, store.KeyCheckpointPart(c.Seq, place))
		if err != nil {
			return err
		}
		if !found || sha256.Sum256(row) != part.Sum || !beginsWith(row, part.First) {
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

// beginsWith tells whether the account is the first of a part.
func beginsWith(part, first []byte) (isFirst bool) {
	err := store.DecodeCheckpointPart(part, func(key []byte, _ *ledger.Totals) (bool, error) {
		isFirst = bytes.Equal(key, first)
		return false, nil
	})
	return isFirst && err == nil
}
