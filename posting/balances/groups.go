package balances

import (
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
)

// groupFunc is called with a group's path and an asset, and with the sum of the totals of the group's accounts in this asset.
type groupFunc func(group ledger.Account, t *ledger.Totals) (more bool, err error)

// AreGroups tells whether a prefix selects whole groups of accounts, so that Groups can return their sums.
func AreGroups(prefix string) bool { return prefix == "" || ledger.Path(prefix).IsGroup() }

// Groups calls fn with the sums of the groups whose paths begin with q.Prefix (see [ledger.Path.Group]), ordered by path,
// currency and network. TrialBalance returns the totals of each account. Groups instead adds up these totals over the accounts
// of a group that have the same asset. Its cost does not depend on the number of accounts. AreGroups(q.Prefix) must be true.
// q.Filter and q.After select groups here, while they select accounts in TrialBalance. Groups returns an error of fn,
// money.ErrOverflow, a *store.DamageError, or an I/O error.
func (r *Reader) Groups(view *posting.View, org ledger.ID, q Query, fn func(group ledger.Account, t *ledger.Totals) (more bool, err error)) error {
	s, err := r.groups.of(org).at(view, q.end())
	if err != nil {
		return err
	}
	if q.EffectiveDate != 0 {
		if s, err = s.correctedForDay(view, org, &q); err != nil {
			return err
		}
	}
	keys := (&Query{Env: q.Env, Prefix: q.Prefix}).keyRange()
	if q.After != nil {
		keys.from = max(keys.from, string(store.AccountKey(nil, *q.After))+"\x00")
	}
	for _, sum := range s.in(keyRange{store.GroupKeys + keys.from, store.GroupKeys + keys.until}) {
		group, ok := store.ParseGroupKey([]byte(sum.key))
		if !ok {
			return damaged("organization %v: group with key %x", org, sum.key)
		}
		if !q.selects(group) {
			continue
		}
		if sum.movement == store.OutOfRangeMovement {
			return money.ErrOverflow
		}
		t, ok := sum.movement.Totals()
		if !ok {
			return damaged("organization %v: group %s has a negative total", org, group.Path)
		}
		if more, err := fn(group, &t); err != nil || !more {
			return err
		}
	}
	return nil
}

// correctedForDay returns the sums by effective date. To the sums by booked time, which are in m, it adds the correction of
// each account: the correction of the account's totals for lines that were booked on one side of the day's end and take effect
// on the other. correctForDay corrects the totals of single accounts in the same way.
func (s *groupSnapshot) correctedForDay(view *posting.View, org ledger.ID, q *Query) (*groupSnapshot, error) {
	all := Query{Env: q.Env}
	var sums store.GroupSums
	var group []byte
	for x, err := range corrections(view, org, all.keyRange(), q) {
		if err == nil {
			err = x.limitRelease(view, org, q)
		}
		if err != nil {
			return nil, err
		}
		if sums == nil {
			sums = s.copySums()
		}
		group = store.GroupKey(group[:0], x.key)
		sums.Add(group, &x.correction.Movement)
	}
	if sums == nil {
		return s, nil
	}
	return newGroupBuilder(org, s.seq, sums).snapshot(s.booked), nil
}

// limitRelease reduces an account's correction if adding the correction would make a pending total
// of the account negative. With the reduced correction this total becomes zero, as with applyTo, which sets a negative pending
// total to zero. The correction is reduced before it is added to a group's sum, because a sum over several accounts does not
// show whether the pending total of one of them is negative.
func (x *accountCorrection) limitRelease(view *posting.View, org ledger.ID, q *Query) error {
	if !x.correction.DebitsPending.Negative && !x.correction.CreditsPending.Negative {
		return nil
	}
	a, _ := store.ParseAccountKey(x.key) // corrections has parsed it
	before, _, err := view.TotalsAt(org, a, q.end())
	if err != nil {
		return err
	}
	after := before
	if err := x.applyTo(org, &after); err != nil {
		return err
	}
	x.correction.DebitsPending = money.Difference(after.DebitsPending, before.DebitsPending)
	x.correction.CreditsPending = money.Difference(after.CreditsPending, before.CreditsPending)
	return nil
}

// NextLevel calls fn with the sums one level below q.Prefix. If q.Prefix is empty, NextLevel does the same as Groups.
// Otherwise q.Prefix must be the path of a class, such as "A:". Then NextLevel calls fn with the sums of the class's groups,
// and with the totals of each account of the class whose path has only two segments, such as "A:bank". The order is the same
// as in Groups. q.After may be an account or a group.
func (r *Reader) NextLevel(view *posting.View, org ledger.ID, q Query, fn func(groupOrAccount ledger.Account, t *ledger.Totals) (more bool, err error)) error {
	if q.Prefix == "" {
		return r.Groups(view, org, q, fn)
	}
	ofClass := q
	ofClass.After, ofClass.Filter = nil, nil
	hasDirect := false // the class has accounts whose paths have only two segments
	var groups []accountTotals
	err := r.Groups(view, org, ofClass, func(group ledger.Account, t *ledger.Totals) (bool, error) {
		switch {
		case string(group.Path) == q.Prefix:
			hasDirect = true
		case q.selects(group) && (q.After == nil || precedes(q.After, &group)):
			groups = append(groups, accountTotals{group, *t})
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	l := &levelMerger{groups: groups, fn: fn, more: true}
	if hasDirect {
		err = eachDirect(view, org, &q, func(a ledger.Account) (bool, error) {
			if !q.selects(a) {
				return true, nil
			}
			t, found, err := Account(view, org, a, &q)
			if err != nil || !found {
				return true, err
			}
			if err := l.groupsBefore(&a); err != nil || !l.more {
				return false, err
			}
			l.more, err = fn(a, &t)
			return l.more, err
		})
	}
	if err != nil || !l.more {
		return err
	}
	return l.groupsBefore(nil)
}

type accountTotals struct {
	account ledger.Account
	totals  ledger.Totals
}

// levelMerger calls fn with groups. Its caller calls fn with the accounts that come between the groups.
type levelMerger struct {
	groups []accountTotals
	fn     groupFunc
	more   bool
}

// groupsBefore calls fn with the groups that precede an account. If the account is nil, it calls fn with all remaining
// groups.
func (l *levelMerger) groupsBefore(a *ledger.Account) (err error) {
	for l.more && err == nil && len(l.groups) > 0 && (a == nil || precedes(&l.groups[0].account, a)) {
		l.more, err = l.fn(l.groups[0].account, &l.groups[0].totals)
		l.groups = l.groups[1:]
	}
	return err
}

// precedes tells whether a comes before b. Both a and b must be accounts or groups of the same environment.
func precedes(a, b *ledger.Account) bool {
	return string(store.AccountKey(nil, *a)) < string(store.AccountKey(nil, *b))
}

// eachDirect calls fn with the accounts after q.After whose paths have exactly one segment after q.Prefix. It skips all other
// accounts of a group with one seek.
func eachDirect(view *posting.View, org ledger.ID, q *Query, fn func(ledger.Account) (more bool, err error)) error {
	rest := *q
	for after := rest.after(); ; after = rest.after() {
		rest.After = nil
		err := view.AccountsFrom(org, q.Prefix, q.Env, after, func(a ledger.Account) (bool, error) {
			if strings.IndexByte(string(a.Path[len(q.Prefix):]), ':') >= 0 {
				rest.After = &ledger.Account{Path: a.Path.Group()}
				return false, nil
			}
			return fn(a)
		})
		if err != nil || rest.After == nil {
			return err
		}
	}
}
