package logins

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"

	"mizan/ledger"
)

// Outcome is how an attempt ended.
type Outcome string

// The outcomes.
const (
	Succeeded   Outcome = "succeeded"
	Failed      Outcome = "failed"      // the login or password was wrong, or the partner does not allow the address
	LockedOut   Outcome = "locked_out"  // refused after too many failures; the password was not checked
	Deactivated Outcome = "deactivated" // the password was right, but the partner is switched off
)

// Bounds.
const (
	lockoutLife = ledger.Micros(15 * 60 * 1_000_000) // attempts on a locked login within this time share one entry
	maxOfKind   = 250                                // maximum number of attempts that are kept, for each kind
	maxAccounts = 10_000                             // maximum number of accounts whose failures are counted
)

// Attempt is an attempt to log in, or several of them on a login that is locked out.
type Attempt struct {
	Number  uint64 // number in the log; later attempts have higher numbers
	At      ledger.Micros
	Login   string    // the account's login; empty if no account has the login that was typed
	User    ledger.ID // the user who has the login; zero if a partner or nobody has the login
	Partner int64     // the partner who has the login; 0 if a user or nobody has the login
	Outcome Outcome
	Source  netip.Addr // the address from which the first of the attempts came
	Console bool       // the attempt was made at the console
	Count   int        // number of attempts in this entry
}

// isOfAccount reports whether an account has the login that was typed.
func (a *Attempt) isOfAccount() bool { return a.Login != "" }

// Failures are the failed attempts on an account since its last success.
type Failures struct {
	Count  uint32
	At     ledger.Micros // time of the last failure
	Source netip.Addr    // address of the last failure
}

// Kinds of attempts. The number of kept attempts is bounded for each kind separately.
const (
	success = iota
	failure
	unknown
	kinds
)

func kindOf(a *Attempt) int {
	switch {
	case a.Outcome == Succeeded:
		return success
	case a.isOfAccount():
		return failure
	}
	return unknown
}

// Log is the log of an organization. The zero value is empty.
type Log struct {
	mu         sync.Mutex
	lastNumber uint64              // guarded by mu: the number of the last attempt
	attempts   [kinds][]Attempt    // guarded by mu: oldest first
	failures   map[string]Failures // guarded by mu: by the account's login
}

// Add adds an attempt and sets its Number and Count.
func (l *Log) Add(a Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(&a)
	kept := &l.attempts[kindOf(&a)]
	if a.Outcome == LockedOut {
		for i := len(*kept) - 1; i >= 0 && a.At-(*kept)[i].At < lockoutLife; i-- {
			if e := &(*kept)[i]; e.Outcome == LockedOut && e.Login == a.Login && (a.isOfAccount() || e.Source == a.Source) {
				e.Count++
				return
			}
		}
	}
	l.lastNumber++
	a.Number, a.Count = l.lastNumber, 1
	if len(*kept) == maxOfKind {
		*kept = append((*kept)[:0], (*kept)[1:]...)
	}
	*kept = append(*kept, a)
}

// count counts the failures of an account, or forgets them after a success.
func (l *Log) count(a *Attempt) {
	switch {
	case !a.isOfAccount():
	case a.Outcome == Succeeded:
		delete(l.failures, a.Login)
	default:
		if l.failures == nil {
			l.failures = make(map[string]Failures)
		}
		if _, found := l.failures[a.Login]; !found && len(l.failures) == maxAccounts {
			for other := range l.failures { // drops the failures of an arbitrary account
				delete(l.failures, other)
				break
			}
		}
		l.failures[a.Login] = Failures{l.failures[a.Login].Count + 1, a.At, a.Source}
	}
}

// FailuresOf returns the failures of an account since its last success.
func (l *Log) FailuresOf(login string) Failures {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures[login]
}

// Page returns the last attempts, newest first, at most limit. If before is not 0, the page has only attempts with smaller
// numbers than before. more reports whether the log has older attempts than the page.
func (l *Log) Page(before uint64, limit int) (page []Attempt, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, kept := range l.attempts {
		for i := range kept {
			if before == 0 || kept[i].Number < before {
				page = append(page, kept[i])
			}
		}
	}
	slices.SortFunc(page, func(a, b Attempt) int { return cmp.Compare(b.Number, a.Number) })
	if len(page) > limit {
		return page[:limit], true
	}
	return page, false
}

// Newest collects the newest successes while the store is read, in order to fill a new log.
type Newest struct{ attempts []Attempt }

// Offer adds a success. From time to time all successes except the newest are dropped.
func (n *Newest) Offer(a Attempt) {
	if n.attempts = append(n.attempts, a); len(n.attempts) == 2*maxOfKind {
		n.cut()
	}
}

// cut drops all successes except the newest maxOfKind.
func (n *Newest) cut() {
	slices.SortStableFunc(n.attempts, func(a, b Attempt) int { return cmp.Compare(a.At, b.At) })
	if surplus := len(n.attempts) - maxOfKind; surplus > 0 {
		n.attempts = append(n.attempts[:0], n.attempts[surplus:]...)
	}
}

// AddTo adds the successes to an empty log.
func (n *Newest) AddTo(l *Log) {
	n.cut()
	for _, a := range n.attempts {
		l.Add(a)
	}
}
