package posting_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

var errDisk = errors.New("the disk failed")

// disk is a Log between the committer and the store, which a test can block or make fail.
type disk struct {
	posting.Log
	gate        chan struct{} // if not nil, each group waits until the gate is closed
	unblockOnce sync.Once
	failBefore  atomic.Bool // Apply fails without storing the group
	failAfter   atomic.Bool // Apply stores the group and then fails
}

func (d *disk) Apply(g *store.Group) error {
	if d.gate != nil {
		<-d.gate
	}
	if d.failBefore.Load() {
		return errDisk
	}
	if err := d.Log.Apply(g); err != nil {
		return err
	}
	if d.failAfter.Load() {
		return errDisk
	}
	return nil
}

func blockedDisk() *disk { return &disk{gate: make(chan struct{})} }

// unblock lets all present and later groups pass.
func (d *disk) unblock() {
	d.unblockOnce.Do(func() {
		if d.gate != nil {
			close(d.gate)
		}
	})
}

// dirOfFailing returns a directory for a store that fails. Background work of such a store may still make a file while the directory
// is removed, because Close does not wait for it. So the removal is repeated.
func dirOfFailing(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "failing")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		testkit.WaitUntil(t, "the directory is removed", func() bool { return os.RemoveAll(dir) == nil })
	})
	return dir
}

func openOn(t *testing.T, d *disk) *fixture {
	f := &fixture{t: t, dir: dirOfFailing(t), clock: newClock(), fatal: make(chan error, 1)}
	f.wrapLog = func(l posting.Log) posting.Log { d.Log = l; return d }
	f.reopen()
	t.Cleanup(func() { d.unblock(); _ = f.Close() })
	return f
}

func deposit() *posting.Change {
	return transfer(ledger.Posted, line("A:bank", ledger.Debit, 5), line("L:partner:1:available", ledger.Credit, 5))
}

func TestChangesAndRefusalsAreAcknowledgedOnlyAfterTheSync(t *testing.T) {
	d := blockedDisk()
	f := openOn(t, d)
	receipts := make(chan posting.Receipt, 3)
	winner, loser := deposit(), deposit()
	claim := ledger.Claim{Org: org, Kind: ledger.ClaimTxID, Key: "1/x", Owner: []byte("me")}
	winner.Claims, loser.Claims = []ledger.Claim{claim}, []ledger.Claim{claim}
	done := func(receipt posting.Receipt) { receipts <- receipt }
	f.Submit(winner, done)
	f.Submit(loser, done)
	f.Submit(deposit(), done)
	for range 1_000 {
		v := f.View() // a view can be opened while the disk is blocked
		v.Close()
	}
	select {
	case receipt := <-receipts:
		t.Fatalf("acknowledged with the sync still open: %+v", receipt)
	default:
	}
	d.unblock()
	if receipt := <-receipts; receipt.Err != nil {
		t.Error(receipt.Err)
	}
	wantCode(t, (<-receipts).Err, ledger.ClaimTaken)
	if receipt := <-receipts; receipt.Err != nil {
		t.Error(receipt.Err)
	}
}

func TestNothingIsAcknowledgedAfterAFailedSync(t *testing.T) {
	for name, c := range map[string]struct {
		isStored bool
		want     uint64
	}{"not persisted": {false, 5}, "failed but persisted": {true, 10}} {
		t.Run(name, func(t *testing.T) {
			d := new(disk)
			f := openOn(t, d)
			f.must(deposit())
			d.failBefore.Store(!c.isStored)
			d.failAfter.Store(c.isStored)
			receipts := make(chan posting.Receipt, 2)
			f.Submit(deposit(), func(receipt posting.Receipt) { receipts <- receipt })
			if err := <-f.fatal; !errors.Is(err, errDisk) {
				t.Fatalf("fatal: %v", err)
			}
			d.failBefore.Store(false)
			d.failAfter.Store(false)
			f.Submit(deposit(), func(receipt posting.Receipt) { receipts <- receipt })
			_ = f.Close()
			select {
			case receipt := <-receipts:
				t.Fatalf("acknowledged after a failure: %+v", receipt)
			default:
			}
			f.reopen()
			if got := f.totals("A:bank").DebitsPosted; got != amount(c.want) {
				t.Errorf("the bank has %v, want %d", got, c.want)
			}
			f.must(deposit())
		})
	}
}

