package check_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/fixture"
)

// lineChunk is the part of a page-buffer row that belongs to one account or list: its lines, and the prefix of the
// keys of its pages. A page buffer has the lines that a group (changes written together) has added; the server
// flushes them to pages later.
type lineChunk struct{ prefix, lines []byte }

// bufferRow is a page-buffer row in a form that tests can change.
type bufferRow struct {
	store.BufferKey
	chunks []lineChunk
}

// bufferRowsOf returns an organization's page-buffer rows, those of the oldest group first.
func bufferRowsOf(p *fixture.Corrupter, org ledger.ID) (bufferRows []bufferRow) {
	p.T.Helper()
	keys, rows := p.Rows(store.KeyBuffer(nil, org))
	for i, key := range keys {
		k, ok := store.ParseBufferKey(key)
		if !ok {
			p.T.Fatalf("a page buffer row has key %x", key)
		}
		s := bufferRow{BufferKey: k}
		fixture.Must(p.T, store.EachChunk(rows[i], func(head, lines []byte) error {
			s.chunks = append(s.chunks, lineChunk{store.PagePrefix(nil, org, head), bytes.Clone(lines)})
			return nil
		}))
		bufferRows = append(bufferRows, s)
	}
	slices.SortStableFunc(bufferRows, func(a, b bufferRow) int { return int(a.Group) - int(b.Group) })
	return bufferRows
}

func writeBufferRows(p *fixture.Corrupter, rows ...bufferRow) {
	for _, s := range rows {
		var row []byte
		for _, chunk := range s.chunks {
			row = store.AppendChunk(row, store.PageHead(nil, chunk.prefix), chunk.lines)
		}
		p.Group.Set(store.KeyBufferRow(nil, s.BufferKey), row)
	}
}

func removeBufferRows(p *fixture.Corrupter, rows ...bufferRow) {
	for _, s := range rows {
		p.Group.Delete(store.KeyBufferRow(nil, s.BufferKey))
	}
}

// rowsWithLines returns the rows that contain lines of one account or list, which the prefix identifies.
func rowsWithLines(bufferRows []bufferRow, prefix []byte) []bufferRow {
	return slices.DeleteFunc(slices.Clone(bufferRows), func(s bufferRow) bool { return s.chunkWith(prefix) < 0 })
}

// chunkWith returns the index of the row's chunk with this prefix. If there is none, it returns -1.
func (s *bufferRow) chunkWith(prefix []byte) int {
	return slices.IndexFunc(s.chunks, func(chunk lineChunk) bool { return bytes.Equal(chunk.prefix, prefix) })
}

// eraseAll removes all lines of an account or a list, from pages and page buffers.
func eraseAll(p *fixture.Corrupter, prefix []byte) {
	p.T.Helper()
	org := ledger.ID(prefix[1:17])
	fixture.Must(p.T, p.Snap.Ascend(prefix, nil, func(key, _ []byte) (bool, error) {
		p.Group.Delete(bytes.Clone(key))
		return true, nil
	}))
	fixture.Must(p.T, p.Snap.Ascend(store.KeyBuffer(nil, org), nil, func(key, row []byte) (bool, error) {
		var remaining []byte
		err := store.EachChunk(row, func(head, lines []byte) error {
			if !bytes.Equal(store.PagePrefix(nil, org, head), prefix) {
				remaining = store.AppendChunk(remaining, head, lines)
			}
			return nil
		})
		switch key = bytes.Clone(key); {
		case len(remaining) == 0:
			p.Group.Delete(key)
		case len(remaining) < len(row):
			p.Group.Set(key, remaining)
		}
		return true, err
	}))
}

// changeChunk returns a function that changes the lines of one account or list in one page-buffer row. index selects among the
// rows that contain such lines: 0 is the oldest of them, and -1 the newest. If change returns no lines, the chunk is removed.
func changeChunk(prefix func(*fixture.Store) []byte, index int, change func(p *fixture.Corrupter, lines []byte) []byte) func(*testing.T, *fixture.Store) {
	return func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			candidates := rowsWithLines(bufferRowsOf(p, w.FirstDemo.Org), prefix(w))
			if index < 0 {
				index += len(candidates)
			}
			s := candidates[index]
			chunkIndex := s.chunkWith(prefix(w))
			if s.chunks[chunkIndex].lines = change(p, s.chunks[chunkIndex].lines); s.chunks[chunkIndex].lines == nil {
				s.chunks = slices.Delete(s.chunks, chunkIndex, chunkIndex+1)
			}
			if writeBufferRows(p, s); len(s.chunks) == 0 {
				removeBufferRows(p, s)
			}
		})
	}
}

