package damage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/bench/faults"
	"mizan/bench/faults/trial"
	"mizan/bench/server"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

const (
	casesInTest  = 3
	readyTimeout = 20 * time.Second
	pageSize     = 4096
)

func TestMain(m *testing.M) { testkit.Main(m) }

// harm is a way to damage a file. apply returns the damaged content, or nil if the file can't be damaged in this way. Its
// arguments are the file's content, an earlier content of the same file, and the content of another file of the same kind. The
// latter two are nil if there is none. If apply is nil, the file is removed.
type harm struct {
	name  string
	apply func(r *rand.Rand, content, earlier, other []byte) []byte
}

var harms = []harm{
	{"flip", func(r *rand.Rand, content, _, _ []byte) []byte {
		return changeUsed(r, content, func(b []byte, at int) { b[at] ^= 1 << r.IntN(8) })
	}},
	{"zero page", func(r *rand.Rand, content, _, _ []byte) []byte {
		return changeUsed(r, content, func(b []byte, at int) {
			page := at / pageSize * pageSize
			clear(b[page:min(page+pageSize, len(b))])
		})
	}},
	{"cut", func(r *rand.Rand, content, _, _ []byte) []byte {
		used := len(bytes.TrimRight(content, "\x00"))
		return content[:r.IntN(used+1):used]
	}},
	{"stale copy", func(_ *rand.Rand, _, earlier, _ []byte) []byte { return earlier }},
	{"swap", func(_ *rand.Rand, _, _, other []byte) []byte { return other }},
	{"removal", nil},
}

// changeUsed returns a copy of content, changed by the function change at a random position. The position is before the zeros at
// the end of content, if there are any.
func changeUsed(r *rand.Rand, content []byte, change func(b []byte, at int)) []byte {
	used := len(bytes.TrimRight(content, "\x00"))
	if used == 0 {
		return nil
	}
	b := bytes.Clone(content)
	change(b, r.IntN(used))
	return b
}

// moment is the time at which the file is damaged: before a start, or while the server runs.
type moment string

const (
	afterStop moment = "after a stop"
	afterKill moment = "after a kill"
	running   moment = "while it runs"
)

// plan is one case; the file is drawn when the case begins.
type plan struct {
	kind string
	harm harm
	when moment
}

func (p plan) String() string {
	return strings.ReplaceAll(fmt.Sprintf("%s/%s/%s", p.kind, p.harm.name, p.when), " ", "_")
}

// plans lists all cases in a random order.
func plans(random *rand.Rand) (list []plan) {
	for _, k := range kinds {
		for _, h := range harms {
			for _, when := range []moment{afterStop, afterKill, running} {
				list = append(list, plan{k.name, h, when})
			}
		}
	}
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// newTemplate makes a template that has a file of every kind.
func newTemplate(t *testing.T, seed uint64, rounds, requests int) *trial.Template {
	return trial.NewTemplate(t, seed, trial.Options{ManualClock: true, TLS: "auto", RotatesKeys: true, Rounds: rounds, Requests: requests})
}

// allFiles lists the names of all files of a case: those in the data directory, relative to it, and the backups, with the prefix
// "backups/".
func allFiles(t *testing.T, c *trial.Case) []string {
	names := trial.Files(t, c.Dir)
	for _, name := range trial.Files(t, c.Backups) {
		names = append(names, "backups/"+name)
	}
	return names
}

// pathOf returns the path of a file of a case.
func pathOf(c *trial.Case, name string) string {
	if rest, isBackup := strings.CutPrefix(name, "backups/"); isBackup {
		return filepath.Join(c.Backups, rest)
	}
	return filepath.Join(c.Dir, name)
}

// The test fails if the server leaves a file that has no kind in the table. It also fails if the server leaves no file of some
// kind of the table; one kind is exempt.
func TestEveryFileHasAKind(t *testing.T) {
	testkit.NotUnderRace(t, "it is about files")
	seed := testseed.Seed(t)
	c := newTemplate(t, seed, 1, 20).Begin(t)
	t.Cleanup(c.Close)
	seen := kindsOf(t, allFiles(t, c))
	s := c.Start()
	c.Load(s, trial.LoadOptions{Clients: 4, Requests: 20, Random: rand.New(rand.NewPCG(seed, 0))})
	for kind := range kindsOf(t, allFiles(t, c)) {
		seen[kind] = nil
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	for kind := range kindsOf(t, allFiles(t, c)) {
		seen[kind] = nil
	}
	for _, k := range kinds {
		// A server writes simulator.log.checkpoint only once for each 32 MiB of the log. Tests of the simulator damage this file.
		if _, exists := seen[k.name]; !exists && k.name != "simulator.log.checkpoint" {
			t.Errorf("no file is of kind %s: %v", k.name, slices.Sorted(maps.Keys(seen)))
		}
	}
}

func TestDamagedFilesAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("starts twenty servers")
	}
	campaign(t, testseed.Seed(t), 2, 20, casesInTest, 0)
}

