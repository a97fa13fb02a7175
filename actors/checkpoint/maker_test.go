package checkpoint_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors/checkpoint"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
)

var (
	firstOrg  = ledger.ID{1}
	secondOrg = ledger.ID{2}
	usd       = money.Asset{Currency: "USD", Env: money.Prod}
)

// fixture is a Maker on a journal, which a test can close and open again.
type fixture struct {
	*testkit.World
	t     *testing.T
	maker *checkpoint.Maker
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{World: testkit.NewWorld(t, time.Date(2026, 11, 19, 10, 0, 0, 0, time.UTC)), t: t}
	f.start()
	return f
}

func (f *fixture) start() {
	f.t.Helper()
	f.Open()
	f.maker = checkpoint.Start(f.Runtime)
	f.Runtime.Start(func(posting.DueItem) bool { return false })
}

func (f *fixture) restart() {
	f.t.Helper()
	f.Close()
	f.start()
}

func (f *fixture) submit(c *posting.Change) {
	f.t.Helper()
	f.MustSubmit(c)
}

// bookDays books a number of entries on each of a number of days.
func (f *fixture) bookDays(org ledger.ID, days, entries int) {
	f.t.Helper()
	for range days {
		for n := range entries {
			f.bookDebt(org, fmt.Sprintf("L:partner:%d:available", n+1))
		}
		if err := f.Clock.Set(f.Clock.Now().Add(24 * time.Hour)); err != nil {
			f.t.Fatal(err)
		}
	}
}

// bookDebt books an entry of 10 between the bank and an account.
func (f *fixture) bookDebt(org ledger.ID, path string) {
	f.t.Helper()
	f.submit(&posting.Change{Author: ledger.BySystem.Author(), MustRecord: true, Steps: []posting.Step{debt(org, path)}})
}

func debt(org ledger.ID, path string) posting.Step {
	line := func(path string, side ledger.Side) ledger.Posting {
		return ledger.Posting{Account: ledger.Path(path), Asset: usd, Side: side, Amount: money.FromUint64(10)}
	}
	return posting.Step{
		Org: org, Source: ledger.Source{Kind: ledger.Settlement, ID: uuid.New()}, Record: []byte{1},
		Events: []ledger.Event{{Name: "move", To: "done", Entry: &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
			line("A:bank", ledger.Debit), line(path, ledger.Credit),
		}}}},
	}
}

// bookManyDebts books an entry of 10 between the bank and each of a number of accounts, all in one Change.
func (f *fixture) bookManyDebts(org ledger.ID, from, count int) {
	f.t.Helper()
	c := &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true}
	for n := range count {
		c.Steps = append(c.Steps, debt(org, fmt.Sprintf("L:partner:%d:available", from+n+1)))
	}
	f.submit(c)
}

func (f *fixture) makeDue() {
	f.t.Helper()
	if err := f.maker.MakeDue(); err != nil {
		f.t.Fatal(err)
	}
}