// changeFirstLine returns a function that changes the first line of an account's chunk.
func changeFirstLine(change func(*store.Line)) func(*fixture.Corrupter, []byte) []byte {
	return func(p *fixture.Corrupter, lines []byte) (changed []byte) {
		fixture.Must(p.T, store.DecodePage(lines, func(l *store.Line) (bool, error) {
			if changed == nil {
				change(l)
			}
			changed = store.EncodeLine(changed, l)
			return true, nil
		}))
		return changed
	}
}

// changeFirstRow returns a function that changes the first row of a list's chunk.
func changeFirstRow(change func(*store.ListRow)) func(*fixture.Corrupter, []byte) []byte {
	return func(p *fixture.Corrupter, lines []byte) (changed []byte) {
		rows, err := store.DecodeListed(lines)
		fixture.Must(p.T, err)
		change(&rows[0])
		for _, row := range rows {
			changed = store.EncodeListed(changed, row)
		}
		return changed
	}
}

func removeLines(*fixture.Corrupter, []byte) []byte { return nil }

func repeatLines(_ *fixture.Corrupter, lines []byte) []byte { return append(lines, lines...) }

// raiseAmount adds one to a line and to its running total.
func raiseAmount(l *store.Line) {
	l.Amount = fixture.MustAdd(l.Amount, 1)
	total := &l.Totals.CreditsPosted
	if l.Side == ledger.Debit {
		total = &l.Totals.DebitsPosted
	}
	*total = fixture.MustAdd(*total, 1)
}

// feesPrefix returns the prefix of the keys of the fees account's pages.
func feesPrefix(w *fixture.Store) []byte {
	return store.KeyPages(nil, w.FirstDemo.Org, fixture.FeesInUSD)
}

// listPrefix returns the prefix of the keys of a partner's list of transactions.
func listPrefix(partner int64) func(*fixture.Store) []byte {
	return func(w *fixture.Store) []byte {
		return store.KeyListPages(nil, w.FirstDemo.Org, payment.Transactions.Of(partner, money.Prod))
	}
}

// transferAccount returns a benchmark account, on which transfers are booked.
func transferAccount(n int) ledger.Account {
	return ledger.Account{Path: ledger.Path(fmt.Sprintf("L:bench:%d", n)), Asset: fixture.USD}
}

// transferPrefix returns the prefix of the keys of a benchmark account's pages.
func transferPrefix(n int) func(*fixture.Store) []byte {
	return func(w *fixture.Store) []byte { return store.KeyPages(nil, w.FirstDemo.Org, transferAccount(n)) }
}

// transferBetween returns the step of an event without a record: its entry moves one unit from the first
// account to the second, from the third to the fourth and so on, the given number of times.
func transferBetween(w *fixture.Store, times int, accounts ...int) posting.Step {
	entry := &ledger.Entry{Phase: ledger.Posted}
	for range times {
		for i := 0; i < len(accounts); i += 2 {
			for k, side := range [...]ledger.Side{ledger.Debit, ledger.Credit} {
				account := transferAccount(accounts[i+k])
				entry.Postings = append(entry.Postings, ledger.Posting{Account: account.Path, Asset: account.Asset, Side: side, Amount: money.FromUint64(1)})
			}
		}
	}
	return posting.Step{
		Org: w.FirstDemo.Org, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()},
		Events: []ledger.Event{{Name: "transfer", To: "done", Entry: entry}},
	}
}

// postTransfers writes groups, as many as groupCount, each with one line on each of two benchmark accounts.
func postTransfers(t *testing.T, w *fixture.Store, groupCount, debit, credit int) {
	t.Helper()
	var changes []*posting.Change
	for range groupCount {
		changes = append(changes, &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{transferBetween(w, 1, debit, credit)}})
	}
	w.Submit(t, changes...)
}

// trafficGroups is the number of groups that withTraffic writes: enough that some lines of each account are
// both on a page and in the page buffer, and that the newest lines are only in the page buffer.
const trafficGroups = 70

