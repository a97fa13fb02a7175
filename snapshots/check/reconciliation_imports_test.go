package check_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	reconciliationactor "mizan/actors/reconciliation"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/reconciliation"
	"mizan/posting"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// cutWriter is a Writer whose import ends after a number of writes, as if the process had been killed or the connection cut. If
// isLost is set, the last write takes effect, and only its answer is lost.
type cutWriter struct {
	reconciliationactor.Writer
	writes int
	isLost bool
}

var errCut = ledger.Refuse("test", ledger.Unavailable, "the import was cut off")

// Write implements reconciliationactor.Writer.
func (c *cutWriter) Write(ctx context.Context, org ledger.ID, op string, decide func(ledger.Micros) (*posting.Change, any, error), publish func([]posting.RecordHeader)) error {
	if c.writes--; c.writes >= 0 {
		return c.Writer.Write(ctx, org, op, decide, publish)
	}
	if c.isLost {
		c.isLost = false
		if err := c.Writer.Write(ctx, org, op, decide, publish); err != nil {
			return err
		}
	}
	return errCut
}

// importTrial is a store with settlements of a terminal's provider, and files that overlap.
type importTrial struct {
	t        *testing.T
	store    *fixture.Store
	server   *fixture.Server
	terminal *directory.Terminal
	random   *rand.Rand
	universe []string   // all lines
	files    [][]string // each has some of them
}

const (
	trialEntries = 300  // entries on the provider's account
	trialLines   = 1200 // lines of all files; a quarter of them names an entry
	trialFiles   = 150
	trialImports = 1000
	restartEvery = 50 // imports between two restarts of the store
)

func newImportTrial(t *testing.T) *importTrial {
	t.Helper()
	seed := testseed.Seed(t)
	trial := &importTrial{t: t, store: fixture.Copy(t), random: rand.New(rand.NewPCG(seed, 1))}
	trial.server = fixture.Start(t, trial.store)
	trial.terminal = newReconciledTerminal(trial.server, trial.store)
	for i := range trialEntries {
		settleProvider(trial.server, trial.terminal, uint64(1000+i), 7, fmt.Sprint("s", i))
	}
	for i := range trialLines {
		id := fmt.Sprint("l", i)
		if i%5 == 0 {
			id = "" // a line without an id: equal lines differ by their ordinal only
		}
		reference := fmt.Sprint("unknown", i)
		if i%4 == 0 {
			reference = fmt.Sprint("s", i/4)
		}
		trial.universe = append(trial.universe, fmt.Sprintf("%s,2026-09-03,payout,%d,1,USD,%s", id, 1000+i/4, reference))
	}
	for range trialFiles {
		var file []string
		for _, line := range trial.universe {
			if trial.random.IntN(4) == 0 {
				file = append(file, line)
			}
		}
		trial.random.Shuffle(len(file), func(i, j int) { file[i], file[j] = file[j], file[i] })
		trial.files = append(trial.files, file)
	}
	return trial
}

// totals returns the totals of the account of the terminal's provider.
func (trial *importTrial) totals() ledger.Totals {
	trial.t.Helper()
	view := trial.server.Journal.View()
	defer view.Close()
	totals, err := view.Totals(trial.terminal.Org, ledger.Account{Path: ledger.ProviderReceivable(trial.terminal.ID), Asset: fixture.USD})
	fixture.Must(trial.t, err)
	return totals
}

// importOnce imports a file with a service of its own, which remembers nothing of other imports, as after a restart. The import
// ends after the given number of writes; a negative number lets it end by itself.
func (trial *importTrial) importOnce(file []string, writes int, isLost bool) error {
	var writer reconciliationactor.Writer = trial.server.Directory
	if writes >= 0 {
		writer = &cutWriter{writer, writes, isLost}
	}
	r := newReconciler(trial.server, trial.terminal.Org, trial.terminal.ID, writer)
	_, _, err := r.Import(trial.t.Context(), r.upload(file...))
	return err
}

