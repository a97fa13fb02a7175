package rollback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/bench/faults"
	"mizan/bench/faults/trial"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

const (
	readyTimeout = 20 * time.Second
	refused      = 4 // exit code of a watch if the server's head does not extend the last one
	partsInTest  = 1 // number of cases in which only some files are set back, in the test without MIZAN_SOAK
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestRollbackIsNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("starts ten servers")
	}
	campaign(t, testseed.Seed(t), trial.Options{Rounds: 2, Requests: 20}, partsInTest, 0)
}

// TestSoakRollback runs new cases for the time in MIZAN_SOAK.
func TestSoakRollback(t *testing.T) {
	duration := testseed.SoakTime(t)
	campaign(t, testseed.Seed(t), trial.Options{}, 1, duration)
}

func campaign(t *testing.T, seed uint64, o trial.Options, count int, duration time.Duration) {
	testkit.NotUnderRace(t, "it is about files")
	template := trial.NewTemplate(t, seed, o)
	var table faults.Table
	ends := time.Now().Add(duration)
	add := func(kind string, n int, try func(*run) (faults.Outcome, string)) {
		t.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(kind, " ", "_"), n), func(t *testing.T) {
			r := &run{t: t, Case: template.Begin(t), template: template, random: rand.New(rand.NewPCG(seed, uint64(n)<<8+uint64(len(kind))))}
			t.Cleanup(r.Close)
			outcome, description := try(r)
			t.Logf("%d: %s", outcome, description)
			table.Add(kind, outcome, description)
		})
	}
	for n := 0; n < count || time.Now().Before(ends); n++ {
		if n == 0 || duration > 0 {
			add("not set back", n, (*run).unchanged)
			add("set back", n, (*run).setBackAll)
			add("set back, then booked more than before", n, (*run).setBackAllAndBookMore)
			add("restored from an earlier backup", n, (*run).restored)
		}
		add("some files set back", n, (*run).setBackPart)
	}
	trial.Report(t, &table)
}

// run is one case.
type run struct {
	*trial.Case
	t        *testing.T
	template *trial.Template
	random   *rand.Rand
}

// watch starts the server, makes requests and runs the auditor's watch.
func (r *run) watch(requests int) testkit.Result {
	s := r.Start()
	if requests > 0 {
		r.Load(s, trial.LoadOptions{Clients: 4, Requests: requests, Random: r.random})
	}
	result := r.Watch(s)
	if e := r.End(s); e.Code != 0 {
		r.t.Errorf("it stopped with %v\n%s", e, e.Log)
	}
	return result
}

// judge returns Caught if the watch refused the server.
func judge(result testkit.Result) (faults.Outcome, string) {
	description := fmt.Sprintf("the watch: %d %s%s", result.Exit, result.Stdout, result.Stderr)
	if result.Exit == refused {
		return faults.Detected, description
	}
	return faults.Silent, description
}

// unchanged is the case without a fault.
func (r *run) unchanged() (faults.Outcome, string) {
	if result := r.watch(r.random.IntN(50)); result.Exit != 0 {
		r.t.Errorf("the watch refuses a server that was not set back: %d %s", result.Exit, result.Stderr)
	}
	if err := r.Check(r.random); err != nil {
		return faults.Silent, err.Error()
	}
	return faults.Intact, "the watch accepts it"
}

// round draws an earlier round of the template, to which files are set back.
func (r *run) round() int { return 1 + r.random.IntN(r.template.Rounds-1) }

// setBack replaces the directory and the backups by those of an earlier moment.
func (r *run) setBack(round int) {
	for from, to := range map[string]string{r.template.Earlier(round): r.Dir, r.template.EarlierBackups(round): r.Backups} {
		if err := os.RemoveAll(to); err != nil {
			r.t.Fatal(err)
		}
		trial.CopyTree(r.t, from, to)
	}
}

func (r *run) setBackAll() (faults.Outcome, string) {
	r.setBack(r.round())
	return judge(r.watch(0))
}

func (r *run) setBackAllAndBookMore() (faults.Outcome, string) {
	r.setBack(r.round())
	return judge(r.watch(300)) // more requests than the template has made
}

// restored restores the oldest backup, which is full.
func (r *run) restored() (faults.Outcome, string) {
	files := trial.Files(r.t, r.template.EarlierBackups(1))
	keyring := filepath.Join(r.t.TempDir(), "keyring")
	trial.CopyTree(r.t, filepath.Join(r.Dir, "keyring"), keyring)
	if err := os.RemoveAll(r.Dir); err != nil {
		r.t.Fatal(err)
	}
	testkit.MustRun(r.t, "restore", "--from", filepath.Join(r.template.EarlierBackups(1), files[0]), "--data", r.Dir, "--keyring", keyring)
	trial.CopyTree(r.t, keyring, filepath.Join(r.Dir, "keyring"))
	return judge(r.watch(0))
}

// setBackPart sets some of the files in the data directory back, and returns the outcome.
func (r *run) setBackPart() (faults.Outcome, string) {
	entries, err := os.ReadDir(r.template.Earlier(1))
	if err != nil {
		r.t.Fatal(err)
	}
	var chosen []string
	for _, e := range entries {
		if r.random.IntN(2) == 0 {
			chosen = append(chosen, e.Name())
		}
	}
	if len(chosen) == 0 || len(chosen) == len(entries) {
		chosen = []string{entries[r.random.IntN(len(entries))].Name()}
	}
	round := r.round()
	for _, name := range chosen {
		if err := os.RemoveAll(filepath.Join(r.Dir, name)); err != nil {
			r.t.Fatal(err)
		}
		trial.CopyTree(r.t, filepath.Join(r.template.Earlier(round), name), filepath.Join(r.Dir, name))
	}
	description := fmt.Sprintf("%s as after round %d", strings.Join(slices.Clone(chosen), " "), round)
	s := r.Launch()
	isReady := r.WaitReady(s, readyTimeout)
	watch := testkit.Result{}
	if isReady {
		watch = r.Watch(s)
	}
	e := r.End(s)
	description = fmt.Sprintf("%s: %v; the watch: %d %s", description, e, watch.Exit, watch.Stderr)
	if err := e.Fault(); err != nil || e.Hung {
		r.t.Errorf("%s: %v\n%s", description, err, e.Log)
	}
	switch {
	case !isReady:
		return faults.Refused, description
	case watch.Exit == refused || e.Code != 0:
		return faults.Detected, description
	}
	err = r.Check(r.random)
	description = fmt.Sprintf("%s; then %v", description, err)
	switch {
	case err == nil:
		return faults.Intact, description
	case errors.Is(err, trial.ErrWrongAnswers), errors.Is(err, trial.ErrNoReason):
		return faults.Silent, description
	}
	return faults.Detected, description
}
