package posting_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// noticeRecorder records the notices that the function of OnNotices gets, in order.
type noticeRecorder struct {
	mu    sync.Mutex
	calls []noticeCall // guarded by mu
}

type noticeCall struct {
	org     ledger.ID
	notices []posting.Notice
}

func (r *noticeRecorder) listen(j *posting.Journal) {
	j.OnNotices(func(org ledger.ID, notices []posting.Notice) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls = append(r.calls, noticeCall{org, notices})
	})
}

func (r *noticeRecorder) noticesOf(org ledger.ID) (all []posting.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if c.org == org {
			all = append(all, c.notices...)
		}
	}
	return all
}

// stepWithNotices returns a step that creates a record with the given number of events. Each event has one
// notice on each channel.
func stepWithNotices(org ledger.ID, events int, body string) posting.Step {
	s := posting.Step{Org: org, Source: newTransaction(), Record: []byte{1}}
	for i := range events {
		s.Events = append(s.Events, ledger.Event{Name: "a", To: "b"})
		for _, channel := range []posting.Channel{posting.Webhook, posting.Stream, posting.OperatorAlert} {
			s.Notices = append(s.Notices, posting.Notice{Event: i, Channel: channel, To: uuid.New(), Body: fmt.Appendf(nil, "%s %d %v", body, i, channel)})
		}
	}
	return s
}

func change(steps ...posting.Step) *posting.Change {
	return &posting.Change{Author: ledger.BySystem.Author(), Steps: steps}
}