// After 1,000 imports of overlapping files, many of them repeated, cut off at any write or running at the same time, each line
// belongs to one report, each entry is explained once, nothing was posted, and the checker finds no fault.
func TestRepeatedCutAndInterleavedImportsCountEachLineOnce(t *testing.T) {
	if testing.Short() {
		testkit.NotUnderRace(t, "it makes a thousand imports; the tests of api run the same code under the race detector")
	}
	trial := newImportTrial(t)
	before := trial.totals()
	done, cut, completed := 0, 0, 0
	var mu sync.Mutex
	for done < trialImports {
		var group sync.WaitGroup
		for range 1 + trial.random.IntN(3) {
			file := trial.files[trial.random.IntN(trialFiles)]
			writes, isLost := trial.random.IntN(5)/2-1, trial.random.IntN(2) == 0 // -1: not cut off
			done++
			group.Go(func() {
				err := trial.importOnce(file, writes, isLost)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					completed++
				case ledger.IsRefusal(err, ledger.Unavailable), ledger.IsRefusal(err, ledger.StaleVersion), ledger.IsRefusal(err, ledger.ClaimTaken):
					cut++ // cut off, or the same file at the same time
				default:
					t.Error(err)
				}
			})
		}
		group.Wait()
		if done%restartEvery < 3 {
			trial.server.Close()
			trial.server = fixture.Start(t, trial.store)
		}
	}
	for _, file := range trial.files {
		fixture.Must(t, trial.importOnce(file, -1, false))
	}
	if after := trial.totals(); after != before {
		t.Errorf("the provider's account has %v, and had %v before the imports", after, before)
	}
	trial.wantEachLineOnce()
	trial.server.Close()
	fixture.WantBroken(t, trial.store.Check(t, check.Inputs{}))
	t.Logf("%d imports, of which %d were cut off and %d ended", done, cut, completed)
}

// overtakenWriter is a Writer that calls overtake once, before its second write or a later one.
type overtakenWriter struct {
	reconciliationactor.Writer
	writes   int
	before   int // the number of the write; 0: 2
	overtake func()
}

// Write implements reconciliationactor.Writer.
func (o *overtakenWriter) Write(ctx context.Context, org ledger.ID, op string, decide func(ledger.Micros) (*posting.Change, any, error), publish func([]posting.RecordHeader)) error {
	if o.writes++; o.writes == max(2, o.before) {
		o.overtake()
	}
	return o.Writer.Write(ctx, org, op, decide, publish)
}

// A line that is only a fee has what its fee says, in the decision and for the checker.
func TestDecisionAboutALineThatIsOnlyAFeeBreaksNoRule(t *testing.T) {
	w := fixture.Copy(t)
	server := fixture.Start(t, w)
	terminal := newReconciledTerminal(server, w)
	r := newReconciler(server, w.FirstDemo.Org, terminal.ID, server.Directory)
	r.mustImport("l1,2026-09-03,fee,0,125,USD,unknown")
	r.mustSettle("missing_here", reconciliation.AcceptFee)
	server.Close()
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
}

// A day is not closed while an import is under way, because the import may still find a difference of this day.
func TestNoDayIsClosedDuringAnImport(t *testing.T) {
	w := fixture.Copy(t)
	server := fixture.Start(t, w)
	terminal := newReconciledTerminal(server, w)
	settleProvider(server, terminal, 1000, 7, "s1")
	other := newReconciler(server, w.FirstDemo.Org, terminal.ID, server.Directory)
	today := ledger.DateOf(server.Clock.Now())
	other.mustImport("l0," + today.String() + ",payout,1000,7,USD,s1") // without the second report the day could be closed
	closeToday := func() error {
		_, err := other.Close(t.Context(), w.FirstDemo.Org, terminal.ID, today)
		return err
	}
	importing := newReconciler(server, w.FirstDemo.Org, terminal.ID, &overtakenWriter{Writer: server.Directory, overtake: func() {
		if err := closeToday(); !ledger.IsRefusal(err, ledger.Conflict) {
			t.Errorf("closed during the import: %v", err)
		}
	}})
	importing.mustImport("l1," + today.String() + ",payout,1001,7,USD,unknown")
	other.mustSettle("missing_here", reconciliation.WriteOff)
	fixture.Must(t, closeToday())
}