// checkpointRows returns an organization's rows of checkpoints, heads and parts, by key.
func (f *fixture) checkpointRows(org ledger.ID) map[string]string {
	f.t.Helper()
	view := f.Journal.View()
	defer view.Close()
	rows := make(map[string]string)
	for _, prefix := range [][]byte{store.CheckpointHeads(), store.CheckpointRows()} {
		err := view.KVsAscending(org, prefix, nil, func(key, value []byte) (bool, error) {
			rows[string(key)] = string(value)
			return true, nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return rows
}

// lastGroup returns the number of the last group of Changes that the journal has written.
func (f *fixture) lastGroup() uint64 {
	n, _ := f.Journal.LastGroup()
	return n
}

// headKeys returns the keys of the heads among rows, the earliest first.
func headKeys(rows map[string]string) (keys []string) {
	for key := range rows {
		if strings.HasPrefix(key, string(store.CheckpointHeads())) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func TestEachOrganizationHasACheckpointPerFinishedDay(t *testing.T) {
	f := open(t)
	f.bookDays(firstOrg, 3, 4)
	f.bookDays(secondOrg, 2, 3)
	f.makeDue()
	if a, b := len(headKeys(f.checkpointRows(firstOrg))), len(headKeys(f.checkpointRows(secondOrg))); a != 2 || b != 1 {
		t.Errorf("there are %d and %d", a, b)
	}
	f.bookDays(firstOrg, 1, 4)
	f.makeDue()
	if a, b := len(headKeys(f.checkpointRows(firstOrg))), len(headKeys(f.checkpointRows(secondOrg))); a != 3 || b != 1 {
		t.Errorf("later there are %d and %d", a, b)
	}
}

func TestExistingCheckpointsAreNotWrittenAgain(t *testing.T) {
	f := open(t)
	f.bookDays(firstOrg, 5, 3)
	f.makeDue()
	before := f.lastGroup()
	f.makeDue()
	f.restart()
	f.makeDue()
	if after := f.lastGroup(); after != before {
		t.Errorf("groups %d to %d were written", before+1, after)
	}
}

// An organization in which no money moves has empty checkpoints.
func TestOrganizationWithoutAccountsHasCheckpoints(t *testing.T) {
	f := open(t)
	for range 3 {
		f.submit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
			Org: firstOrg, Source: ledger.Source{Kind: ledger.Partner, ID: uuid.New()}, Record: []byte{1}, Events: []ledger.Event{{Name: "made", To: "there"}},
		}}})
		if err := f.Clock.Set(f.Clock.Now().Add(24 * time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	f.makeDue()
	if got := len(f.checkpointRows(firstOrg)); got != 2 {
		t.Errorf("%d rows", got)
	}
	before := f.lastGroup()
	f.restart()
	f.makeDue()
	if after := f.lastGroup(); after != before {
		t.Errorf("%d groups were written again", after-before)
	}
}

// If any rows of checkpoints are missing or unreadable, the first run after the next start restores them.
func TestMissingCheckpointIsMadeAgain(t *testing.T) {
	f := open(t)
	f.bookDays(firstOrg, 8, 4)
	f.makeDue()
	want := f.checkpointRows(firstOrg)
	keys := slices.Sorted(maps.Keys(want))
	heads := headKeys(want)
	if len(heads) != 7 || len(keys) != 14 {
		t.Fatalf("%d checkpoints in %d rows", len(heads), len(keys))
	}
	parts := keys[len(heads):]
	for name, damage := range map[string][]posting.KV{
		"all of them":                 deletionsOf(keys...),
		"the first head":              deletionsOf(heads[0]),
		"a head in the middle":        deletionsOf(heads[3]),
		"the last head":               deletionsOf(heads[6]),
		"a part in the middle":        deletionsOf(parts[3]),
		"the last part":               deletionsOf(parts[6]),
		"all heads":                   deletionsOf(heads...),
		"all parts":                   deletionsOf(parts...),
		"a head that cannot be read":  {{Org: firstOrg, Key: []byte(heads[4]), Value: []byte("?")}},
		"a part without a checkpoint": {{Org: firstOrg, Key: store.KeyCheckpointRow(1_000, 0, 3), Value: []byte("?")}},
	} {
		f.submit(&posting.Change{KVs: damage})
		if maps.Equal(f.checkpointRows(firstOrg), want) {
			t.Fatalf("%s: nothing was spoilt", name)
		}
		f.restart()
		f.makeDue()
		if got := f.checkpointRows(firstOrg); !maps.Equal(got, want) {
			t.Errorf("%s: %d rows instead of %d, or others", name, len(got), len(want))
		}
	}
}

// deletionsOf returns the KVs that delete the rows with the given keys.
func deletionsOf(keys ...string) (rows []posting.KV) {
	for _, key := range keys {
		rows = append(rows, posting.KV{Org: firstOrg, Key: []byte(key)})
	}
	return rows
}

// A checkpoint with a wrong part is detected when the next checkpoint is computed from it.
func TestAWrongPartIsMadeAgainBeforeTheNextCheckpoint(t *testing.T) {
	f := open(t)
	f.bookDays(firstOrg, 4, 4)
	f.makeDue()
	rows := f.checkpointRows(firstOrg)
	keys := slices.Sorted(maps.Keys(rows))
	lastKey := keys[len(keys)-1]
	wrongRow := strings.Replace(rows[lastKey], "bank", "bang", 1)
	for _, restart := range []bool{false, true} {
		f.submit(&posting.Change{KVs: []posting.KV{{Org: firstOrg, Key: []byte(lastKey), Value: []byte(wrongRow)}}})
		if restart {
			f.restart()
		}
		f.bookDays(firstOrg, 1, 4)
		f.makeDue()
		if f.checkpointRows(firstOrg)[lastKey] != rows[lastKey] {
			t.Errorf("restarted %v: the part is still wrong", restart)
		}
		rows = f.checkpointRows(firstOrg)
		keys = slices.Sorted(maps.Keys(rows))
		lastKey = keys[len(keys)-1]
		wrongRow = strings.Replace(rows[lastKey], "bank", "bang", 1)
	}
	if got := len(headKeys(rows)); got != 5 {
		t.Errorf("there are %d", got)
	}
}

// A checkpoint that merges several earlier checkpoints is computed from all of them. If one of these is wrong, it is
// made again, together with all later checkpoints.
func TestAWrongPartOfAnEarlierCheckpointIsMadeAgain(t *testing.T) {
	f := open(t)
	f.bookDays(firstOrg, 1, 20)
	f.bookDays(firstOrg, 3, 1) // the checkpoints of these days have two accounts and are based on the first checkpoint
	f.bookDays(firstOrg, 1, 20)
	f.bookDebt(firstOrg, "L:partner:1:available")
	f.makeDue()
	want := f.checkpointRows(firstOrg)
	heads := headKeys(want)
	last, err := store.DecodeCheckpointHead([]byte(heads[4]), []byte(want[heads[4]]))
	if err != nil || len(heads) != 5 || last.Base.Seq != 0 {
		t.Fatalf("%d checkpoints, the last is %+v (%v)", len(heads), last, err)
	}
	firstPart := string(store.KeyCheckpointRow(20, 0, 0))
	wrongRow := strings.Replace(want[firstPart], "bank", "bang", 1)
	f.submit(&posting.Change{KVs: append(deletionsOf(heads[4]), posting.KV{Org: firstOrg, Key: []byte(firstPart), Value: []byte(wrongRow)})})
	f.restart()
	f.makeDue()
	if got := f.checkpointRows(firstOrg); !maps.Equal(got, want) {
		t.Errorf("%d rows instead of %d, or others", len(got), len(want))
	}
	if made := f.maker.Made(); made != 5 {
		t.Errorf("%d were made", made)
	}
}

// If a head is missing, that checkpoint is made again before the next one; the next one is not computed from an
// earlier checkpoint.
func TestMissingHeadIsMadeAgainBeforeTheNextCheckpoint(t *testing.T) {
	f := open(t)
	f.bookDays(firstOrg, 4, 4)
	f.makeDue()
	before := f.checkpointRows(firstOrg)
	heads := headKeys(before)
	lastHead := heads[len(heads)-1]
	f.submit(&posting.Change{KVs: deletionsOf(lastHead)})
	f.bookDays(firstOrg, 1, 4)
	f.makeDue()
	rows := f.checkpointRows(firstOrg)
	if got := len(headKeys(rows)); got != 4 || rows[lastHead] != before[lastHead] {
		t.Errorf("there are %d, and what was gone is %x", got, rows[lastHead])
	}
}

func TestMakerRunsOnThePool(t *testing.T) {
	f := open(t)
	f.bookDays(firstOrg, 3, 4)
	f.maker.Begin()
	f.Runtime.Quiesce()
	if got := len(headKeys(f.checkpointRows(firstOrg))); got != 2 {
		t.Errorf("there are %d", got)
	}
}

func TestCheckpointsAreMadeLaterIfTheDiskIsLow(t *testing.T) {
	f := open(t)
	f.bookDays(firstOrg, 3, 4)
	f.JournalOptions.Store.MinFree = 1 << 62
	f.restart()
	refusedMaker := f.maker
	if err := refusedMaker.MakeDue(); err == nil {
		t.Error("nothing was refused")
	}
	if got := len(f.checkpointRows(firstOrg)); got != 0 {
		t.Errorf("%d rows were written", got)
	}
	f.JournalOptions.Store.MinFree = 0
	f.restart()
	refusedMaker.ContinueOn(f.Runtime) // the Maker makes the checkpoints, although nothing was booked since the refusal
	if err := refusedMaker.MakeDue(); err != nil {
		t.Error(err)
	}
	if got := len(headKeys(f.checkpointRows(firstOrg))); got != 2 {
		t.Errorf("later there are %d", got)
	}
}

func TestPauseGrowsWithTheDurationOfARun(t *testing.T) {
	for took, want := range map[time.Duration]int{0: 2, 80 * time.Millisecond: 2, 100 * time.Millisecond: 3, 600 * time.Millisecond: 5, time.Hour: 6} {
		if got := checkpoint.DelayAfter(took); got != want {
			t.Errorf("after %v the pause is %d doublings, want %d", took, got, want)
		}
	}
}

// A checkpoint of many accounts has many rows. The Maker writes each row with a Change of its own, so that no
// group of Changes becomes long. A kill in between leaves rows without a head: readers do not use them, and the
// next start removes them and makes the checkpoint as a whole.
func TestCheckpointIsWrittenRowByRow(t *testing.T) {
	f := open(t)
	for n := range 8 {
		f.bookManyDebts(firstOrg, n*500, 500)
	}
	if err := f.Clock.Set(f.Clock.Now().Add(24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	f.bookDebt(firstOrg, "L:partner:1:available")
	before := f.lastGroup()
	f.makeDue()
	want := f.checkpointRows(firstOrg)
	if groups := f.lastGroup() - before; len(want) < 4 || groups != uint64(len(want)) {
		t.Errorf("%d rows in %d groups", len(want), groups)
	}
	keys := slices.Sorted(maps.Keys(want)) // the key of the head is the first
	for written := range len(keys) {
		f.submit(&posting.Change{KVs: deletionsOf(keys...)})
		for _, key := range keys[1 : 1+written] {
			f.submit(&posting.Change{KVs: []posting.KV{{Org: firstOrg, Key: []byte(key), Value: []byte(want[key])}}})
		}
		f.restart()
		f.makeDue()
		if got := f.checkpointRows(firstOrg); !maps.Equal(got, want) {
			t.Errorf("after %d rows and a kill: %d rows instead of %d, or others", written, len(got), len(want))
		}
	}
}

// If there are more rows than one Change may remove, several Changes remove them.
func TestManyRowsAreRemovedInSteps(t *testing.T) {
	f := open(t)
	f.bookDays(firstOrg, 3, 4)
	f.makeDue()
	want := f.checkpointRows(firstOrg)
	const surplusRows = 600 // the bound is 256
	for n := range surplusRows {
		f.submit(&posting.Change{KVs: []posting.KV{{Org: firstOrg, Key: store.KeyCheckpointRow(1_000, 0, n), Value: []byte("?")}}})
	}
	f.restart()
	before := f.lastGroup()
	f.makeDue()
	if groups := f.lastGroup() - before; groups != 3 {
		t.Errorf("they are removed in %d groups", groups)
	}
	if got := f.checkpointRows(firstOrg); !maps.Equal(got, want) {
		t.Errorf("%d rows are left, want %d", len(got), len(want))
	}
}
