package check_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/clock"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// flushedLineFaults are faults in flushed lines: the server has copied such a line from the page buffer to a page, and
// the page buffer still has the line. The oldest lines of an account with much traffic, and of the list of a partner
// with many payments, are flushed.
var flushedLineFaults = []fault{
	{"a flushed line of another amount, with its total", corruptAfter(withTraffic, func(w *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) {
		s := rowsWithLines(bufferRows, transferPrefix(1)(w))[5]
		chunk := &s.chunks[s.chunkWith(transferPrefix(1)(w))]
		chunk.lines = changeFirstLine(raiseAmount)(p, chunk.lines)
		writeBufferRows(p, s)
	}), []int{2}, "that its pages have otherwise"},
	{"a flushed line twice in its row", corruptAfter(withTraffic, func(w *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) {
		s := rowsWithLines(bufferRows, transferPrefix(1)(w))[5]
		chunkIndex := s.chunkWith(transferPrefix(1)(w))
		s.chunks = slices.Insert(s.chunks, chunkIndex, s.chunks[chunkIndex])
		writeBufferRows(p, s)
	}), []int{2}, "out of the order of booking"},
	{"a flushed chunk under another account", corruptAfter(withTraffic, func(w *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) {
		s := rowsWithLines(bufferRows, transferPrefix(1)(w))[5]
		s.chunks[s.chunkWith(transferPrefix(1)(w))].prefix = feesPrefix(w)
		writeBufferRows(p, s)
	}), []int{2}, ""}, // the fees account has no later page, so the line counts as not yet flushed, and it belongs to no event
	{"a flushed row of a list with another transaction", changeChunk(listPrefix(4), 5, changeFirstRow(func(l *store.ListRow) { l.ID = uuid.New() })), []int{4}, "that its pages have otherwise"},
	{"a page that lacks a flushed line", corruptAfter(withTraffic, func(w *fixture.Store, p *fixture.Corrupter, _ []bufferRow) {
		keys, rows := p.Rows(transferPrefix(1)(w))
		var remaining []byte
		n := 0
		fixture.Must(p.T, store.DecodePage(rows[1], func(l *store.Line) (bool, error) {
			if n++; n != 5 {
				remaining = store.EncodeLine(remaining, l)
			}
			return true, nil
		}))
		p.Group.Set(keys[1], remaining)
	}), []int{2}, ""},
	{"a line that is on a page and in the page buffer, after others that only the page buffer has", corruptAfter(withTraffic, func(w *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) {
		s := newestRows(bufferRows)[0]
		lines := s.chunks[s.chunkWith(transferPrefix(1)(w))].lines
		firstBooked, _, err := store.BookedTimes('p', lines)
		fixture.Must(p.T, err)
		p.Group.Set(store.KeyPage(nil, w.FirstDemo.Org, transferAccount(1), firstBooked), lines)
	}), []int{2}, ""},
	{"a row of a list that is on a page and in the page buffer, after others that only the page buffer has", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			list := listPrefix(w.FirstDemo.Partner)(w)
			bufferRows := rowsWithLines(bufferRowsOf(p, w.FirstDemo.Org), list)
			s := bufferRows[len(bufferRows)-1]
			lines := s.chunks[s.chunkWith(list)].lines
			firstBooked, _, err := store.BookedTimes('l', lines)
			fixture.Must(t, err)
			p.Group.Set(store.KeyListPage(nil, w.FirstDemo.Org, payment.Transactions.Of(w.FirstDemo.Partner, money.Prod), firstBooked), lines)
		})
	}, []int{4}, ""},
	{"a row that comes back in another group", func(t *testing.T, w *fixture.Store) {
		row := drainBuffer(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			row.Group, row.Part = newestRows(bufferRowsOf(p, w.FirstDemo.Org))[0].Group, 1
			writeBufferRows(p, row)
		})
	}, []int{2, 5}, ""},
	{"a row that comes back in its group with another amount", func(t *testing.T, w *fixture.Store) {
		row := drainBuffer(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			row.chunks[0].lines = changeFirstLine(raiseAmount)(p, row.chunks[0].lines)
			writeBufferRows(p, row)
		})
	}, []int{2}, "that its pages have otherwise"},

	// The following two are no faults: a sound store may contain them, and readers get the same results. A
	// row whose lines were flushed stays until a group has room for its removal. A line may have been
	// flushed while the page buffer had no other line of its account.
	{"a row that comes back in its group", func(t *testing.T, w *fixture.Store) {
		row := drainBuffer(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) { writeBufferRows(p, row) })
	}, nil, ""},
	{"a line that is on a page and in the page buffer, before others that only the page buffer has", func(t *testing.T, w *fixture.Store) {
		postTransfers(t, w, 4, 1, 2)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			s := rowsWithLines(bufferRowsOf(p, w.FirstDemo.Org), transferPrefix(1)(w))[0]
			lines := s.chunks[s.chunkWith(transferPrefix(1)(w))].lines
			firstBooked, _, err := store.BookedTimes('p', lines)
			fixture.Must(t, err)
			p.Group.Set(store.KeyPage(nil, w.FirstDemo.Org, transferAccount(1), firstBooked), lines)
		})
	}, nil, ""},
}