// confirming is a Log in which every group but the first waits until Confirm was called.
type confirming struct {
	posting.Log
	confirmed chan struct{}
	err       error // error of Confirm
}

func (l *confirming) Apply(g *store.Group) error {
	err := l.Log.Apply(g)
	if g.N() == 1 {
		return err
	}
	select {
	case <-l.confirmed:
		return err
	case <-time.After(10 * time.Second):
		return errors.New("nothing was confirmed")
	}
}

func (l *confirming) Confirm() error {
	if l.err != nil {
		return l.err
	}
	select {
	case l.confirmed <- struct{}{}:
	default:
	}
	return l.Log.Confirm()
}

// Under load, when groups follow each other without a pause, the last group is confirmed all the same.
func TestGroupsAreConfirmedUnderLoad(t *testing.T) {
	l := &confirming{confirmed: make(chan struct{}, 1)}
	f := &fixture{t: t, dir: dirOfFailing(t), clock: newClock(), fatal: make(chan error, 1), memTable: smallMemTable}
	f.wrapLog = func(inner posting.Log) posting.Log { l.Log = inner; return l }
	f.reopen()
	t.Cleanup(func() { _ = f.Close() })
	for range 4 {
		f.must(deposit())
	}
}

func TestFailedConfirmationEndsTheProcess(t *testing.T) {
	l := &confirming{err: errDisk}
	f := &fixture{t: t, dir: dirOfFailing(t), clock: newClock(), fatal: make(chan error, 1), memTable: smallMemTable}
	f.wrapLog = func(inner posting.Log) posting.Log { l.Log = inner; return l }
	f.reopen()
	t.Cleanup(func() { _ = f.Close() })
	f.must(deposit())
	if err := <-f.fatal; !errors.Is(err, errDisk) {
		t.Errorf("it ended with %v", err)
	}
	f.Submit(deposit(), func(receipt posting.Receipt) { t.Errorf("acknowledged: %v", receipt) })
}

func TestFullQueueRefusesCommandsButAcceptsOutcomes(t *testing.T) {
	d := blockedDisk()
	f := openOn(t, d)
	refusedCount, acceptedCount := 0, 0
	receiptErrs := make(chan error, 3*posting.MaxQueue)
	done := func(receipt posting.Receipt) { receiptErrs <- receipt.Err }
	for range posting.MaxQueue + 3*posting.MaxGroup {
		f.Submit(deposit(), done)
	}
	outcome := deposit()
	outcome.MustRecord = true
	f.Submit(outcome, done)
	refusedCount = len(receiptErrs)
	if refusedCount == 0 {
		t.Fatal("a full queue refused nothing")
	}
	for range refusedCount {
		wantLimiter(t, <-receiptErrs, ledger.LimitQueue)
	}
	d.unblock()
	want := posting.MaxQueue + 3*posting.MaxGroup + 1 - refusedCount
	for range want { // the accepted changes are the records' creations and their outcomes
		if err := <-receiptErrs; err != nil {
			t.Fatal(err)
		}
		acceptedCount++
	}
	if got := f.totals("A:bank").DebitsPosted; got != amount(uint64(5*acceptedCount)) {
		t.Errorf("%d accepted, the bank has %v", acceptedCount, got)
	}
}

