package upkeep

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mizan/bench/faults"
	"mizan/bench/faults/trial"
	"mizan/bench/server"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

const (
	startsToKill  = 4 // number of killed starts in one case about starts
	tablesToMerge = 9 // rounds of a soak test's template, each of which leaves a table; the next start merges these tables
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestKilledUpkeepLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a dozen servers")
	}
	campaign(t, testseed.Seed(t), 2, 0)
}

// TestSoakUpkeep runs new cases for the time in MIZAN_SOAK.
func TestSoakUpkeep(t *testing.T) { campaign(t, testseed.Seed(t), tablesToMerge, testseed.SoakTime(t)) }

// run is one case.
type run struct {
	*trial.Case
	t        *testing.T
	random   *rand.Rand
	campaign *counts
}

// counts has the figures of all cases of a campaign.
type counts struct {
	typical map[string]time.Duration // name of a command → how long it takes if it is not killed
	killed  atomic.Int64             // number of commands and servers that were killed before they ended
	merging atomic.Int64             // number of starts that were killed after their tables had changed
}

func campaign(t *testing.T, seed uint64, rounds int, duration time.Duration) {
	testkit.NotUnderRace(t, "it is about files")
	template := trial.NewTemplate(t, seed, trial.Options{Rounds: rounds, Requests: 30})
	all := &counts{typical: make(map[string]time.Duration)}
	var table faults.Table
	for n, ends := 0, time.Now().Add(duration); n == 0 || time.Now().Before(ends); n++ {
		for i, kind := range []struct {
			name string
			try  func(*run) (faults.Outcome, string)
		}{
			{"backup killed", (*run).killBackup},
			{"server killed during a backup", (*run).killServerDuringBackup},
			{"restore killed", (*run).killRestore},
			{"change of keys killed", (*run).killRotation},
			{"starts killed while tables are merged", (*run).killStarts},
		} {
			t.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(kind.name, " ", "_"), n), func(t *testing.T) {
				r := &run{t: t, Case: template.Begin(t), random: rand.New(rand.NewPCG(seed, uint64(n)<<8+uint64(i))), campaign: all}
				t.Cleanup(r.Close)
				outcome, description := kind.try(r)
				t.Logf("%d: %s", outcome, description)
				table.Add(kind.name, outcome, description)
			})
		}
	}
	trial.Report(t, &table)
	t.Logf("%d kills; at %d of those of starts, tables had changed", all.killed.Load(), all.merging.Load())
}

// command is a command that may be killed.
type command struct {
	r      *run
	name   string
	began  time.Time
	cmd    *exec.Cmd
	output bytes.Buffer
	ended  chan struct{}
}

func (r *run) begin(name string, env []string, args ...string) *command {
	r.t.Helper()
	c := &command{r: r, name: name, began: time.Now(), cmd: exec.Command(testkit.Binary(r.t), args...), ended: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stdout, c.cmd.Stderr = &c.output, &c.output
	if err := c.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // ProcessState has the exit code
	}()
	return c
}

// learn waits until the command has ended, which must be with success, and records how long it took.
func (c *command) learn() {
	c.r.t.Helper()
	<-c.ended
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		c.r.t.Fatalf("%s: exit %d: %s", c.name, code, &c.output)
	}
	c.r.campaign.typical[c.name] = time.Since(c.began)
}

// moment waits until a random moment while the command is under way, or until it has ended.
func (c *command) moment() {
	timer := time.NewTimer(time.Duration(c.r.random.Float64() * float64(c.r.campaign.typical[c.name])))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ended:
	}
}

// kill kills the command at a random moment. It returns false if the command had already ended by itself.
func (c *command) kill() bool {
	c.moment()
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.ended
	wasKilled := c.cmd.ProcessState.ExitCode() == -1
	if wasKilled {
		c.r.campaign.killed.Add(1)
	}
	return wasKilled
}

func (r *run) backup(s *server.Server) *command {
	return r.begin("backup", []string{"MIZAN_ADMIN_TOKEN=" + s.Sandbox.AdminToken}, "backup", "--url", s.Sandbox.BaseURL, "--to", r.Backups, "--since", r.Backups)
}

// startWithBackup starts the server and makes requests. If no backup was taken before, it takes one without killing it.
func (r *run) startWithBackup() *server.Server {
	s := r.Start()
	r.Load(s, trial.LoadOptions{Clients: 4, Requests: 20, Random: r.random})
	if r.campaign.typical["backup"] == 0 {
		r.backup(s).learn()
		r.Load(s, trial.LoadOptions{Clients: 4, Requests: 20, Random: r.random})
	}
	return s
}

func (r *run) killBackup() (faults.Outcome, string) {
	s := r.startWithBackup()
	var wasKilled bool
	r.Load(s, trial.LoadOptions{Clients: 4, Random: r.random, Meanwhile: func() { wasKilled = r.backup(s).kill() }})
	if err := r.checkBackups(); err != nil {
		return faults.Silent, err.Error()
	}
	if result := r.Backup(s); result.Exit != 0 {
		return faults.Silent, fmt.Sprintf("the next backup: %d %s", result.Exit, result.Stderr)
	}
	if e := r.End(s); e.Code != 0 {
		return faults.Silent, e.String()
	}
	return r.judge(fmt.Sprintf("killed: %v", wasKilled))
}