// drainBuffer makes the server flush all lines of a group and remove the group's row. It returns the removed row.
func drainBuffer(t *testing.T, w *fixture.Store) (row bufferRow) {
	t.Helper()
	postTransfers(t, w, 2, 1, 2)
	lookAtRows(t, w, func(p *fixture.Corrupter) { row = newestRows(bufferRowsOf(p, w.FirstDemo.Org))[0] })
	w.Layout = 3
	postTransfers(t, w, 8, 1, 2)
	lookAtRows(t, w, func(p *fixture.Corrupter) {
		remaining := bufferRowsOf(p, w.FirstDemo.Org)
		if len(remaining) != 3 || slices.ContainsFunc(remaining, func(s bufferRow) bool { return s.Group <= row.Group }) {
			t.Fatalf("%d rows are left, the first of group %d", len(remaining), remaining[0].Group)
		}
	})
	return row
}

// lookAtRows opens the closed store and calls inspect, which must change nothing.
func lookAtRows(t *testing.T, w *fixture.Store, inspect func(*fixture.Corrupter)) {
	t.Helper()
	s, err := store.Open(fixture.Options(w.Dir))
	fixture.Must(t, err)
	p := &fixture.Corrupter{T: t, Snap: s.Snapshot()}
	inspect(p)
	p.Snap.Close()
	fixture.Must(t, s.Close())
}

func TestEveryPageBufferFaultBreaksItsRule(t *testing.T) {
	wantFaults(t, fixture.Copy, bufferFaults)
	wantFaults(t, fixture.Copy, flushedLineFaults)
}

// The rows of a list must be in order across its pages: a reader that goes backward through the list stops at
// the first row that is too old.
func TestListWithOverlappingPagesIsFound(t *testing.T) {
	w := fixture.CopyWithLayout(t, fixture.Paged)
	w.Corrupt(t, func(p *fixture.Corrupter) {
		keys, rows := p.Rows(listPrefix(w.FirstDemo.Partner)(w))
		p.Group.Set(keys[3], append(rows[3], rows[5]...))
		p.Group.Delete(keys[5])
	})
	report := w.Check(t, check.Inputs{})
	fixture.WantBroken(t, report, 4)
	wantDetail(t, report, "is out of the order of booking")
}

