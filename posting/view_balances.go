package posting

import (
	"errors"
	"iter"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
)

// AsOf selects accounts and the time of their totals.
type AsOf struct {
	Env    money.Env
	Prefix string          // of the accounts' paths; empty: all
	Past   *ledger.Account // begin after this account; nil: with the first
	At     ledger.Micros   // count everything booked at or before
	On     ledger.Date     // instead, count everything that takes effect on or before the day; 0: use At
	Seen   ledger.Micros   // with On: count only what was booked at or before; 0: no bound
	Limit  int             // expected number of accounts; 0: all. fn decides when to stop
}

// end returns the instant up to which all booked lines are read.
func (q *AsOf) end() ledger.Micros {
	if q.On != 0 {
		return min(endOf(q.On), q.seen())
	}
	return q.At
}

// seen returns the instant after which booked lines do not count, whatever their effective day.
func (q *AsOf) seen() ledger.Micros {
	if q.Seen != 0 {
		return q.Seen
	}
	return maxMicros
}

// keys returns the range of the selected accounts.
func (q *AsOf) keys() keys {
	prefix := append([]byte{byte(q.Env)}, q.Prefix...)
	k := keys{from: string(prefix)}
	k.until = string(after(prefix))
	if q.Past != nil {
		k.from = max(k.from, string(store.AccountKey(nil, *q.Past))+"\x00")
	}
	return k
}

// Costs of finding one account's totals without a checkpoint, in events that take the same time
// to read (docs/benchmarks.md). A wrong estimate only costs time.
const (
	seekEvents   = 40  // seeking an account's own pages
	searchEvents = 1   // searching one group's page buffer for an account
	loadEvents   = 200 // reading one group's page buffer for many accounts
)

// fewAlone is how many accounts with a prefix are looked up one by one before another way is
// considered: most prefixes name one partner, who has no more accounts.
const fewAlone = 8

// TrialBalance calls fn with accounts of an organization that have postings by then, and their
// totals, in the order of Accounts. It begins with the last checkpoint before that time and
// continues in the journal, or reads each account's pages if that is cheaper: for few accounts,
// or if there is no checkpoint yet.
func (v *View) TrialBalance(org ledger.ID, q AsOf, fn func(ledger.Account, *ledger.Totals) (more bool, err error)) error {
	wants := true
	each := func(a ledger.Account, t *ledger.Totals) (more bool, err error) {
		q.Past = &a
		wants, err = fn(a, t)
		return wants, err
	}
	if q.Prefix != "" {
		n := 0
		err := v.eachAlone(org, &q, func(a ledger.Account, t *ledger.Totals) (bool, error) {
			more, err := each(a, t)
			n++
			return more && n < fewAlone, err
		})
		if err != nil || !wants || n < fewAlone {
			return err
		}
	}
	c, through, err := v.from(org, &q)
	if err != nil {
		return err
	}
	if v.cheaper(&q, &c, through) {
		err = v.asOf(org, &q, &c, through, maxTurnover, func(key []byte, t *ledger.Totals) (bool, error) {
			a, ok := store.ParseAccountKey(key)
			if !ok {
				return false, damaged("organization %v: account with key %x", org, key)
			}
			return each(a, t)
		})
		if !errors.Is(err, ErrNotWhole) {
			return err
		}
	}
	return v.eachAlone(org, &q, each)
}

// from returns the checkpoint to begin with, and the last event that counts.
func (v *View) from(org ledger.ID, q *AsOf) (c Checkpoint, through uint64, err error) {
	end := q.end()
	if c, err = v.checkpointAt(org, end); err != nil {
		return c, 0, err
	}
	head, _, err := v.Head(org)
	if err == nil {
		through, err = v.seqUntil(org, head, end)
	}
	return c, through, err
}

// seqUntil is SeqAt for an instant that is probably after the last event.
func (v *View) seqUntil(org ledger.ID, head uint64, at ledger.Micros) (uint64, error) {
	last, _, found, err := v.Event(org, head)
	if err != nil || found && last.Booked <= at {
		return head, err
	}
	return v.SeqAt(org, at)
}

// cheaper tells whether continuing from a checkpoint costs less than reading each account.
func (v *View) cheaper(q *AsOf, c *Checkpoint, through uint64) bool {
	if through < c.Seq {
		return false // the checkpoint is of events that do not exist
	}
	wanted := max(c.Accounts, checkpointEvents)
	if c.Seq == 0 {
		wanted = checkpointEvents / seekEvents // the number of accounts is unknown
	}
	if q.Limit > 0 {
		wanted = min(wanted, uint64(q.Limit))
	}
	days := v.snap.Group() + 1 - min(v.low, v.snap.Group()+1)
	alone := wanted * seekEvents
	if wanted > maxBufferSearches {
		alone += days * loadEvents
	} else {
		alone += wanted * days * searchEvents
	}
	return through-c.Seq <= alone
}

// eachAlone reads each account by itself.
func (v *View) eachAlone(org ledger.ID, q *AsOf, fn func(ledger.Account, *ledger.Totals) (bool, error)) error {
	return v.AccountsFrom(org, q.Prefix, q.Env, q.Past, func(a ledger.Account) (bool, error) {
		t, found, err := v.TotalsOf(org, a, q)
		if err != nil || !found {
			return true, err
		}
		return fn(a, &t)
	})
}

