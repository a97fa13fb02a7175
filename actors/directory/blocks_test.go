package directory

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

const testFingerprint = "0123456789abcdef0123456789abcdef"

func (f *fixture) newBlock(org ledger.ID, kind directory.BlockKind, value string) *directory.Block {
	f.t.Helper()
	return must(f.CreateBlock(f.t.Context(), org, directory.BlockDraft{Kind: kind, Value: value, Masked: "424242******4242"}))
}

// wantBlocked checks which kind of entry blocks the payer; an empty want means that none does.
func (f *fixture) wantBlocked(org ledger.ID, p directory.Payer, want string) {
	f.t.Helper()
	kind, blocked := f.Blocked(org, &p)
	if kind != want || blocked != (want != "") {
		f.t.Errorf("%+v: blocked by %q %v, want %q", p, kind, blocked, want)
	}
}

// fullPayer returns a payer with every field set.
func fullPayer() directory.Payer {
	return directory.Payer{
		BIN: []byte("42424242"), Card: testFingerprint, Email: "a@b.c", Phone: "74951234567", Country: "RU", IP: netip.MustParseAddr("192.0.2.7"),
	}
}

func TestPayerIsCheckedAgainstEachKind(t *testing.T) {
	f := open(t)
	for kind, values := range map[directory.BlockKind][]string{
		directory.BlockBIN:     {"424242", "4242424", "42424242"},
		directory.BlockCard:    {testFingerprint},
		directory.BlockEmail:   {"A@b.C"},
		directory.BlockPhone:   {"+7 495 123-45-67"},
		directory.BlockIP:      {"192.0.2.7", "192.0.2.0/24", "::ffff:192.0.2.7"},
		directory.BlockCountry: {"ru"},
	} {
		for _, value := range values {
			o := f.newOrganization(string(kind))
			f.wantBlocked(o.ID, fullPayer(), "")
			b := f.newBlock(o.ID, kind, value)
			f.wantBlocked(o.ID, fullPayer(), string(kind))
			f.wantBlocked(o.ID, directory.Payer{}, "")
			f.wantBlocked(o.ID, directory.Payer{
				BIN: []byte("42424142"), Card: strings.Repeat("0", 32), Email: "b@b.c", Phone: "4951234567", Country: "KZ", IP: netip.MustParseAddr("192.0.3.7"),
			}, "")
			must(f.DeleteBlock(t.Context(), o.ID, b.ID))
			f.wantBlocked(o.ID, fullPayer(), "")
		}
	}
}

func TestFirstMatchingKindIsReturned(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	listed := []struct {
		kind  directory.BlockKind
		value string
	}{{"country", "RU"}, {"ip", "192.0.0.0/16"}, {"phone", "74951234567"}, {"email", "a@b.c"}, {"card", testFingerprint}, {"bin", "4242424"}}
	for _, entry := range listed {
		f.newBlock(org.ID, entry.kind, entry.value)
		f.wantBlocked(org.ID, fullPayer(), string(entry.kind))
	}
	shortBIN := fullPayer()
	shortBIN.BIN = []byte("424242")
	f.wantBlocked(org.ID, shortBIN, "card")
	f.restart()
	f.wantBlocked(org.ID, fullPayer(), "bin")
	for i := len(listed) - 1; i > 0; i-- {
		must(f.DeleteBlock(t.Context(), org.ID, directory.BlockID(org.ID, listed[i].kind, listed[i].value)))
		f.wantBlocked(org.ID, fullPayer(), string(listed[i-1].kind))
	}
}

