package directory

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// readPages reads a whole list and returns its rows and how many pages it had. Cursors are converted to text and
// back, as on the wire.
func readPages[R any](t *testing.T, limit int, list func(Page) ([]R, Cursor, error)) (all []R, count int) {
	t.Helper()
	p := Page{Limit: limit}
	for {
		rows, next, err := list(p)
		if err != nil {
			t.Fatal(err)
		}
		all, count = append(all, rows...), count+1
		if next.IsZero() {
			return all, count
		}
		if p.After, err = ParseCursor(next.String()); err != nil || p.After != next {
			t.Fatalf("cursor %s: %v", next, err)
		}
	}
}

func TestListsAreNewestFirst(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	for i := range 7 {
		p := f.newPartner(org.ID, fmt.Sprint("p", i))
		f.newTerminal(p, ``)
		f.issueKey(p)
	}
	for range 2 { // before and after a restart
		partners, count := readPages(t, 3, func(p Page) ([]*directory.Partner, Cursor, error) { return f.ListPartners(org.ID, p) })
		if len(partners) != 7 || count != 3 {
			t.Errorf("%d partners on %d pages", len(partners), count)
		}
		for i, p := range partners {
			if p.Login != fmt.Sprint("p", 6-i) {
				t.Errorf("row %d is %s", i, p.Login)
			}
		}
		terminals, _ := readPages(t, 7, func(p Page) ([]*directory.Terminal, Cursor, error) { return f.ListTerminals(org.ID, p) })
		keys, count := readPages(t, 1, func(p Page) ([]*directory.APIKey, Cursor, error) { return f.ListAPIKeys(org.ID, p) })
		if len(terminals) != 7 || len(keys) != 7 || count != 7 || terminals[0].Partner != partners[0].Number || keys[6].Partner != partners[6].Number {
			t.Errorf("%d terminals, %d keys on %d pages", len(terminals), len(keys), count)
		}
		ownKeys, _ := readPages(t, 1, func(p Page) ([]*directory.APIKey, Cursor, error) {
			p.Partner = partners[3].Number
			return f.ListAPIKeys(org.ID, p)
		})
		if len(ownKeys) != 1 || ownKeys[0].Partner != partners[3].Number {
			t.Errorf("a partner's own keys: %d", len(ownKeys))
		}
		f.restart()
	}
}

func TestOrganizationsOfOneInstantAreAllListed(t *testing.T) {
	f := open(t)
	const n = 9
	for i := range n {
		f.newOrganization(fmt.Sprint("Org ", i)) // the clock stands still, so all have the same time of creation
	}
	listed := make(map[ledger.ID]bool)
	all, _ := readPages(t, 2, f.ListOrganizations)
	for _, o := range all {
		listed[o.ID] = true
	}
	if len(all) != n || len(listed) != n {
		t.Errorf("%d rows, %d organizations", len(all), len(listed))
	}
	if err := f.Clock.Set(startTime.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	newest := f.newOrganization("Newest")
	if rows, _, err := f.ListOrganizations(Page{Limit: 1}); err != nil || rows[0] != newest {
		t.Error("the newest isn't first", rows, err)
	}
}

func TestListsRefuseInvalidPagesAndUnknownOrganizations(t *testing.T) {
	f := open(t)
	for _, limit := range []int{-1, MaxPage + 1} {
		_, _, err := f.ListOrganizations(Page{Limit: limit})
		wantCode(t, fmt.Sprint(limit), err, ledger.Invalid, "limit")
	}
	if rows, next, err := f.ListOrganizations(Page{Limit: MaxPage}); err != nil || len(rows) != 0 || !next.IsZero() {
		t.Error(rows, next, err)
	}
	for name, list := range map[string]func() error{
		"partners":  func() error { _, _, err := f.ListPartners(ledger.ID{1}, Page{}); return err },
		"terminals": func() error { _, _, err := f.ListTerminals(ledger.ID{1}, Page{}); return err },
		"rates":     func() error { _, _, err := f.ListRates(ledger.ID{1}, Page{}); return err },
		"keys":      func() error { _, _, err := f.ListAPIKeys(ledger.ID{1}, Page{}); return err },
	} {
		wantCode(t, name, list(), ledger.NotFound, "")
	}
}

func TestCursorIsWrittenAndParsed(t *testing.T) {
	c := Cursor{At: ledger.MicrosOf(startTime), ID: ledger.ID{1}}
	if got := c.String(); got != "2026-09-03T10:15:30.123456+00:00/01000000-0000-0000-0000-000000000000" {
		t.Error(got)
	}
	if got, err := ParseCursor("2026-09-03T10:15:30.123456+00:00"); err != nil || got != (Cursor{At: c.At}) {
		t.Error(got, err)
	}
	for _, bad := range []string{"", "now", "2026-09-03", "2026-09-03T10:15:30Z/", "2026-09-03T10:15:30Z/01000000000000000000000000000000", c.String() + "x"} {
		_, err := ParseCursor(bad)
		wantCode(t, bad, err, ledger.Invalid, "cursor")
	}
}

// A reader's order is a snapshot: it does not change while records are added.
func TestListsStayOrderedDuringConcurrentCreates(t *testing.T) {
	var x index[directory.Organization]
	const n = 2000
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range n {
			at := ledger.Micros(i &^ 1) // pairs in the same microsecond, the greater id first
			x.put(ledger.ID{byte(i >> 8), byte(i), byte(1 - i&1)}, &directory.Organization{}, posting.Stamp{Started: at})
		}
	})
	for range 2 {
		wait.Go(func() {
			for len(x.inCreationOrder()) < n {
				order := x.inCreationOrder()
				for i := 1; i < len(order); i++ {
					if compareCreation(order[i-1], order[i]) >= 0 {
						t.Errorf("position %d is out of order", i)
						return
					}
				}
				for _, s := range order {
					if _, ok := x.get(s.id); !ok {
						t.Error("an id without a record")
						return
					}
				}
			}
		})
	}
	wait.Wait()
}