// asOf continues a checkpoint up to an event, and applies the shifted lines that cross the day.
func (v *View) asOf(org ledger.ID, q *AsOf, c *Checkpoint, through uint64, most int, fn func(key []byte, t *ledger.Totals) (bool, error)) error {
	k := q.keys()
	carry := func(fn func(key []byte, t *ledger.Totals) (bool, error)) error {
		if q.Limit > 0 {
			if t, err := v.shared(org, c.Seq, through); err != nil || t != nil {
				if err == nil {
					_, err = v.merge(c, t, k, fn)
				}
				return err
			}
		}
		return v.carriedOn(org, c, through, k, most, fn)
	}
	if q.On == 0 {
		return carry(fn)
	}
	next, stop := iter.Pull2(v.crossings(org, k, q))
	defer stop()
	x, err, more := next()
	if err != nil {
		return err
	}
	cross := func(t *ledger.Totals) (going bool, err error) { // applies the next crossing and calls fn
		if err := x.crossing.apply(t); err != nil {
			return false, err
		}
		going, err = fn(x.key, t)
		if err == nil && going {
			x, err, more = next()
		}
		return going, err
	}
	going := true
	err = carry(func(key []byte, t *ledger.Totals) (bool, error) {
		for more && string(x.key) < string(key) {
			if going, err = cross(new(ledger.Totals)); err != nil || !going {
				return false, err
			}
		}
		if more && string(x.key) == string(key) {
			going, err = cross(t)
		} else {
			going, err = fn(key, t)
		}
		return going, err
	})
	for err == nil && going && more {
		going, err = cross(new(ledger.Totals))
	}
	return err
}

// carriedOn calls fn with the accounts of a checkpoint and of the events after it up to another
// event, in the order of their keys, and with their totals then.
func (v *View) carriedOn(org ledger.ID, c *Checkpoint, through uint64, k keys, most int, fn func(key []byte, t *ledger.Totals) (more bool, err error)) error {
	for {
		turned, err := v.turn(org, k, c.Seq, through, most)
		if err != nil {
			return err
		}
		more, err := v.merge(c, turned, turned.keys, fn)
		if err != nil || !more || turned.keys.until == k.until {
			return err
		}
		k.from = turned.keys.until
	}
}

// merge adds a turnover to a checkpoint's totals, for the accounts in the range k.
func (v *View) merge(c *Checkpoint, t *turnover, k keys, fn func(key []byte, t *ledger.Totals) (bool, error)) (more bool, err error) {
	start, _ := slices.BinarySearch(t.order, k.from)
	moved := t.order[start:]
	if k.until != "" {
		end, _ := slices.BinarySearch(moved, k.until)
		moved = moved[:end]
	}
	more = true
	begin := func(below string, all bool) error { // calls fn with accounts that the checkpoint does not have
		for more && len(moved) > 0 && (all || moved[0] < below) {
			var totals ledger.Totals
			if err := t.add(moved[0], &totals); err != nil {
				return err
			}
			if more, err = fn([]byte(moved[0]), &totals); err != nil {
				return err
			}
			moved = moved[1:]
		}
		return nil
	}
	err = v.totalsOf(t.org, c, k, func(key []byte, totals *ledger.Totals) (bool, error) {
		if err := begin(string(key), false); err != nil || !more {
			return false, err
		}
		if len(moved) > 0 && moved[0] == string(key) {
			moved = moved[1:]
			if err := t.add(string(key), totals); err != nil {
				return false, err
			}
		}
		more, err = fn(key, totals)
		return more, err
	})
	if err == nil {
		err = begin("", true)
	}
	return more, err
}

func (t *turnover) add(key string, totals *ledger.Totals) error {
	if err := t.moved[key].apply(totals); err != nil {
		return damaged("organization %v: account with key %x: %v", t.org, key, err)
	}
	return nil
}

// crossed is the effect of one account's shifted lines on its totals by effective day.
type crossed struct {
	key      []byte
	crossing crossing
}

// crossings returns the accounts with lines whose booked time and effective day are on different
// sides of a day's end, in the order of their keys.
func (v *View) crossings(org ledger.ID, k keys, q *AsOf) iter.Seq2[crossed, error] {
	return func(yield func(crossed, error) bool) {
		head := Shifted.prefix(org)
		var x crossed
		var a ledger.Account
		found := false
		err := v.snap.Ascend(head, append(slices.Clone(head), k.from...), func(key, row []byte) (bool, error) {
			account, effective, ok := store.ParseShifted(key)
			if !ok {
				return false, damaged("shifted line with key %x", key)
			}
			switch {
			case k.until != "" && string(account) >= k.until:
				return false, nil
			case string(account) < k.from:
				return true, nil
			}
			if string(account) != string(x.key) {
				if found && !yield(x, nil) {
					found = false
					return false, nil
				}
				x, found = crossed{key: slices.Clone(account)}, false
				if a, ok = store.ParseAccountKey(account); !ok {
					return false, damaged("shifted line with key %x", key)
				}
			}
			return true, store.DecodePage(row, func(l *Line) (bool, error) {
				counts, crosses := q.crosses(l, effective)
				if !crosses {
					return true, nil
				}
				found = true
				return true, v.cross(&x.crossing, org, a, l, counts)
			})
		})
		switch {
		case err != nil:
			yield(crossed{}, err)
		case found:
			yield(x, nil)
		}
	}
}
