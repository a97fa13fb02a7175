package snapshots_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/clock"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots"
)

// What the daybook has of these is on a page too: the oldest rows of an account
// with much traffic, and of a partner's list who makes many payments.
var carriedFaults = []fault{
	{"a carried line of another amount, with its total", after(withTraffic, func(w *town, p *planter, all []sheet) {
		s := withLines(all, onBench(1)(w))[5]
		part := &s.sections[s.find(onBench(1)(w))]
		part.lines = onLine(dearer)(p, part.lines)
		p.lay(s)
	}), []int{2}, "that its pages have otherwise"},
	{"a carried line twice in its row", after(withTraffic, func(w *town, p *planter, all []sheet) {
		s := withLines(all, onBench(1)(w))[5]
		at := s.find(onBench(1)(w))
		s.sections = slices.Insert(s.sections, at, s.sections[at])
		p.lay(s)
	}), []int{2}, "out of the order of booking"},
	{"a carried section of another account", after(withTraffic, func(w *town, p *planter, all []sheet) {
		s := withLines(all, onBench(1)(w))[5]
		s.sections[s.find(onBench(1)(w))].prefix = onFees(w)
		p.lay(s)
	}), []int{2}, ""}, // the fees have nothing on a page after it, and so a line of no event
	{"a carried row of a list with another transaction", inSheet(listOf(4), 5, onRow(func(l *store.Listed) { l.ID = uuid.New() })), []int{4}, "that its pages have otherwise"},
	{"a page that lacks a line of those carried", after(withTraffic, func(w *town, p *planter, _ []sheet) {
		keys, rows := p.rows(onBench(1)(w))
		var left []byte
		n := 0
		must(p.t, store.DecodePage(rows[1], func(l *store.Line) (bool, error) {
			if n++; n != 5 {
				left = store.EncodeLine(left, l)
			}
			return true, nil
		}))
		p.group.Set(keys[1], left)
	}), []int{2}, ""},
	{"a line that is on a page and in the daybook, after others that only the daybook has", after(withTraffic, func(w *town, p *planter, all []sheet) {
		s := newest(all)[0]
		lines := s.sections[s.find(onBench(1)(w))].lines
		first, _, err := store.Span('p', lines)
		must(p.t, err)
		p.group.Set(store.KeyPage(nil, w.first.Org, benched(1), first), lines)
	}), []int{2}, ""},
	{"a row of a list that is on a page and in the daybook, after others that only the daybook has", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			list := listOf(w.first.Partner)(w)
			all := withLines(p.sheets(w.first.Org), list)
			s := all[len(all)-1]
			lines := s.sections[s.find(list)].lines
			first, _, err := store.Span('l', lines)
			must(t, err)
			p.group.Set(store.KeyList(nil, w.first.Org, w.first.Partner, 1, first), lines)
		})
	}, []int{4}, ""},
	{"a row that comes back in another group", func(t *testing.T, w *town) {
		row := w.workedOff(t)
		w.plant(t, func(p *planter) {
			row.Group, row.Part = newest(p.sheets(w.first.Org))[0].Group, 1
			p.lay(row)
		})
	}, []int{2, 5}, ""},
	{"a row that comes back in its group with another amount", func(t *testing.T, w *town) {
		row := w.workedOff(t)
		w.plant(t, func(p *planter) {
			row.sections[0].lines = onLine(dearer)(p, row.sections[0].lines)
			p.lay(row)
		})
	}, []int{2}, "that its pages have otherwise"},

	// These are what a sound store may be: the first until the row was removed, and
	// where there is no room for that yet; the second if the line was carried when no
	// other had gathered. Everybody reads the same of them.
	{"a row that comes back in its group", func(t *testing.T, w *town) {
		row := w.workedOff(t)
		w.plant(t, func(p *planter) { p.lay(row) })
	}, nil, ""},
	{"a line that is on a page and in the daybook, before others that only the daybook has", func(t *testing.T, w *town) {
		w.traffic(t, 4, 1, 2)
		w.plant(t, func(p *planter) {
			s := withLines(p.sheets(w.first.Org), onBench(1)(w))[0]
			lines := s.sections[s.find(onBench(1)(w))].lines
			first, _, err := store.Span('p', lines)
			must(t, err)
			p.group.Set(store.KeyPage(nil, w.first.Org, benched(1), first), lines)
		})
	}, nil, ""},
}

// workedOff has all lines of a group carried and its row removed, and returns the row.
func (w *town) workedOff(t *testing.T) (row sheet) {
	t.Helper()
	w.traffic(t, 2, 1, 2)
	w.reads(t, func(p *planter) { row = newest(p.sheets(w.first.Org))[0] })
	w.days = 3
	w.traffic(t, 8, 1, 2)
	w.reads(t, func(p *planter) {
		left := p.sheets(w.first.Org)
		if len(left) != 3 || slices.ContainsFunc(left, func(s sheet) bool { return s.Group <= row.Group }) {
			t.Fatalf("%d rows are left, the first of group %d", len(left), left[0].Group)
		}
	})
	return row
}

// reads looks at the rows of the closed store.
func (w *town) reads(t *testing.T, look func(*planter)) {
	t.Helper()
	s, err := store.Open(options(w.dir))
	must(t, err)
	p := &planter{t: t, snap: s.Snapshot()}
	look(p)
	p.snap.Close()
	must(t, s.Close())
}

