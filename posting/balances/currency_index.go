package balances

import (
	"maps"
	"slices"
	"sync"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
)

// Bounds for reading a page of a trial balance in one currency.
const (
	maxPassed = 512    // number of accounts that the reader looks at before it uses the index of currencies
	maxListed = 16_384 // maximum number of accounts that the index lists in one currency; in a currency with more accounts, a page is full soon without the index
	maxIndex  = 65_536 // maximum number of accounts that the index of an organization lists in all currencies together
)

// currencyIndex lists an organization's accounts by currency, but leaves out currencies with many accounts. Without the
// index, a reader of a page in a rare currency would have to skip most accounts of the organization. The index is only in
// memory. It is built when the first such page is read, and extended by the accounts of later events.
type currencyIndex struct {
	mu             sync.Mutex
	seq            uint64 // the index lists the accounts of all events up to this one
	lists          map[currency]*accountList
	listedAccounts int // number of accounts in all lists together
}

type currency struct {
	env  money.Env
	code money.Currency
}

// accountList lists the keys of the accounts in one currency.
type accountList struct {
	isTooLong bool // the currency has too many accounts, so the list is empty
	known     map[string]bool
	sorted    []string // sorted copy of known, whose elements are never changed; nil if known has grown since the copy was made
}

// accountsOf returns the sorted keys of all accounts in a currency that had postings up to the event seq. The keys may
// include accounts whose first posting comes after that event. If the currency has too many accounts, isListed is false.
func (x *currencyIndex) accountsOf(view *posting.View, org ledger.ID, c currency, seq uint64) (keys []string, isListed bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lists == nil || seq > x.seq+maxDistance {
		err = x.build(view, org)
	} else if seq > x.seq {
		err = x.extend(view, org, seq)
	}
	if err != nil {
		x.lists = nil
		return nil, false, err
	}
	l := x.lists[c]
	if l == nil || l.isTooLong {
		return nil, l == nil, nil
	}
	if l.sorted == nil {
		l.sorted = slices.Sorted(maps.Keys(l.known))
	}
	return l.sorted, true, nil
}

// build builds the index from all accounts in the view.
func (x *currencyIndex) build(view *posting.View, org ledger.ID) error {
	head, _, err := view.Head(org)
	if err != nil {
		return err
	}
	x.seq, x.lists, x.listedAccounts = head, make(map[currency]*accountList), 0
	for _, env := range [...]money.Env{money.Prod, money.Test} {
		err := view.Accounts(org, "", env, func(a ledger.Account) (bool, error) {
			x.add(a)
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// extend adds the accounts of the next events to the index, up to the event seq.
func (x *currencyIndex) extend(view *posting.View, org ledger.ID, seq uint64) error {
	return view.EventsAscending(org, x.seq+1, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Entry != nil {
			for i := range e.Entry.Postings {
				p := &e.Entry.Postings[i]
				x.add(ledger.Account{Path: p.Account, Asset: p.Asset})
			}
		}
		x.seq = e.Seq
		return e.Seq < seq, nil
	})
}

func (x *currencyIndex) add(a ledger.Account) {
	c := currency{a.Asset.Env, a.Asset.Currency}
	l := x.lists[c]
	if l == nil {
		l = &accountList{known: make(map[string]bool)}
		x.lists[c] = l
	}
	if l.isTooLong {
		return
	}
	var buffer [ledger.MaxPath + 64]byte
	key := store.AccountKey(buffer[:0], a)
	if l.known[string(key)] {
		return
	}
	l.known[string(key)], l.sorted = true, nil
	if x.listedAccounts++; len(l.known) > maxListed || x.listedAccounts > maxIndex {
		x.dropLargest()
	}
}

// dropLargest removes from the index the currency with the most accounts.
func (x *currencyIndex) dropLargest() {
	var longest *accountList
	for _, l := range x.lists {
		if longest == nil || len(l.known) > len(longest.known) {
			longest = l
		}
	}
	x.listedAccounts -= len(longest.known)
	*longest = accountList{isTooLong: true}
}

// restOfCurrency reads the selected accounts after q.After with the help of the index of currencies. If the index lists
// q.Currency, restOfCurrency calls fn with these accounts, and isComplete is true. Otherwise it does not call fn.
func (r *Reader) restOfCurrency(view *posting.View, org ledger.ID, q *Query, fn accountFunc) (isComplete bool, err error) {
	head, _, err := view.Head(org)
	if err != nil {
		return false, err
	}
	keys, isListed, err := r.groups.of(org).currencies.accountsOf(view, org, currency{q.Env, *q.Currency}, head)
	if err != nil || !isListed {
		return false, err
	}
	accounts := q.keyRange()
	start, _ := slices.BinarySearch(keys, accounts.from)
	for _, key := range keys[start:] {
		if !accounts.has(key) {
			break
		}
		a, ok := store.ParseAccountKey([]byte(key))
		if !ok {
			return false, damaged("organization %v: account with key %x", org, key)
		}
		if !q.selects(a) {
			continue
		}
		t, found, err := Account(view, org, a, q)
		if err != nil {
			return false, err
		}
		if found {
			if more, err := fn([]byte(key), &t); err != nil || !more {
				return true, err
			}
		}
	}
	return true, nil
}