func TestEachOrganizationHasItsOwnBlocklist(t *testing.T) {
	f := open(t)
	firstOrg, secondOrg := f.newOrganization("One"), f.newOrganization("Two")
	b := f.newBlock(firstOrg.ID, directory.BlockCountry, "RU")
	if !f.HasBlocks(firstOrg.ID) || f.HasBlocks(secondOrg.ID) || f.HasBlocks(uuid.New()) {
		t.Error("a list has entries of another one")
	}
	f.wantBlocked(secondOrg.ID, fullPayer(), "")
	f.wantBlocked(uuid.New(), fullPayer(), "")
	_, err := f.Block(secondOrg.ID, b.ID)
	wantCode(t, "reading", err, ledger.NotFound, "")
	_, err = f.DeleteBlock(t.Context(), secondOrg.ID, b.ID)
	wantCode(t, "deletion", err, ledger.NotFound, "")
	_, err = f.Block(uuid.New(), b.ID)
	wantCode(t, "no organization", err, ledger.NotFound, "")
	must(f.DeleteBlock(t.Context(), firstOrg.ID, b.ID))
	if f.HasBlocks(firstOrg.ID) {
		t.Error("an empty list has entries")
	}
}

func TestValueIsListedOnceAndCanBeListedAgain(t *testing.T) {
	f := open(t)
	ctx, org := t.Context(), f.newOrganization("One")
	first := f.newBlock(org.ID, directory.BlockEmail, "a@b.c")
	for _, same := range []string{"a@b.c", "A@B.C"} {
		_, err := f.CreateBlock(ctx, org.ID, directory.BlockDraft{Kind: directory.BlockEmail, Value: same})
		wantCode(t, same, err, ledger.Conflict, "")
	}
	if err := f.Clock.Set(startTime.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	deleted := must(f.DeleteBlock(ctx, org.ID, first.ID))
	if deleted.Active || deleted.CreatedAt != first.CreatedAt || deleted.UpdatedAt != ledger.MicrosOf(startTime.Add(time.Minute)) {
		t.Errorf("%+v after %+v", deleted, first)
	}
	if again := must(f.DeleteBlock(ctx, org.ID, first.ID)); *again != *deleted {
		t.Errorf("%+v, then %+v", deleted, again)
	}
	if found := must(f.Block(org.ID, first.ID)); *found != *deleted {
		t.Errorf("%+v, read %+v", deleted, found)
	}
	f.restart()
	f.wantBlocked(org.ID, fullPayer(), "")
	relisted := f.newBlock(org.ID, directory.BlockEmail, "a@b.c")
	if relisted.ID != first.ID || !relisted.Active || relisted.CreatedAt != first.CreatedAt || relisted.UpdatedAt < deleted.UpdatedAt {
		t.Errorf("%+v after %+v", relisted, deleted)
	}
	f.wantBlocked(org.ID, fullPayer(), "email")
	if got, want := fmt.Sprint(f.events(org.ID)), "[o:create z:create z:deactivate z:activate]"; got != want {
		t.Errorf("journal %s, want %s", got, want)
	}
}

// If many requests list the same value at once, one succeeds and the others get a Conflict.
func TestConcurrentCreatesMakeOneEntry(t *testing.T) {
	f := open(t)
	o := f.newOrganization("One")
	var wait sync.WaitGroup
	results := make(chan error, 32)
	for range cap(results) {
		wait.Go(func() {
			_, err := f.CreateBlock(t.Context(), o.ID, directory.BlockDraft{Kind: directory.BlockCountry, Value: "RU"})
			results <- err
		})
	}
	wait.Wait()
	listed := 0
	for range cap(results) {
		if err := <-results; err == nil {
			listed++
		} else {
			wantCode(t, "the value", err, ledger.Conflict, "")
		}
	}
	if listed != 1 {
		t.Errorf("listed %d times", listed)
	}
}

func TestRefusedBlocks(t *testing.T) {
	f := open(t)
	ctx, org := t.Context(), f.newOrganization("One")
	b := f.newBlock(org.ID, directory.BlockCountry, "KZ")
	_, err := f.CreateBlock(ctx, org.ID, directory.BlockDraft{Kind: "name", Value: "x"})
	wantCode(t, "kind", err, ledger.Invalid, "kind")
	_, err = f.CreateBlock(ctx, org.ID, directory.BlockDraft{Kind: directory.BlockIP, Value: "192.0.2.0/33"})
	wantCode(t, "prefix", err, ledger.Invalid, "value")
	_, err = f.CreateBlock(ctx, uuid.New(), directory.BlockDraft{Kind: directory.BlockCountry, Value: "RU"})
	wantCode(t, "no organization", err, ledger.NotFound, "")
	_, err = f.DeleteBlock(ctx, org.ID, uuid.New())
	wantCode(t, "no entry", err, ledger.NotFound, "")
	_, _, err = f.ListBlocks(uuid.New(), BlockPage{})
	wantCode(t, "a list of no organization", err, ledger.NotFound, "")
	_, _, err = f.ListBlocks(org.ID, BlockPage{Limit: MaxPage + 1})
	wantCode(t, "a long page", err, ledger.Invalid, "limit")
	archived := directory.Archived
	must(f.PatchOrganization(ctx, org.ID, func(r *directory.Organization, _ *schema.Faults) { r.Status = archived }))
	_, err = f.CreateBlock(ctx, org.ID, directory.BlockDraft{Kind: directory.BlockCountry, Value: "RU"})
	wantCode(t, "in an archived organization", err, ledger.Conflict, "")
	_, err = f.DeleteBlock(ctx, org.ID, b.ID)
	wantCode(t, "in an archived organization", err, ledger.Conflict, "")
	if got, want := fmt.Sprint(f.events(org.ID)), "[o:create z:create o:archive]"; got != want {
		t.Errorf("journal %s, want %s", got, want)
	}
}

// commitBlocks commits the given number of entries in few Changes, without the service.
func (f *fixture) commitBlocks(org ledger.ID, kind directory.BlockKind, count int, value func(i int) string) {
	f.t.Helper()
	change := posting.Change{Author: ledger.BySystem.Author()}
	for i := range count {
		b, event, err := directory.NewBlock(org, directory.BlockDraft{Kind: kind, Value: value(i)})
		if err != nil {
			f.t.Fatal(err)
		}
		change.Steps = append(change.Steps, stepWithoutSecrets(directory.Blocks, org, 0, b, event))
		if len(change.Steps) == 100 || i == count-1 {
			if err := f.commit(&change); err != nil {
				f.t.Fatal(err)
			}
			change = posting.Change{Author: ledger.BySystem.Author()}
		}
	}
}

func TestMaximumOfAddressRanges(t *testing.T) {
	f := open(t)
	ctx, org := t.Context(), f.newOrganization("One")
	prefix := func(i int) string { return fmt.Sprintf("10.%d.%d.0/24", i/256, i%256) }
	f.commitBlocks(org.ID, directory.BlockIP, 999, prefix)
	f.restart()
	last := f.newBlock(org.ID, directory.BlockIP, prefix(999))
	_, err := f.CreateBlock(ctx, org.ID, directory.BlockDraft{Kind: directory.BlockIP, Value: prefix(1000)})
	wantCode(t, "one prefix too many", err, ledger.Conflict, "")
	f.newBlock(org.ID, directory.BlockIP, "192.0.2.7") // a single address is not a range
	f.wantBlocked(org.ID, directory.Payer{IP: netip.MustParseAddr("10.3.231.200")}, "ip")
	f.wantBlocked(org.ID, directory.Payer{IP: netip.MustParseAddr("10.3.232.200")}, "")
	must(f.DeleteBlock(ctx, org.ID, last.ID))
	f.wantBlocked(org.ID, directory.Payer{IP: netip.MustParseAddr("10.3.231.200")}, "")
	f.newBlock(org.ID, directory.BlockIP, prefix(1000))
}

// Writing a million entries would take minutes, so the test sets the counter of entries directly.
func TestMaximumOfEntries(t *testing.T) {
	f := open(t)
	o := f.newOrganization("One")
	orgView, _ := f.org(o.ID)
	orgView.blocks.activeCount.Add(directory.MaxBlocks - 1)
	f.newBlock(o.ID, directory.BlockCountry, "RU")
	_, err := f.CreateBlock(t.Context(), o.ID, directory.BlockDraft{Kind: directory.BlockCountry, Value: "KZ"})
	wantCode(t, "one entry too many", err, ledger.Conflict, "")
	must(f.DeleteBlock(t.Context(), o.ID, directory.BlockID(o.ID, directory.BlockCountry, "RU")))
	f.newBlock(o.ID, directory.BlockCountry, "KZ")
}

func TestListBlocksShowsActiveEntries(t *testing.T) {
	f := open(t)
	ctx, org := t.Context(), f.newOrganization("One")
	countries := []string{"AD", "BB", "CC", "DE", "EE"}
	for i, value := range countries {
		f.newBlock(org.ID, directory.BlockCountry, value)
		f.newBlock(org.ID, directory.BlockBIN, fmt.Sprint(424242+i))
	}
	must(f.DeleteBlock(ctx, org.ID, directory.BlockID(org.ID, directory.BlockCountry, "BB")))
	must(f.DeleteBlock(ctx, org.ID, directory.BlockID(org.ID, directory.BlockCountry, "DE")))
	f.newBlock(org.ID, directory.BlockCountry, "DE") // the entry is listed at its old place
	want := map[directory.BlockKind]string{
		directory.BlockCountry: "EE DE CC AD ", directory.BlockBIN: "424246 424245 424244 424243 424242 ", directory.BlockCard: "",
		"": "424246 EE 424245 DE 424244 CC 424243 424242 AD ",
	}
	wantListed := func() {
		t.Helper()
		for kind, values := range want {
			blocks, _ := readPages(t, 2, func(p Page) ([]*directory.Block, Cursor, error) {
				return f.ListBlocks(org.ID, BlockPage{Kind: kind, Limit: p.Limit, After: p.After})
			})
			got := ""
			for _, b := range blocks {
				got += b.Value + " "
			}
			if got != values {
				t.Errorf("%q: %s, want %s", kind, got, values)
			}
		}
	}
	wantListed()
	f.restart()
	wantListed()
}

// Entries that are created and deleted again and again do not accumulate in memory.
func TestInactiveListingsAreDropped(t *testing.T) {
	f := open(t)
	o := f.newOrganization("One")
	activeBlock := f.newBlock(o.ID, directory.BlockCountry, "RU")
	orgView, _ := f.org(o.ID)
	for i := range 3 * maxInactive {
		b := f.newBlock(o.ID, directory.BlockBIN, fmt.Sprint(400000+i))
		must(f.DeleteBlock(t.Context(), o.ID, b.ID))
		if n := len(orgView.blocks.inCreationOrder()); n > 2+maxInactive {
			t.Fatalf("%d listings for one entry", n)
		}
	}
	rows, _, err := f.ListBlocks(o.ID, BlockPage{})
	if err != nil || len(rows) != 1 || rows[0].ID != activeBlock.ID {
		t.Errorf("%v %v", rows, err)
	}
}

// The blocklist changes while payers are checked against it.
func TestBlocklistChangesDuringLookups(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	f.newBlock(org.ID, directory.BlockCountry, "RU")
	done := make(chan struct{})
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, blocked := f.Blocked(org.ID, &directory.Payer{Country: "RU", IP: netip.MustParseAddr("10.0.0.1")}); !blocked {
					t.Error("a payer slipped through")
				}
				if _, _, err := f.ListBlocks(org.ID, BlockPage{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		b := f.newBlock(org.ID, directory.BlockIP, "10.0.0.0/8")
		must(f.DeleteBlock(t.Context(), org.ID, b.ID))
	}
	close(done)
	wait.Wait()
}