func TestEveryFaultOfADaybookBreaksItsRule(t *testing.T) {
	wantFaults(t, settle, daybookFaults)
	wantFaults(t, settle, carriedFaults)
}

// Who looks through a list from its end stops at the first row that is too old.
func TestAListWhosePagesOverlapBreaksItsRule(t *testing.T) {
	w := settleIn(t, onPages)
	w.plant(t, func(p *planter) {
		keys, rows := p.rows(listOf(w.first.Partner)(w))
		p.group.Set(keys[3], append(rows[3], rows[5]...))
		p.group.Delete(keys[5])
	})
	report := w.check(t, snapshots.Inputs{})
	wantBroken(t, report, 4)
	wantSaid(t, report, "is out of the order of booking")
}

// The ways to fill the daybook are what they are meant to be, and sound.
func TestWhatFillsTheDaybookIsSound(t *testing.T) {
	for name, c := range map[string]struct {
		fill func(*testing.T, *town)
		is   func(w *town, p *planter, all []sheet) bool
	}{
		"traffic carries lines that the daybook still has": {withTraffic, func(w *town, p *planter, all []sheet) bool {
			keys, _ := p.rows(onBench(1)(w))
			without := 2 // the group that made the account known, and the one that filled its page
			return len(keys) == 2 && len(withLines(all, onBench(1)(w))) == busy-without
		}},
		"so do the payments of a busy partner": {func(*testing.T, *town) {}, func(w *town, p *planter, all []sheet) bool {
			keys, _ := p.rows(listOf(4)(w))
			return len(keys) > 1 && len(withLines(all, listOf(4)(w))) > 100
		}},
		"a crowd is dealt into shares": {crowded, func(_ *town, _ *planter, all []sheet) bool {
			rows := newest(all)
			return len(rows) == 16 && rows[15].Share == 15
		}},
		"a long group has two parts": {long, func(_ *town, _ *planter, all []sheet) bool {
			rows := newest(all)
			return len(rows) == 2 && rows[1].Part == 1 && rows[1].Share == store.Undealt
		}},
		"two pairs are in two groups": {twoPairs, func(w *town, _ *planter, all []sheet) bool {
			a, b := all[len(all)-2], all[len(all)-1]
			return b.Group == a.Group+1 && a.find(onBench(1)(w)) >= 0 && b.find(onBench(3)(w)) >= 0
		}},
		"what is worked off is carried and removed": {func(t *testing.T, w *town) { w.workedOff(t) }, func(*town, *planter, []sheet) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			w := settle(t)
			c.fill(t, w)
			w.reads(t, func(p *planter) {
				if !c.is(w, p, p.sheets(w.first.Org)) {
					t.Error("the daybook is not what this test needs")
				}
			})
			wantBroken(t, w.check(t, snapshots.Inputs{}))
		})
	}
}

// A daybook that can't be taken apart is no store to go on with: what waits in it
// would be lost.
func TestADaybookThatCannotBeReadIsRefusedAtTheStart(t *testing.T) {
	of := func(change func(*sheet)) func(*town, *planter) {
		return func(w *town, p *planter) {
			s := newest(p.sheets(w.first.Org))[0]
			change(&s)
			p.lay(s)
		}
	}
	for name, plant := range map[string]func(*town, *planter){
		"a row of another form": func(w *town, p *planter) {
			p.group.Set(store.KeyDaybook(nil, newest(p.sheets(w.first.Org))[0].DayKey), []byte{0xff, 0xff})
		},
		"a row of an unknown share":       of(func(s *sheet) { s.Share = 77 }),
		"lines that are cut short":        of(func(s *sheet) { s.sections[0].lines = s.sections[0].lines[:3] }),
		"a section of an unknown account": of(func(s *sheet) { s.sections[0].prefix = s.sections[0].prefix[:20] }),
		"a page under what it has": func(w *town, p *planter) {
			keys, _ := p.rows(onBench(1)(w))
			p.group.Set(keys[0], []byte{0xff, 0xff, 0xff})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := settle(t)
			w.traffic(t, 2, 1, 2)
			w.plant(t, func(p *planter) { plant(w, p) })
			j, err := posting.Open(posting.Options{Store: options(w.dir), Clock: clock.NewManual(start), Log: quiet})
			if damage, ok := errors.AsType[*store.DamageError](err); !ok {
				if err == nil {
					err = j.Close()
				}
				t.Fatalf("opened with %v", err)
			} else if text := damage.Error(); strings.Count(text, "restore from a backup") != 1 {
				t.Errorf("it says %q", text)
			}
			if exit, said := refused(t, snapshots.VerifyConfig{Data: w.dir}); exit != 1 || !strings.HasPrefix(said, "mizan: storage: the store is damaged: ") {
				t.Errorf("exit %d, printed:\n%s", exit, said)
			}
		})
	}
}

func TestTheDigestCoversDaybooks(t *testing.T) {
	w := settle(t)
	row := w.workedOff(t)
	before := w.check(t, snapshots.Inputs{}).Digest
	w.plant(t, func(p *planter) { p.lay(row) })
	if after := w.check(t, snapshots.Inputs{}).Digest; after == before {
		t.Error("a row more has the digest of before")
	}
}
