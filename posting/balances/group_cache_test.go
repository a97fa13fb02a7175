package balances_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
)

// present returns the moment that a page about the present shows.
func (f *fixture) present() ledger.Micros {
	f.t.Helper()
	view, at, err := f.reader.PresentView(org, f.Journal.View)
	if err != nil {
		f.t.Fatal(err)
	}
	view.Close()
	return at
}

// bookEntries books entries of one event each, and returns the booked time of the last one.
func (f *fixture) bookEntries(count int) (last ledger.Micros) {
	f.t.Helper()
	for count > 0 {
		n := min(count, posting.MaxSteps)
		headers := f.MustSubmit(manyEntries(n)).Headers
		last = headers[n-1].UpdatedAt
		count -= n
	}
	return last
}

// A page about the present shows the last event. Only if many events follow the cached sums, and these are not old, does it
// show the moment of the sums.
func TestPresentIsTheLastEventOrAMomentBefore(t *testing.T) {
	f := open(t)
	now := time.Unix(1, 0)
	f.reader.SetTime(func() time.Time { return now })
	if at := f.present(); at != 0 {
		t.Errorf("before the first event it is %v", at)
	}
	first := f.bookEntries(1)
	if at := f.present(); at != first {
		t.Errorf("after one event it is %v, want %v", at, first)
	}
	few := f.bookEntries(balances.FewNewEvents)
	if at := f.present(); at != few {
		t.Errorf("after few events it is %v, want %v", at, few)
	}
	f.bookEntries(balances.FewNewEvents + 1)
	now = now.Add(balances.MaxAge / 2)
	if at := f.present(); at != few {
		t.Errorf("after many events in half a second it is %v, want the earlier moment %v", at, few)
	}
	last := f.bookEntries(1)
	now = now.Add(1)
	for range 2 {
		if at := f.present(); at != last {
			t.Errorf("after more than half a second it is %v, want %v", at, last)
		}
	}
}

// Sums are right although other organizations and other moments have displaced them in the cache.
func TestManyMomentsAndOrganizationsAreCached(t *testing.T) {
	f := open(t)
	var moments []ledger.Micros
	for range 60 {
		moments = append(moments, f.bookEntries(1))
	}
	organizations := []ledger.ID{org}
	for n := range byte(40) {
		organizations = append(organizations, ledger.ID{1, n})
		f.MustSubmit(fullChange(organizations[len(organizations)-1], 1+uint64(n), 16))
	}
	random := testseed.Random(t)
	for range 300 {
		i := random.IntN(len(organizations))
		q, want := balances.Query{Env: money.Prod, At: 1 << 62, Prefix: "A:"}, posting.MaxSteps*i
		if random.IntN(2) == 0 {
			n := random.IntN(len(moments))
			i, q.At, want = 0, moments[n], n+1
		}
		if i == 0 && q.At == 1<<62 {
			want = len(moments)
		}
		v := f.Journal.View()
		err := f.reader.Groups(v, organizations[i], q, func(group ledger.Account, totals *ledger.Totals) (bool, error) {
			if totals.DebitsPosted != amount(uint64(want)) {
				return false, fmt.Errorf("organization %d at %v: %v, want %d", i, q.At, totals.DebitsPosted, want)
			}
			return true, nil
		})
		v.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Readers that extend the sums at the same time, while entries are booked, get sums that belong to their moments.
func TestConcurrentReadersOfGroups(t *testing.T) {
	f := open(t)
	f.reader.SetTime(func() time.Time { return time.Unix(1, 0) }) // cached sums do not grow old
	const changes, readers = 12, 6
	random := testseed.Random(t)
	done := make(chan struct{})
	var wait sync.WaitGroup
	for range readers {
		seed := random.Int64()
		wait.Go(func() {
			for n := seed; ; n++ {
				if err := f.checkSumsOfPresent(n%3 == 0); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for range changes {
		f.bookEntries(posting.MaxSteps)
	}
	close(done)
	wait.Wait()
}

// checkSumsOfPresent compares the sums of groups with the lines of the accounts, at the present or, if isPast is set, before it.
func (f *fixture) checkSumsOfPresent(isPast bool) error {
	view, at, err := f.reader.PresentView(org, f.Journal.View)
	if err != nil {
		return err
	}
	defer view.Close()
	if isPast {
		at = max(0, at-300)
	}
	q := balances.Query{Env: money.Prod, At: at}
	var got, want listing
	err = f.reader.Groups(view, org, q, func(group ledger.Account, totals *ledger.Totals) (bool, error) {
		got.add(group, totals)
		return true, nil
	})
	if err != nil {
		return err
	}
	err = balances.FromPages(view, org, q, func(a ledger.Account, totals *ledger.Totals) { // one account in each group
		a.Path = a.Path.Group()
		want.add(a, totals)
	})
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("at %v the groups have %q, want %q", at, got, want)
	}
	return err
}