// The functions that fill the page buffer have the intended result and leave a sound store.
func TestPageBufferFixturesAreSound(t *testing.T) {
	for name, c := range map[string]struct {
		fill         func(*testing.T, *fixture.Store)
		isAsIntended func(w *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) bool
	}{
		"traffic flushes lines that the page buffer still has": {withTraffic, func(w *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) bool {
			keys, _ := p.Rows(transferPrefix(1)(w))
			unbuffered := 2 // the group that wrote the account's first lines, and the one that filled its page
			return len(keys) == 2 && len(rowsWithLines(bufferRows, transferPrefix(1)(w))) == trafficGroups-unbuffered
		}},
		"the payments of a busy partner flush rows of its list": {func(*testing.T, *fixture.Store) {}, func(w *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) bool {
			keys, _ := p.Rows(listPrefix(4)(w))
			return len(keys) > 1 && len(rowsWithLines(bufferRows, listPrefix(4)(w))) > 100
		}},
		"a long group has two parts": {withTwoParts, func(_ *fixture.Store, _ *fixture.Corrupter, bufferRows []bufferRow) bool {
			rows := newestRows(bufferRows)
			return len(rows) == 2 && rows[1].Part == 1
		}},
		"two pairs are in two groups": {withTwoPairs, func(w *fixture.Store, _ *fixture.Corrupter, bufferRows []bufferRow) bool {
			a, b := bufferRows[len(bufferRows)-2], bufferRows[len(bufferRows)-1]
			return b.Group == a.Group+1 && a.chunkWith(transferPrefix(1)(w)) >= 0 && b.chunkWith(transferPrefix(3)(w)) >= 0
		}},
		"a drained row is removed": {func(t *testing.T, w *fixture.Store) { drainBuffer(t, w) }, func(*fixture.Store, *fixture.Corrupter, []bufferRow) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			w := fixture.Copy(t)
			c.fill(t, w)
			lookAtRows(t, w, func(p *fixture.Corrupter) {
				if !c.isAsIntended(w, p, bufferRowsOf(p, w.FirstDemo.Org)) {
					t.Error("the page buffer is not what this test needs")
				}
			})
			fixture.WantBroken(t, w.Check(t, check.Inputs{}))
		})
	}
}

// A server refuses to start with a page buffer that it can't parse, because the lines in it
// would be lost.
func TestServerRefusesAnUnreadablePageBuffer(t *testing.T) {
	changeNewestRow := func(change func(*bufferRow)) func(*fixture.Store, *fixture.Corrupter) {
		return func(w *fixture.Store, p *fixture.Corrupter) {
			s := newestRows(bufferRowsOf(p, w.FirstDemo.Org))[0]
			change(&s)
			writeBufferRows(p, s)
		}
	}
	for name, corrupt := range map[string]func(*fixture.Store, *fixture.Corrupter){
		"a row of another form": func(w *fixture.Store, p *fixture.Corrupter) {
			p.Group.Set(store.KeyBufferRow(nil, newestRows(bufferRowsOf(p, w.FirstDemo.Org))[0].BufferKey), []byte{0xff, 0xff})
		},
		"lines that are cut short":      changeNewestRow(func(s *bufferRow) { s.chunks[0].lines = s.chunks[0].lines[:3] }),
		"a chunk of an unknown account": changeNewestRow(func(s *bufferRow) { s.chunks[0].prefix = s.chunks[0].prefix[:20] }),
		"an unreadable page of an account with buffered lines": func(w *fixture.Store, p *fixture.Corrupter) {
			keys, _ := p.Rows(transferPrefix(1)(w))
			p.Group.Set(keys[0], []byte{0xff, 0xff, 0xff})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := fixture.Copy(t)
			postTransfers(t, w, 2, 1, 2)
			w.Corrupt(t, func(p *fixture.Corrupter) { corrupt(w, p) })
			j, err := posting.Open(posting.Options{Store: fixture.Options(w.Dir), Clock: clock.NewManual(fixture.StartTime), Log: fixture.NoLog})
			if damage, ok := errors.AsType[*store.DamageError](err); !ok {
				if err == nil {
					err = j.Close()
				}
				t.Fatalf("opened with %v", err)
			} else if text := damage.Error(); strings.Count(text, "restore from a backup") != 1 {
				t.Errorf("it says %q", text)
			}
			if exit, text := verifyRefused(t, check.VerifyConfig{Data: w.Dir}); exit != 1 || !strings.HasPrefix(text, "mizan: storage: the store is damaged: ") {
				t.Errorf("exit %d, printed:\n%s", exit, text)
			}
		})
	}
}

func TestDigestCoversPageBuffers(t *testing.T) {
	w := fixture.Copy(t)
	row := drainBuffer(t, w)
	oldDigest := w.Check(t, check.Inputs{}).Digest
	w.Corrupt(t, func(p *fixture.Corrupter) { writeBufferRows(p, row) })
	if newDigest := w.Check(t, check.Inputs{}).Digest; newDigest == oldDigest {
		t.Error("an additional row does not change the digest")
	}
}
