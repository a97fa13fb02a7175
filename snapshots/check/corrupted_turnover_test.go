package check_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	"mizan/actors/follower"
	turnoveractor "mizan/actors/turnover"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/turnover"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// makeTurnover counts all events and stores the figures, as a server does.
func makeTurnover(t *testing.T, w *fixture.Store) {
	t.Helper()
	manual := clock.NewManual(fixture.StartTime.Add(100 * 24 * time.Hour))
	j := fixture.OpenJournal(t, w, manual, nil)
	runtime := actors.New(actors.Options{Clock: manual, Journal: j, Log: fixture.NoLog})
	runtime.Start(func(posting.DueItem) bool { return false })
	f := follower.New(runtime)
	turnoveractor.New(f, 0)
	fixture.Must(t, f.Follow())
	runtime.Stop()
	fixture.Must(t, j.Close())
}

// turnoverRow is a stored row with the turnover of the first partner on one day.
type turnoverRow struct {
	place turnover.PartnerDay
	*turnover.Row
}

// storedTurnover returns the first organization's stored turnover rows.
func storedTurnover(p *fixture.Corrupter, w *fixture.Store) (rows []turnoverRow) {
	p.T.Helper()
	keys, values := p.Rows(store.KeyKV(nil, w.FirstDemo.Org, turnover.PartnerRowPrefix(fixture.USD.Env, 0)))
	for i := range keys {
		place, err := turnover.ParseKey(store.KVKey(keys[i]))
		fixture.Must(p.T, err)
		row, err := turnover.Decode(values[i])
		fixture.Must(p.T, err)
		rows = append(rows, turnoverRow{place, row})
	}
	if len(rows) == 0 {
		p.T.Fatal("nothing is counted")
	}
	return rows
}

func setTurnover(p *fixture.Corrupter, w *fixture.Store, r turnoverRow) {
	p.Group.Set(store.KeyKV(nil, w.FirstDemo.Org, r.place.Key()), r.Encode())
}

// anyFigures returns the figures in a turnover row of some key that has charges.
func anyFigures(p *fixture.Corrupter, r turnoverRow) *turnover.Figures {
	p.T.Helper()
	for _, figures := range r.Day {
		if figures.Charges.Count > 0 {
			return figures
		}
	}
	p.T.Fatal("nothing was charged")
	return nil
}

func TestSoundTurnoverBreaksNoRule(t *testing.T) {
	w := fixture.Copy(t)
	before := w.Check(t, check.Inputs{})
	makeTurnover(t, w)
	after := w.Check(t, check.Inputs{})
	fixture.WantBroken(t, after)
	if countOf(after, 2) <= countOf(before, 2) {
		t.Error("nothing was compared")
	}
	if after.Digest != before.Digest {
		t.Error("the digest covers turnover, which a server may count later")
	}
	// A server may count an event some time after it was booked.
	w.Submit(t, settlement(w.FirstDemo.Org, 1, false, 5, 0))
	decider, request := decisionFor(w, "later")
	rejected := decider.Reject(fixture.NewID(), 1, request, payment.Failure{Code: payment.UnexpectedCard})
	w.Submit(t, changeFor(w.FirstDemo.Org, &rejected, 0, txidClaim(w.FirstDemo.Org, 1, rejected.Record)))
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
	// A crash may happen before the row with the progress is written.
	w.Corrupt(t, func(p *fixture.Corrupter) { p.Group.Delete(store.KeyKV(nil, w.FirstDemo.Org, turnover.RowPrefix())) })
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
}

func TestEveryWrongTurnoverIsFound(t *testing.T) {
	for _, c := range []struct {
		name, wantText string
		change         func(p *fixture.Corrupter, w *fixture.Store, row turnoverRow)
	}{
		{"an amount that is one more", "differs from what its events give", func(p *fixture.Corrupter, w *fixture.Store, row turnoverRow) {
			f := anyFigures(p, row)
			f.Charges.Amount = fixture.MustAdd(f.Charges.Amount, 1)
			setTurnover(p, w, row)
		}},
		{"a charge that is counted as declined", "differs from what its events give", func(p *fixture.Corrupter, w *fixture.Store, row turnoverRow) {
			f := anyFigures(p, row)
			f.Charges.Count--
			f.DeclineCounts[10]++
			setTurnover(p, w, row)
		}},
		{"an event that was not counted", "lacks event", func(p *fixture.Corrupter, w *fixture.Store, row turnoverRow) {
			row.Seq--
			setTurnover(p, w, row)
		}},
		{"a seq that is too high", "differs from what its events give", func(p *fixture.Corrupter, w *fixture.Store, row turnoverRow) {
			row.Seq += 1_000_000
			setTurnover(p, w, row)
		}},
		{"a missing day", "lacks event", func(p *fixture.Corrupter, w *fixture.Store, row turnoverRow) {
			p.Group.Delete(store.KeyKV(nil, w.FirstDemo.Org, row.place.Key()))
		}},
		{"a day on which nothing happened", "1 rows of turnover are of days on which nothing is counted", func(p *fixture.Corrupter, w *fixture.Store, row turnoverRow) {
			row.place.Day++
			setTurnover(p, w, row)
		}},
		{"a partner's day under another partner", "of days on which nothing is counted", func(p *fixture.Corrupter, w *fixture.Store, row turnoverRow) {
			row.place.Partner = 77
			setTurnover(p, w, row)
		}},
		{"a row that cannot be read", "unknown form", func(p *fixture.Corrupter, w *fixture.Store, row turnoverRow) {
			p.Group.Set(store.KeyKV(nil, w.FirstDemo.Org, row.place.Key()), []byte{9})
		}},
		{"a row with another key", "has the key 7609", func(p *fixture.Corrupter, w *fixture.Store, row turnoverRow) {
			p.Group.Set(store.KeyKV(nil, w.FirstDemo.Org, []byte{'v', 9}), row.Encode())
		}},
		{"events that do not exist", "which does not exist", func(p *fixture.Corrupter, w *fixture.Store, _ turnoverRow) {
			key, row := turnover.EncodePosition(1_000_000)
			p.Group.Set(store.KeyKV(nil, w.FirstDemo.Org, key), row)
		}},
		{"an organization that does not exist", "of days on which nothing is counted", func(p *fixture.Corrupter, w *fixture.Store, row turnoverRow) {
			p.Group.Set(store.KeyKV(nil, ledger.ID{77}, row.place.Key()), row.Encode())
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := fixture.Copy(t)
			makeTurnover(t, w)
			w.Corrupt(t, func(p *fixture.Corrupter) { c.change(p, w, storedTurnover(p, w)[0]) })
			report := w.Check(t, check.Inputs{})
			fixture.WantBroken(t, report, 2)
			if text := report.Rules[1].Details; !slices.ContainsFunc(text, func(detail string) bool { return strings.Contains(detail, c.wantText) }) {
				t.Errorf("it says %q, want %q", text, c.wantText)
			}
		})
	}
}