// An import that the same upload has overtaken and finished answers the finished report, and finishes nothing again.
func TestImportThatTheSameUploadFinishesIsFinishedOnce(t *testing.T) {
	w := fixture.Copy(t)
	server := fixture.Start(t, w)
	terminal := newReconciledTerminal(server, w)
	settleProvider(server, terminal, 1000, 7, "s1")
	lines := []string{"l1,2026-09-03,payout,1000,7,USD,s1", "l2,2026-09-03,payout,1001,7,USD,unknown"}
	var first *reconciliation.Report
	r := newReconciler(server, w.FirstDemo.Org, terminal.ID, nil)
	slow := newReconciler(server, w.FirstDemo.Org, terminal.ID, &overtakenWriter{Writer: server.Directory, overtake: func() {
		first = newReconciler(server, w.FirstDemo.Org, terminal.ID, server.Directory).mustImport(lines...)
	}})
	second := slow.mustImport(lines...)
	if first.State != reconciliation.Complete || second.ID != first.ID || second.State != first.State || second.FinishedAt != first.FinishedAt || second.Matched != 1 {
		t.Errorf("the reports %+v and %+v are not the same", first, second)
	}
	if open := r.open("missing_here"); open.State != reconciliation.Open {
		t.Errorf("the difference is %s", open.State)
	}
	server.Close()
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
}

// A decision may explain an entry while an import has found no line for it. The difference that the import then reports is settled by
// whatever is decided, and nothing is posted; otherwise its day could never be closed.
func TestEntryThatWasExplainedDuringAnImportIsNotMissing(t *testing.T) {
	w := fixture.Copy(t)
	server := fixture.Start(t, w)
	terminal := newReconciledTerminal(server, w)
	settleProvider(server, terminal, 1000, 7, "s1")
	today := ledger.DateOf(server.Clock.Now())
	r := newReconciler(server, w.FirstDemo.Org, terminal.ID, server.Directory)
	r.mustImport(fmt.Sprintf("l1,%v,payout,1000,7,USD,mistyped", today-40)) // too early to report that the entry is missing
	id, seq := r.open("missing_here").ID, uint64(0)
	importing := newReconciler(server, w.FirstDemo.Org, terminal.ID, &overtakenWriter{Writer: server.Directory, before: 3, overtake: func() {
		_, err := r.Settle(t.Context(), r.org, id, reconciliation.Request{Decision: reconciliation.Link, EntrySeq: seq, Note: "it is this one"})
		fixture.Must(t, err)
	}})
	view := server.Journal.View()
	fixture.Must(t, view.LinesAscending(r.org, ledger.Account{Path: ledger.ProviderReceivable(terminal.ID), Asset: fixture.USD}, func(l *posting.Line) (bool, error) {
		seq = l.Seq
		return true, nil
	}))
	view.Close()
	importing.mustImport(fmt.Sprintf("l2,%v,charge,1,0,USD,unknown", today))
	if d := r.mustSettle("missing_there", reconciliation.WriteOff); d.Decision != string(reconciliation.MatchLate) || d.PostedSeq != 0 {
		t.Errorf("the difference is settled by %s, posted %d", d.Decision, d.PostedSeq)
	}
	server.Close()
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
}

// wantEachLineOnce checks that the reports' totals count every line that is in some file once.
func (trial *importTrial) wantEachLineOnce() {
	trial.t.Helper()
	inSomeFile := make(map[string]bool)
	for _, file := range trial.files {
		for _, line := range file {
			inSomeFile[line] = true
		}
	}
	r := newReconciler(trial.server, trial.terminal.Org, trial.terminal.ID, trial.server.Directory)
	reports, _, err := r.Reports(r.org, reconciliationactor.Page{Terminal: r.terminal, Limit: trialFiles + 1})
	fixture.Must(trial.t, err)
	var lines, matched int64
	var out money.Amount
	for _, report := range reports {
		if report.State != reconciliation.Complete {
			trial.t.Errorf("report %v is %s", report.ID, report.State)
		}
		matched += report.Matched
		for _, total := range report.Totals {
			lines += total.Lines
			out, _ = out.Add(total.Out)
		}
	}
	wantMatched := int64(0)
	for i, line := range trial.universe {
		if i%4 == 0 && inSomeFile[line] {
			wantMatched++
		}
	}
	if len(reports) != trialFiles || lines != int64(len(inSomeFile)) || matched != wantMatched {
		trial.t.Errorf("%d reports count %d lines, %d of them matched; want %d, %d and %d", len(reports), lines, matched, trialFiles, len(inSomeFile), wantMatched)
	}
}