func (r *run) killServerDuringBackup() (faults.Outcome, string) {
	s := r.startWithBackup()
	var c *command
	r.Load(s, trial.LoadOptions{Clients: 4, Random: r.random, Meanwhile: func() {
		c = r.backup(s)
		c.moment()
		_ = s.Kill()
		r.campaign.killed.Add(1)
		<-c.ended
	}})
	code := c.cmd.ProcessState.ExitCode()
	description := fmt.Sprintf("the backup ended with %d: %s", code, &c.output)
	if code < 0 || code > 3 || code > 0 && strings.Count(c.output.String(), "mizan: ") != 1 {
		return faults.Silent, description
	}
	if err := r.checkBackups(); err != nil {
		return faults.Silent, description + "; " + err.Error()
	}
	return r.judge(description)
}

// checkBackups reads every backup to its end, and restores the newest state.
func (r *run) checkBackups() error {
	files, err := filepath.Glob(filepath.Join(r.Backups, "*.backup"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%d backups, %v", len(files), err)
	}
	for _, file := range files {
		if result := testkit.Run(r.t, nil, "backup", "verify", "--from", file, "--keyring", r.keyring()); result.Exit != 0 {
			return fmt.Errorf("backup verify of %s: %d %s", filepath.Base(file), result.Exit, result.Stderr)
		}
	}
	to := filepath.Join(r.t.TempDir(), "restored")
	if result := testkit.Run(r.t, nil, r.restoreTo(to)...); result.Exit != 0 {
		return fmt.Errorf("restore: %d %s%s", result.Exit, result.Stdout, result.Stderr)
	}
	return nil
}

func (r *run) keyring() string { return filepath.Join(r.Dir, "keyring") }

func (r *run) restoreTo(dir string) []string {
	return []string{"restore", "--from", r.Backups, "--data", dir, "--keyring", r.keyring()}
}

// killRestore kills a restore and repeats it. A restore works in a directory beside its target.
func (r *run) killRestore() (faults.Outcome, string) {
	parent := r.t.TempDir()
	if r.campaign.typical["restore"] == 0 {
		r.begin("restore", nil, r.restoreTo(filepath.Join(parent, "whole"))...).learn()
	}
	target := filepath.Join(parent, "restored")
	wasKilled := r.begin("restore", nil, r.restoreTo(target)...).kill()
	description := fmt.Sprintf("killed: %v", wasKilled)
	left, err := filepath.Glob(target + "*")
	if err != nil {
		r.t.Fatal(err)
	}
	isComplete := false
	for _, dir := range left {
		if dir == target {
			isComplete = true
			continue
		}
		result := testkit.Run(r.t, nil, "audit", "verify", "--data", dir)
		description += fmt.Sprintf("; %s: %d %s", filepath.Base(dir), result.Exit, result.Stderr)
		if result.Exit < 1 || result.Exit > 3 || strings.Count(result.Stderr, "mizan: ") != 1 {
			return faults.Silent, description + result.Stdout
		}
	}
	if !wasKilled && !isComplete {
		return faults.Silent, description
	}
	if !isComplete {
		if again := testkit.Run(r.t, nil, r.restoreTo(target)...); again.Exit != 0 {
			return faults.Silent, description + fmt.Sprintf("; again: %d %s", again.Exit, again.Stderr)
		}
	}
	if result := testkit.Run(r.t, nil, "audit", "verify", "--data", target); result.Exit != 0 {
		return faults.Silent, description + fmt.Sprintf("; then audit verify: %d %s%s", result.Exit, result.Stdout, result.Stderr)
	}
	if left, err = filepath.Glob(target + "?*"); err != nil || len(left) > 0 {
		return faults.Silent, description + fmt.Sprintf("; then %v is left, %v", left, err)
	}
	if isComplete {
		return faults.Intact, description
	}
	return faults.Refused, description
}

func (r *run) killRotation() (faults.Outcome, string) {
	rotate := []string{"keys", "rotate", "--data", r.Dir}
	if r.campaign.typical["keys"] == 0 {
		r.begin("keys", nil, rotate...).learn()
	}
	wasKilled := r.begin("keys", nil, rotate...).kill()
	return r.judge(fmt.Sprintf("killed: %v", wasKilled))
}

func (r *run) killStarts() (faults.Outcome, string) {
	if r.campaign.typical["start"] == 0 {
		began := time.Now()
		s := r.Start()
		r.campaign.typical["start"] = 2 * time.Since(began) // tables are merged after the server is ready too
		r.Stop(s)
	}
	changed := 0
	for range startsToKill {
		before := r.tables()
		s := r.Launch()
		c := &command{r: r, name: "start", ended: make(chan struct{})}
		c.moment()
		if err := s.Kill(); err != nil {
			return faults.Silent, r.End(s).String()
		}
		r.campaign.killed.Add(1)
		if !slices.Equal(before, r.tables()) {
			changed++
		}
	}
	r.campaign.merging.Add(int64(changed))
	return r.judge(fmt.Sprintf("at %d of %d kills the tables had changed", changed, startsToKill))
}

// tables lists Badger's tables.
func (r *run) tables() []string {
	return slices.DeleteFunc(trial.Files(r.t, r.Dir), func(name string) bool { return filepath.Ext(name) != ".sst" })
}

// judge starts the server and compares everything with what was acknowledged.
func (r *run) judge(description string) (faults.Outcome, string) {
	if err := r.Check(r.random); err != nil {
		return faults.Silent, fmt.Sprintf("%s; then %v", description, err)
	}
	return faults.Intact, description
}