// TestSoakDamage tries all cases again and again for the time in MIZAN_SOAK.
func TestSoakDamage(t *testing.T) {
	duration := testseed.SoakTime(t)
	campaign(t, testseed.Seed(t), 0, 0, 0, duration)
}

func campaign(t *testing.T, seed uint64, rounds, requests, count int, duration time.Duration) {
	testkit.NotUnderRace(t, "it is about files")
	template := newTemplate(t, seed, rounds, requests)
	var table faults.Table
	ends := time.Now().Add(duration)
	pattern := regexp.MustCompile(os.Getenv("MIZAN_CASE"))
	tried := 0
	for n := uint64(0); n == 0 || count == 0 && time.Now().Before(ends); n++ {
		for k, p := range plans(rand.New(rand.NewPCG(seed, n))) {
			if !pattern.MatchString(p.String()) || count > 0 && tried >= count || count == 0 && time.Now().After(ends) {
				continue
			}
			t.Run(fmt.Sprintf("%d/%v", n, p), func(t *testing.T) {
				r := &run{t: t, plan: p, Case: template.Begin(t), template: template, random: rand.New(rand.NewPCG(seed, n<<32+uint64(k)+1000))}
				t.Cleanup(r.Close)
				if outcome, description := r.try(); r.what != "" {
					tried++
					t.Logf("%v: %s", outcome, description)
					table.Add(p.kind+": "+p.harm.name, outcome, description)
				}
			})
		}
	}
	trial.Report(t, &table)
}

// run is one case.
type run struct {
	plan
	*trial.Case
	t        *testing.T
	template *trial.Template
	random   *rand.Rand

	what     string // describes the file and the damage; empty: the file can't be damaged in this way
	restores func() // undoes the damage
}

// try damages a file, and returns the outcome of the case with its description.
func (r *run) try() (faults.Outcome, string) {
	r.Book.ExpectsFault = true
	switch {
	case r.kind == "backup":
		r.damage()
		return r.judgeBackups()
	case r.when == running:
		return r.tryRunning()
	case r.when == afterKill:
		s := r.Start()
		r.Load(s, trial.LoadOptions{Clients: 4, Requests: 30, Random: r.random})
		if err := s.Kill(); err != nil {
			r.t.Fatal(err)
		}
	}
	r.damage()
	if r.what == "" {
		return faults.Intact, ""
	}
	s := r.Launch()
	switch isReady := r.WaitReady(s, readyTimeout); {
	case !isReady && trial.IsRunning(s): // the server serves, but its clients do not trust its certificate
		outcome, description := r.judgeRefusal(r.End(s))
		return max(outcome, faults.Detected), description
	case !isReady:
		return r.judgeRefusal(r.End(s))
	}
	return r.judgeServing(s)
}

// tryRunning damages a file of a loaded server.
func (r *run) tryRunning() (faults.Outcome, string) {
	s := r.Start()
	r.Load(s, trial.LoadOptions{Clients: 4, Requests: 40, MaxUnanswered: 8, Timeout: 10 * time.Second, Random: r.random, Meanwhile: func() {
		select {
		case <-r.Book.AfterResponses(1 + r.random.IntN(30)):
		case <-s.Exited():
		}
		r.damage()
	}})
	if r.what == "" {
		return faults.Intact, ""
	}
	return r.judgeServing(s)
}

// judgeServing returns the outcome of a case in which the server serves despite the damage.
func (r *run) judgeServing(s *server.Server) (faults.Outcome, string) {
	r.Load(s, trial.LoadOptions{Clients: 2, Requests: 10, MaxUnanswered: 4, Timeout: 10 * time.Second, Random: r.random})
	watch, backup := testkit.Result{}, testkit.Result{}
	if trial.IsRunning(s) {
		watch, backup = r.Watch(s), r.Backup(s)
		r.waitUntilRead(s)
	}
	if trial.IsRunning(s) && r.random.IntN(2) == 0 {
		_ = s.Kill()
	}
	e := r.End(s)
	description := fmt.Sprintf("%s: %v", r.what, e)
	if err := e.Fault(); e.Code != -1 && (err != nil || e.Hung) {
		r.t.Errorf("%s: %v\n%s", description, err, e.Log)
	}
	if watch.Exit == 4 {
		return faults.Detected, fmt.Sprintf("%s; the watch: %s", description, watch.Stderr)
	}
	err := r.Check(r.random)
	description = fmt.Sprintf("%s; then %v; backup %d %s", description, err, backup.Exit, strings.TrimSpace(backup.Stderr))
	switch {
	case errors.Is(err, trial.ErrWrongAnswers), errors.Is(err, trial.ErrNoReason):
		return faults.Silent, description
	case err != nil, e.Code > 0:
		return faults.Detected, description
	case r.kind == "clock" && !r.clockIsRight():
		return faults.Silent, description + "; the clock went back"
	}
	return faults.Intact, description
}