// fillTwoParts posts so much to some accounts that a group's page buffer is divided into two parts. It opens the
// store with the default options, because the groups of fixture.Options are too small for so much.
func fillTwoParts(t *testing.T, w *fixture.Store) {
	t.Helper()
	firstChange, secondChange := posting.Change{Author: ledger.BySystem.Author()}, posting.Change{Author: ledger.BySystem.Author()}
	const accounts = 60
	for n := 0; n < accounts; n += 2 {
		firstChange.Steps = append(firstChange.Steps, transferBetween(w, 1, n, n+1))
		secondChange.Steps = append(secondChange.Steps, transferBetween(w, 30, n, n+1))
	}
	j, err := posting.Open(posting.Options{Store: store.Options{Dir: w.Dir, Log: fixture.NoLog}, Clock: clock.NewManual(fixture.StartTime), Log: fixture.NoLog})
	fixture.Must(t, err)
	fixture.SubmitTo(t, j, &firstChange, &secondChange)
}

// newestRows returns the rows of the last group that has rows in the page buffer.
func newestRows(bufferRows []bufferRow) []bufferRow {
	lastGroup := bufferRows[len(bufferRows)-1].Group
	return slices.DeleteFunc(slices.Clone(bufferRows), func(s bufferRow) bool { return s.Group != lastGroup })
}

// corruptAfter returns a function that fills the page buffer with fill and then corrupts the store.
func corruptAfter(fill func(*testing.T, *fixture.Store), corrupt func(w *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow)) func(*testing.T, *fixture.Store) {
	return func(t *testing.T, w *fixture.Store) {
		fill(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) { corrupt(w, p, bufferRowsOf(p, w.FirstDemo.Org)) })
	}
}

func withTraffic(t *testing.T, w *fixture.Store)  { postTransfers(t, w, trafficGroups, 1, 2) }
func withTwoParts(t *testing.T, w *fixture.Store) { fillTwoParts(t, w) }

// withTwoPairs writes two groups whose rows have no account in common, after the groups that wrote
// the accounts' first lines.
func withTwoPairs(t *testing.T, w *fixture.Store) {
	for range 2 {
		postTransfers(t, w, 1, 1, 2)
		postTransfers(t, w, 1, 3, 4)
	}
}