func TestNearlyFullDiskRefusesCommandsButAcceptsOutcomes(t *testing.T) {
	f := open(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f.minFree = math.MaxUint64
	f.reopen()
	wantLimiter(t, f.submit(deposit()).Err, ledger.LimitDisk)
	outcome := deposit()
	outcome.MustRecord = true
	f.must(outcome)
}

func TestGroupsEndAtTheirBounds(t *testing.T) {
	d := blockedDisk()
	f := openOn(t, d)
	receipts := make(chan posting.Receipt, 64)
	for range 64 {
		c := deposit()
		c.Steps[0].Record = make([]byte, posting.MaxRecord)
		f.Submit(c, func(receipt posting.Receipt) { receipts <- receipt })
	}
	d.unblock()
	for range 64 {
		if receipt := <-receipts; receipt.Err != nil {
			t.Fatal(receipt.Err)
		}
	}
	v := f.View()
	defer v.Close()
	records := 0
	err := v.Records(org, ledger.Settlement, func(_ ledger.ID, stored posting.Record) (bool, error) {
		records++
		if len(stored.Payload) != posting.MaxRecord {
			t.Errorf("a payload of %d bytes came back with %d", posting.MaxRecord, len(stored.Payload))
		}
		return true, nil
	})
	if err != nil || records != 64 {
		t.Errorf("%d records (%v)", records, err)
	}
	if n := f.Stats.Groups.Load(); n < 8 {
		t.Errorf("64 MiB of records went into %d groups", n)
	}
}

func TestTimersAreTakenOnceInOrderAndAgainAfterARestart(t *testing.T) {
	f := open(t)
	sources := make([]ledger.Source, 3)
	for i := range sources {
		sources[i] = ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}
		f.must(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{Org: org, Source: sources[i], Record: []byte{1},
			Due:    ledger.MicrosOf(start) + ledger.Micros(3-i)*1_000_000,
			Events: []ledger.Event{{Name: "a", To: "x"}}}}})
	}
	take := func() []posting.DueItem { return f.Due.Take(ledger.MicrosOf(start)+10_000_000, 10) }
	if got := take(); len(got) != 3 || got[0].Source != sources[2] || got[2].Source != sources[0] {
		t.Fatalf("taken: %+v", got)
	}
	if got := take(); len(got) != 0 {
		t.Errorf("taken twice: %+v", got)
	}
	// One record is not due any more, and another gets a later due instant; the third is still due.
	f.must(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{Org: org, Source: sources[1], Expect: 1, Record: []byte{1}, Events: []ledger.Event{{Name: "b", From: "x", To: "y"}}}}})
	later := ledger.MicrosOf(start) + 5_000_000
	f.must(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{Org: org, Source: sources[2], Expect: 1, Record: []byte{1}, Due: later, Events: []ledger.Event{{Name: "b", From: "x", To: "y"}}}}})
	f.restart()
	got := take()
	if len(got) != 2 || got[0].Source != sources[0] || got[1].Source != sources[2] || got[1].At != later {
		t.Errorf("after a restart: %+v", got)
	}
}

// TestFailedBackgroundFlushIsFatalEvenWhenIdle makes the store's background work fail. The journal must call
// Fatal although no change is written afterwards.
func TestFailedBackgroundFlushIsFatalEvenWhenIdle(t *testing.T) {
	f := &fixture{t: t, dir: dirOfFailing(t), clock: newClock(), fatal: make(chan error, 1), memTable: 1 << 20}
	f.reopen()
	t.Cleanup(func() { _ = f.Close() })
	for id := range 9 { // these files have the names of the next tables, so Badger cannot create the tables
		if err := os.WriteFile(filepath.Join(f.dir, "store", fmt.Sprintf("%06d.sst", id+2)), []byte("in the way"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	countMemtables := func() int {
		names, err := filepath.Glob(filepath.Join(f.dir, "store", "*.mem"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	var failed error
	for failed == nil && countMemtables() < 2 { // until Badger flushes the first memtable
		c := deposit()
		c.Steps[0].Record = make([]byte, 50_000)
		done := make(chan posting.Receipt, 1)
		f.Submit(c, func(receipt posting.Receipt) { done <- receipt })
		select {
		case <-done:
		case failed = <-f.fatal:
		}
	}
	if failed == nil {
		failed = <-f.fatal
	}
	if !strings.Contains(failed.Error(), "flushing a memtable") {
		t.Errorf("fatal: %v", failed)
	}
}