// judgeRefusal returns the outcome of a case in which the server did not start. When the damage is undone, the server must
// start and have lost nothing.
func (r *run) judgeRefusal(e trial.Ending) (faults.Outcome, string) {
	description := fmt.Sprintf("%s: %v", r.what, e)
	if err := e.Fault(); err != nil || e.Hung {
		r.t.Errorf("%s: %v\n%s", description, err, e.Log)
	}
	r.restores()
	if err := r.Check(r.random); err != nil {
		return faults.Silent, fmt.Sprintf("%s; a start was refused, and the undamaged file no longer helps: %v", description, err)
	}
	return faults.Refused, description
}

// judgeBackups verifies the backups and restores the newest of them.
func (r *run) judgeBackups() (faults.Outcome, string) {
	if r.what == "" {
		return faults.Intact, ""
	}
	keyring := filepath.Join(r.Dir, "keyring")
	verify := testkit.Run(r.t, nil, "backup", "verify", "--from", r.Backups, "--keyring", keyring)
	restored := filepath.Join(r.t.TempDir(), "restored")
	restore := testkit.Run(r.t, nil, "restore", "--from", r.Backups, "--data", restored, "--keyring", keyring)
	description := fmt.Sprintf("%s: verify %d %s, restore %d %s", r.what, verify.Exit, verify.Stderr, restore.Exit, restore.Stderr)
	for _, result := range []testkit.Result{verify, restore} {
		if result.Exit < 0 || result.Exit > 3 || result.Exit > 0 && !strings.Contains(result.Stderr, "mizan: ") || strings.Contains(result.Stderr, "goroutine ") {
			r.t.Errorf("%s", description)
		}
	}
	if restore.Exit != 0 {
		return faults.Refused, description
	}
	// The backup is older than the last responses, so audit verify is called without the clients' responses.
	if audit := testkit.Run(r.t, nil, "audit", "verify", "--data", restored, "--keyring", keyring); audit.Exit != 0 {
		return faults.Detected, fmt.Sprintf("%s; audit verify: %s%s", description, audit.Stdout, audit.Stderr)
	}
	if verify.Exit != 0 {
		return faults.Detected, description
	}
	return faults.Intact, description
}

// damage draws a file of the kind and damages it in place.
func (r *run) damage() {
	names := kindsOf(r.t, allFiles(r.t, r.Case))[r.kind]
	if len(names) == 0 {
		return
	}
	name := names[r.random.IntN(len(names))]
	path := pathOf(r.Case, name)
	content := read(r.t, path)
	undo := map[string][]byte{path: content}
	r.restores = func() {
		for path, content := range undo {
			write(r.t, path, content)
		}
	}
	if r.harm.apply == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.t.Fatal(err)
		}
		r.what = name + ": removal"
		return
	}
	var other, earlier []byte
	otherName := ""
	if r.harm.name == "swap" && len(names) > 1 {
		for otherName = name; otherName == name; otherName = names[r.random.IntN(len(names))] {
		}
		other = read(r.t, pathOf(r.Case, otherName))
		undo[pathOf(r.Case, otherName)] = other
	}
	round := 1 + r.random.IntN(r.template.Rounds-1)
	if content, err := os.ReadFile(filepath.Join(r.template.Earlier(round), name)); err == nil {
		earlier = content
	}
	damaged := r.harm.apply(r.random, content, earlier, other)
	if damaged == nil || bytes.Equal(damaged, content) {
		return
	}
	r.what = fmt.Sprintf("%s: %s %s", name, r.harm.name, difference(content, damaged))
	write(r.t, path, damaged)
	if otherName != "" {
		write(r.t, pathOf(r.Case, otherName), content)
		r.what = fmt.Sprintf("%s with %s: swap", name, otherName)
	}
}

// difference describes a damage.
func difference(before, after []byte) string {
	if len(before) != len(after) {
		return fmt.Sprintf("(%d bytes, were %d)", len(after), len(before))
	}
	for i := range before {
		if before[i] != after[i] {
			return fmt.Sprintf("(byte %d was %#x, is %#x)", i, before[i], after[i])
		}
	}
	return ""
}

// waitUntilRead waits until the server has compared all values with their checksums, or has ended.
func (r *run) waitUntilRead(s *server.Server) {
	limit := time.Now().Add(readyTimeout)
	for trial.IsRunning(s) && time.Now().Before(limit) {
		unread, known := r.UnverifiedBytes()
		if known && unread == 0 {
			return
		}
		select {
		case <-s.Exited():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// clockIsRight tells whether the manual clock shows at least the time of the last booking. An earlier clock file is not wrong in
// itself: it may undo moves of the clock that came after the last booking, because no other file has a record of them.
func (r *run) clockIsRight() bool {
	s := r.Start()
	defer r.End(s)
	return !r.ManualClock(s).Before(r.template.Booked)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the server may have removed it
		t.Fatal(err)
	}
	return content
}

// write overwrites a file in place, so that a running server sees it.
func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
