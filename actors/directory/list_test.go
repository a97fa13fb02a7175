package directory

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
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
		f.newOrganization(fmt.Sprint("Org ", i)) // the clock stands still, so all organizations have the same time of creation
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
			x.put(ledger.ID{byte(i >> 8), byte(i), byte(1 - i&1)}, &directory.Organization{}, posting.RecordHeader{StartedAt: at})
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

func TestEachReadsAllRecordsFromTheNewest(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	partner := f.newPartner(org.ID, "shop")
	const n = recordsAtOnce + 3
	for range n {
		f.newTerminal(partner, ``)
	}
	listed, _ := readPages(t, MaxPage, func(p Page) ([]*directory.Terminal, Cursor, error) { return f.ListTerminals(org.ID, p) })
	for _, limit := range []int{n + 1, recordsAtOnce, 1} {
		var read []*directory.Terminal
		if err := f.EachTerminal(org.ID, func(terminal *directory.Terminal) bool {
			read = append(read, terminal)
			return len(read) < limit
		}); err != nil || !slices.Equal(read, listed[:min(limit, n)]) {
			t.Errorf("%d of %d terminals are read, or in another order: %v", len(read), limit, err)
		}
	}
	wantCode(t, "an unknown organization", f.EachPartner(ledger.ID{1}, func(*directory.Partner) bool { return true }), ledger.NotFound, "")
}

// The records of one partner are listed in the order of creation, page by page, also after records were added and after a
// user has moved to another partner.
func TestListsOfOnePartnerHaveItsRecordsOnly(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	var owners []*directory.Partner
	for i := range 4 {
		owners = append(owners, f.newPartner(org.ID, fmt.Sprint("p", i)))
	}
	var made [4][]ledger.ID // each partner's terminals, the oldest first
	for round := range 12 {
		owner := round * round % 4
		made[owner] = append(made[owner], f.newTerminal(owners[owner], ``).ID)
		for i, p := range owners {
			listed, pages := readPages(t, 2, func(page Page) ([]*directory.Terminal, Cursor, error) {
				page.Partner = p.Number
				return f.ListTerminals(org.ID, page)
			})
			var ids []ledger.ID
			for _, terminal := range slices.Backward(listed) {
				ids = append(ids, terminal.ID)
			}
			if !slices.Equal(ids, made[i]) || pages != max(1, (len(ids)+1)/2) {
				t.Fatalf("round %d: partner %d has terminals %v on %d pages, want %v", round, i, ids, pages, made[i])
			}
		}
	}
	draft := directory.User{Login: "ira", Name: "Ira", Roles: directory.Roles{"partner"}, Partner: owners[1].Number, Active: true}
	user := must(f.CreateUser(t.Context(), org.ID, draft, []byte(goodPass)))
	usersOf := func(p *directory.Partner) int {
		listed, _, err := f.ListUsers(org.ID, Page{Partner: p.Number})
		if err != nil {
			t.Fatal(err)
		}
		return len(listed)
	}
	if usersOf(owners[1]) != 1 || usersOf(owners[2]) != 0 {
		t.Error("a new user is not listed with its partner")
	}
	must(f.PatchUser(t.Context(), org.ID, user.ID, func(u *directory.User, _ *schema.Faults) { u.Partner = owners[2].Number }, nil))
	if usersOf(owners[1]) != 0 || usersOf(owners[2]) != 1 {
		t.Error("a user that has moved to another partner is listed with the old one")
	}
}

// A record that comes before others in the order of creation, and was published later, is listed too.
func TestRecordInsertedBeforeOthersIsListedWithItsPartner(t *testing.T) {
	var x index[directory.Terminal]
	for i, started := range []ledger.Micros{10, 30, 20, 40, 5} {
		x.put(uuid.New(), &directory.Terminal{Partner: int64(1 + i%2)}, posting.RecordHeader{StartedAt: started})
		for partner := range int64(3) {
			var want []creation
			for _, c := range x.inCreationOrder() {
				if r, _ := x.get(c.id); r.record().Partner == partner {
					want = append(want, c)
				}
			}
			if got := x.ofPartner(partner, func(t *directory.Terminal) int64 { return t.Partner }); !slices.Equal(got, want) {
				t.Errorf("after %d records partner %d has %v, want %v", i+1, partner, got, want)
			}
		}
	}
}