// storedNotices returns all notices of an organization, in order.
func (f *fixture) storedNotices(orgID ledger.ID) (all []posting.Notice) {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	err := v.NoticesAscending(orgID, 0, func(n *posting.Notice) (bool, error) {
		copied := *n
		copied.Body = slices.Clone(n.Body)
		all = append(all, copied)
		return true, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return all
}

// wantNotices compares two lists of notices. It ignores the fields that are not stored.
func wantNotices(t *testing.T, what string, got, want []posting.Notice) {
	t.Helper()
	equal := func(a, b posting.Notice) bool {
		return a.Booked == b.Booked && a.PageStart == b.PageStart && a.Source == b.Source && a.Channel == b.Channel && a.To == b.To && bytes.Equal(a.Body, b.Body)
	}
	if !slices.EqualFunc(got, want, equal) {
		t.Errorf("%s: %d notices, want %d, or they differ:\n%+v\n%+v", what, len(got), len(want), firstThree(got), firstThree(want))
	}
}

func firstThree(notices []posting.Notice) []posting.Notice { return notices[:min(3, len(notices))] }

func TestNoticeIsDurableWithItsChangeAndNamesItsEvent(t *testing.T) {
	f := open(t)
	var recorder noticeRecorder
	recorder.listen(f.Journal)
	c := change(stepWithNotices(org, 2, "first"), stepWithNotices(org, 1, "second"))
	f.must(c)
	var want []posting.Notice
	for i := range c.Steps {
		for _, n := range c.Steps[i].Notices {
			want = append(want, posting.Notice{
				Channel: n.Channel, To: n.To, Body: n.Body, Source: c.Steps[i].Source, Booked: c.Steps[i].Events[n.Event].Booked,
				PageStart: c.Steps[0].Events[0].Booked, // the first event of the group has the first notice of the page
			})
		}
	}
	if want[0].Booked == 0 || want[0].Booked == want[3].Booked {
		t.Fatalf("the events were booked at %d and %d", want[0].Booked, want[3].Booked)
	}
	wantNotices(t, "handed over", recorder.noticesOf(org), want)
	wantNotices(t, "stored", f.storedNotices(org), want)
	f.restart()
	wantNotices(t, "after a restart", f.storedNotices(org), want)
	if got := f.storedNotices(uuid.New()); got != nil {
		t.Errorf("another organization has %v", got)
	}
}

func TestSubjectOfANoticeIsHandedOverButNotStored(t *testing.T) {
	f := open(t)
	var recorder noticeRecorder
	recorder.listen(f.Journal)
	s := stepWithNotices(org, 1, "x")
	subject := new(int)
	s.Notices[1].Subject = subject
	f.must(change(s))
	if got := recorder.noticesOf(org); got[1].Subject != subject || got[0].Subject != nil {
		t.Errorf("handed over with %v and %v", got[1].Subject, got[0].Subject)
	}
	if got := f.storedNotices(org); got[1].Subject != nil {
		t.Errorf("read back with %v", got[1].Subject)
	}
}

func TestRefusedChangeWritesNoNotices(t *testing.T) {
	d := blockedDisk()
	f := openOn(t, d)
	var recorder noticeRecorder
	recorder.listen(f.Journal)
	claim := []ledger.Claim{{Org: org, Kind: ledger.ClaimTxID, Key: "1/x", Owner: []byte("me")}}
	first, claimTaken, stale := change(stepWithNotices(org, 1, "first")), change(stepWithNotices(org, 1, "taken")), change(stepWithNotices(org, 1, "stale"))
	first.Claims, claimTaken.Claims = claim, claim
	stale.Steps[0].Source, stale.Steps[0].Expect = first.Steps[0].Source, 7
	stale.MustRecord = true
	receipts := f.submitTogether(d, []*posting.Change{first, claimTaken, stale}) // in one group or in two, by chance
	if receipts[0].Err != nil {
		t.Fatal(receipts[0].Err)
	}
	wantCode(t, receipts[1].Err, ledger.ClaimTaken)
	wantCode(t, receipts[2].Err, ledger.StaleVersion)
	for what, got := range map[string][]posting.Notice{"handed over": recorder.noticesOf(org), "stored": f.storedNotices(org)} {
		if len(got) != 3 || string(got[0].Body) != "first 0 webhook" {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

func TestNoticesAreNotHandedOverOnAFailedDiskAndAreReadAfterRestart(t *testing.T) {
	for name, c := range map[string]struct {
		isStored bool
		want     int
	}{"not persisted": {false, 3}, "failed but persisted": {true, 6}} {
		t.Run(name, func(t *testing.T) {
			d := new(disk)
			f := openOn(t, d)
			var recorder noticeRecorder
			recorder.listen(f.Journal)
			f.must(change(stepWithNotices(org, 1, "before")))
			d.failBefore.Store(!c.isStored)
			d.failAfter.Store(c.isStored)
			f.Submit(change(stepWithNotices(org, 1, "lost")), func(posting.Receipt) { t.Error("acknowledged") })
			if err := <-f.fatal; !errors.Is(err, errDisk) {
				t.Fatalf("fatal: %v", err)
			}
			_ = f.Close()
			if got := len(recorder.noticesOf(org)); got != 3 {
				t.Errorf("%d were handed over, want the 3 of the durable group", got)
			}
			d.failBefore.Store(false)
			d.failAfter.Store(false)
			f.reopen()
			if got := len(f.storedNotices(org)); got != c.want {
				t.Errorf("%d are stored, want %d", got, c.want)
			}
		})
	}
}

func TestNoticesAreHandedOverAfterTheSyncAndBeforeTheReceipt(t *testing.T) {
	d := blockedDisk()
	f := openOn(t, d)
	var order []string // only the goroutine of the committer writes it
	var storedCount int
	f.OnNotices(func(org ledger.ID, notices []posting.Notice) {
		order = append(order, "handed over")
		storedCount = len(f.storedNotices(org))
	})
	done := make(chan struct{})
	f.Submit(change(stepWithNotices(org, 1, "x")), func(posting.Receipt) {
		order = append(order, "acknowledged")
		close(done)
	})
	select {
	case <-done:
		t.Fatal("acknowledged with the sync still open")
	default:
	}
	if got := f.storedNotices(org); got != nil {
		t.Errorf("a view shows %+v with the sync still open", got)
	}
	d.unblock()
	<-done
	if !slices.Equal(order, []string{"handed over", "acknowledged"}) || storedCount != 3 {
		t.Errorf("order %v, and %d durable when they were handed over", order, storedCount)
	}
}

// Four goroutines submit changes of two organizations, which the writer puts into groups of any size. All notices of
// an organization are handed over once, in the order of booking.
func TestNoticesComeInBookingOrder(t *testing.T) {
	f := open(t)
	var recorder noticeRecorder
	recorder.listen(f.Journal)
	orgs := [2]ledger.ID{org, uuid.New()}
	var senders, pending sync.WaitGroup
	const perSender = 300
	pending.Add(4 * perSender)
	for i := range 4 {
		senders.Go(func() {
			for n := range perSender {
				f.Submit(change(stepWithNotices(orgs[(i+n)%2], 1, "x")), func(receipt posting.Receipt) {
					if receipt.Err != nil {
						t.Error(receipt.Err)
					}
					pending.Done()
				})
			}
		})
	}
	senders.Wait()
	pending.Wait()
	for _, orgID := range orgs {
		got := recorder.noticesOf(orgID)
		if len(got) != 4*perSender/2*3 {
			t.Errorf("%d notices, want %d", len(got), 4*perSender/2*3)
		}
		isSorted := slices.IsSortedFunc(got, func(a, b posting.Notice) int {
			return cmp.Or(cmp.Compare(a.Booked, b.Booked), cmp.Compare(a.Channel, b.Channel), 1) // a repeated notice counts as unsorted
		})
		if !isSorted {
			t.Error("they were not handed over in the order of their bookings")
		}
		wantNotices(t, "stored", f.storedNotices(orgID), got)
	}
}

func TestNoticePageEndsAtItsBound(t *testing.T) {
	f := open(t)
	c := &posting.Change{Author: ledger.BySystem.Author()}
	for n := range 20 {
		s := stepWithNotices(org, 1, "x")
		s.Notices[0].Body = bytes.Repeat([]byte{byte(n)}, store.MaxNotice*(1+n%2)/2)
		c.Steps = append(c.Steps, s)
	}
	f.must(c)
	stored := f.storedNotices(org)
	if len(stored) != 60 {
		t.Fatalf("%d notices, want 60", len(stored))
	}
	v := f.View()
	defer v.Close()
	rows := 0
	err := v.KVsAscending(org, []byte{'n'}, nil, func(_, row []byte) (bool, error) {
		rows++
		if len(row) > store.MaxNoticePage {
			t.Errorf("a page of %d bytes, want at most %d", len(row), store.MaxNoticePage)
		}
		return true, nil
	})
	if err != nil || rows < 5 || rows > 10 {
		t.Errorf("%d pages for 245 KiB (%v)", rows, err)
	}
	var readAgain []posting.Notice
	err = v.NoticePages(org, 0, func(page ledger.Micros, notices []posting.Notice) (bool, error) {
		if notices[0].Booked != page {
			t.Errorf("page %d begins with %d", page, notices[0].Booked)
		}
		for i := range notices {
			notices[i].Body = slices.Clone(notices[i].Body)
		}
		readAgain = append(notices, readAgain...)
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantNotices(t, "by pages, the newest first", readAgain, stored)
}

// Notices are stored in pages, which are rows of consecutive notices. A reader that asks for the notices from an instant on
// gets whole pages. The first page is the last one that begins at or before the instant or, if there is none, the oldest
// page.
func TestNoticesAreReadFromThePageCoveringAnInstant(t *testing.T) {
	f := open(t)
	for range 5 {
		f.must(change(stepWithNotices(org, 3, "x"))) // the notices of each change are on a page of their own
	}
	all := f.storedNotices(org)
	v := f.View()
	defer v.Close()
	for from := all[0].Booked - 2; from <= all[len(all)-1].Booked+2; from++ {
		wantPage := all[0].PageStart
		for _, n := range all {
			if n.PageStart <= from {
				wantPage = n.PageStart
			}
		}
		var firstBooked, newestPage ledger.Micros
		err := v.NoticesAscending(org, from, func(n *posting.Notice) (bool, error) {
			firstBooked = n.Booked
			return false, nil
		})
		if err != nil || firstBooked != wantPage {
			t.Errorf("from %d: begins at %d, want %d (%v)", from, firstBooked, wantPage, err)
		}
		err = v.NoticePages(org, from, func(p ledger.Micros, _ []posting.Notice) (bool, error) {
			newestPage = p
			return false, nil
		})
		if from < all[0].PageStart {
			wantPage = 0
		}
		if err != nil || newestPage != wantPage {
			t.Errorf("back from %d: begins at %d, want %d (%v)", from, newestPage, wantPage, err)
		}
	}
}

func TestInvalidNoticePanicsInItsCaller(t *testing.T) {
	f := open(t)
	notice := func(event int, channel posting.Channel, body int) posting.Notice {
		return posting.Notice{Event: event, Channel: channel, Body: make([]byte, body)}
	}
	for name, notices := range map[string][]posting.Notice{
		"of no event":                 {notice(-1, posting.Webhook, 1)},
		"of an event beyond the last": {notice(2, posting.Webhook, 1)},
		"by no channel":               {notice(0, 0, 1)},
		"a bulletin":                  {notice(0, posting.OperatorBulletin, 1)},
		"by an unknown channel":       {notice(0, 9, 1)},
		"too long":                    {notice(0, posting.Webhook, posting.MaxNotice+1)},
		"two by one channel":          {notice(0, posting.Webhook, 1), notice(0, posting.Webhook, 1)},
		"channels out of order":       {notice(0, posting.Stream, 1), notice(0, posting.Webhook, 1)},
		"events out of their order":   {notice(1, posting.Webhook, 1), notice(0, posting.Webhook, 1)},
	} {
		s := stepWithNotices(org, 2, "x")
		s.Notices = notices
		if !panics(func() { f.submit(change(s)) }) {
			t.Errorf("%s: it was accepted", name)
		}
	}
	s := stepWithNotices(org, 2, "x")
	s.Notices = []posting.Notice{notice(0, posting.Webhook, 0), notice(0, posting.OperatorAlert, posting.MaxNotice), notice(1, posting.Webhook, posting.MaxNotice)}
	f.must(change(s))
	if got := f.storedNotices(org); len(got) != 3 || len(got[0].Body) != 0 || len(got[1].Body) != posting.MaxNotice {
		t.Errorf("%d notices are stored", len(got))
	}
}

// After random changes, groups and restarts, the stored notices equal those that OnNotices has passed on.
func TestStoredNoticesEqualThoseHandedOver(t *testing.T) {
	random := testseed.Random(t)
	f := open(t)
	var recorder noticeRecorder
	recorder.listen(f.Journal)
	orgs := make([]ledger.ID, 20) // more organizations than the writer keeps notice buffers for
	for i := range orgs {
		orgs[i] = uuid.New()
	}
	for range 6 {
		var pending sync.WaitGroup
		for range 1 + random.IntN(200) {
			c := &posting.Change{Author: ledger.BySystem.Author()}
			for range 1 + random.IntN(4) {
				s := stepWithNotices(orgs[random.IntN(len(orgs))], 1+random.IntN(3), "x")
				for i := range s.Notices {
					s.Notices[i].Body = make([]byte, random.IntN(1<<random.IntN(13)))
					if random.IntN(2) == 0 {
						s.Notices[i].To = org
					}
				}
				s.Notices = s.Notices[:random.IntN(len(s.Notices)+1)]
				c.Steps = append(c.Steps, s)
			}
			pending.Add(1)
			f.Submit(c, func(receipt posting.Receipt) {
				if receipt.Err != nil {
					t.Error(receipt.Err)
				}
				pending.Done()
			})
		}
		pending.Wait()
		if random.IntN(2) == 0 {
			f.restart()
			recorder.listen(f.Journal)
		}
		for _, orgID := range orgs {
			wantNotices(t, "stored", f.storedNotices(orgID), recorder.noticesOf(orgID))
		}
	}
}

// Transient notices are handed over with the other notices, but not stored. The event's hash of notices does not cover
// them.
func TestTransientNoticesAreHandedOverAndNotStored(t *testing.T) {
	f := open(t)
	var recorder noticeRecorder
	recorder.listen(f.Journal)
	s := stepWithNotices(org, 2, "x")
	transient := posting.Notice{Event: 1, Channel: posting.Webhook, Body: []byte("transient"), Subject: "a record"}
	s.Transient = []posting.Notice{transient}
	alone := posting.Step{Org: org, Source: newTransaction(), Record: []byte{1}, Events: []ledger.Event{{Name: "a", To: "b"}}}
	alone.Transient = []posting.Notice{{Channel: posting.Webhook}}
	c := change(s, alone)
	f.must(c)
	var handedOver []posting.Notice
	for _, n := range recorder.noticesOf(org) {
		if n.IsTransient {
			handedOver = append(handedOver, n)
		}
	}
	if len(handedOver) != 2 || len(recorder.noticesOf(org)) != 8 {
		t.Fatalf("%d transient notices of %d", len(handedOver), len(recorder.noticesOf(org)))
	}
	if n := handedOver[0]; n.Source != s.Source || n.Booked != c.Steps[0].Events[1].Booked || n.Subject != "a record" || string(n.Body) != "transient" || n.PageStart != 0 {
		t.Errorf("handed over as %+v", n)
	}
	if got := f.storedNotices(org); len(got) != 6 {
		t.Errorf("%d notices are stored, want 6", len(got))
	}
	if c.Steps[0].Events[1].StoredHashes.Notices == (ledger.Hash{}) || c.Steps[1].Events[0].StoredHashes.Notices != (ledger.Hash{}) {
		t.Errorf("the hashes of notices are %x and %x", c.Steps[0].Events[1].StoredHashes.Notices, c.Steps[1].Events[0].StoredHashes.Notices)
	}
}

func TestMalformedTransientNoticeIsRefused(t *testing.T) {
	f := open(t)
	for name, n := range map[string]posting.Notice{
		"no channel": {}, "no event": {Event: 1, Channel: posting.Webhook}, "a bulletin": {Channel: posting.OperatorBulletin},
		"too long": {Channel: posting.Webhook, Body: make([]byte, posting.MaxNotice+1)},
	} {
		s := posting.Step{Org: org, Source: newTransaction(), Record: []byte{1}, Events: []ledger.Event{{Name: "a", To: "b"}}, Transient: []posting.Notice{n}}
		if !panics(func() { f.submit(change(s)) }) {
			t.Errorf("%s: accepted", name)
		}
	}
}