var bufferFaults = []fault{
	{"a page buffer that lacks a line", changeChunk(feesPrefix, 7, removeLines), []int{2}, "has no line"},
	{"a page buffer that lacks an account's last line", changeChunk(feesPrefix, -1, removeLines), []int{2}, "has no line"},
	{"a line of another amount, with its total", changeChunk(feesPrefix, 7, changeFirstLine(raiseAmount)), []int{2}, "the totals are"},
	{"a line of another amount", changeChunk(feesPrefix, 7, changeFirstLine(func(l *store.Line) { l.Amount = fixture.MustAdd(l.Amount, 1) })), []int{2}, "is not its posting"},
	{"a line with another total", changeChunk(feesPrefix, -1, changeFirstLine(func(l *store.Line) {
		l.Totals.CreditsPosted = fixture.MustAdd(l.Totals.CreditsPosted, 1)
	})), []int{2}, "the totals are"},
	{"a line twice in its row", changeChunk(feesPrefix, 7, repeatLines), []int{2}, "belongs to no event"},
	{"a chunk under another account", corruptAfter(withTraffic, func(w *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) {
		s := newestRows(bufferRows)[0]
		s.chunks[s.chunkWith(transferPrefix(1)(w))].prefix = feesPrefix(w)
		writeBufferRows(p, s)
	}), []int{2}, ""}, // one account lacks a line, the other has one too many
	{"a chunk of an account on which nothing was booked", corruptAfter(withTraffic, func(w *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) {
		s := newestRows(bufferRows)[0]
		s.chunks[s.chunkWith(transferPrefix(1)(w))].prefix = transferPrefix(999)(w)
		writeBufferRows(p, s)
	}), []int{2}, ""},
	{"an account whose first line is on no page", func(t *testing.T, w *fixture.Store) {
		postTransfers(t, w, 1, 1, 2)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			keys, rows := p.Rows(transferPrefix(1)(w))
			p.Group.Delete(keys[0])
			writeBufferRows(p, bufferRow{store.BufferKey{Org: w.FirstDemo.Org, Group: p.Group.N() - 1}, []lineChunk{{transferPrefix(1)(w), rows[0]}}})
		})
	}, []int{2}, "has lines in the page buffer and no page"},

	{"a list that lacks the row of a creation", func(t *testing.T, w *fixture.Store) { removeFromList(t, w, true) }, []int{4}, "is not listed"},
	{"a list that lacks the row of a last change", func(t *testing.T, w *fixture.Store) { removeFromList(t, w, false) }, []int{4}, "is not listed"},
	{"a list's chunk under another partner's list", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			s := rowsWithLines(bufferRowsOf(p, w.FirstDemo.Org), listPrefix(w.FirstDemo.Partner)(w))[3]
			s.chunks[s.chunkWith(listPrefix(w.FirstDemo.Partner)(w))].prefix = listPrefix(9)(w)
			writeBufferRows(p, s)
		})
	}, []int{4}, "is listed where it does not belong"},
	{"a list's row of a transaction that does not exist", changeChunk(listPrefix(1), 3, changeFirstRow(func(l *store.ListRow) { l.ID = uuid.New() })), []int{4}, ""},
	{"a list's rows of one group in reverse order", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			bufferRows := rowsWithLines(bufferRowsOf(p, w.FirstDemo.Org), listPrefix(w.FirstDemo.Partner)(w))
			for _, s := range bufferRows {
				chunk := &s.chunks[s.chunkWith(listPrefix(w.FirstDemo.Partner)(w))]
				rows, err := store.DecodeListed(chunk.lines)
				fixture.Must(p.T, err)
				if len(rows) == 2 { // the rows of a transaction and of the return that reverses it
					chunk.lines = store.EncodeListed(store.EncodeListed(nil, rows[1]), rows[0])
					writeBufferRows(p, s)
					return
				}
			}
		})
	}, []int{4}, "out of the order of booking"},

	{"a last part that is missing", corruptAfter(withTwoParts, func(_ *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) {
		removeBufferRows(p, newestRows(bufferRows)[1])
	}), []int{2}, "has no line"},
	{"a first part that is missing", corruptAfter(withTwoParts, func(_ *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) {
		removeBufferRows(p, newestRows(bufferRows)[0])
	}), []int{2, 5}, ""},
	{"a part with too high a number", corruptAfter(withTwoParts, func(_ *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) {
		s := newestRows(bufferRows)[1]
		removeBufferRows(p, s)
		s.Part++
		writeBufferRows(p, s)
	}), []int{5}, "does not follow another"},
	{"parts out of order", corruptAfter(withTwoParts, func(_ *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) {
		parts := newestRows(bufferRows)
		parts[0].chunks, parts[1].chunks = parts[1].chunks, parts[0].chunks
		writeBufferRows(p, parts...)
	}), []int{2}, "out of the order of booking"},
	{"two groups in reverse order", corruptAfter(withTwoPairs, func(_ *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) {
		a, b := bufferRows[len(bufferRows)-2], bufferRows[len(bufferRows)-1]
		a.chunks, b.chunks = b.chunks, a.chunks
		writeBufferRows(p, a, b)
	}), []int{5}, "booked before those of group"},
	{"a row of a group that does not exist", corruptAfter(withTwoPairs, func(_ *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) {
		s := newestRows(bufferRows)[0]
		removeBufferRows(p, s)
		s.Group += 9
		writeBufferRows(p, s)
	}), []int{5}, "was the last"},
	{"a row of no group", corruptAfter(withTraffic, func(_ *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) {
		s := newestRows(bufferRows)[0]
		s.Group = 0
		writeBufferRows(p, s)
	}), []int{2, 5}, ""},
	{"a row twice", corruptAfter(withTwoPairs, func(_ *fixture.Store, p *fixture.Corrupter, bufferRows []bufferRow) {
		s := bufferRows[len(bufferRows)-2]
		s.Group, s.Part = s.Group+1, 1
		writeBufferRows(p, s)
	}), []int{2, 5}, ""},
}

// removeFromList removes a row of a charged payment from the list of the payment's partner: the row of the payment's
// creation or, if isCreation is false, that of its last change.
func removeFromList(t *testing.T, w *fixture.Store, isCreation bool) {
	t.Helper()
	w.Corrupt(t, func(p *fixture.Corrupter) {
		list := listPrefix(w.FirstDemo.Partner)(w)
		for _, s := range rowsWithLines(bufferRowsOf(p, w.FirstDemo.Org), list) {
			chunkIndex := s.chunkWith(list)
			rows, err := store.DecodeListed(s.chunks[chunkIndex].lines)
			fixture.Must(t, err)
			if len(rows) == 1 && rows[0].ID == w.ChargedPayment.ID && rows[0].IsCreation == isCreation {
				s.chunks = slices.Delete(s.chunks, chunkIndex, chunkIndex+1)
				if writeBufferRows(p, s); len(s.chunks) == 0 {
					removeBufferRows(p, s)
				}
			}
		}
	})
}
