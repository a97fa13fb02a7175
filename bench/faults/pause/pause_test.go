package pause

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"mizan/bench/faults"
	"mizan/bench/faults/trial"
	"mizan/bench/server"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

const (
	readyTimeout = time.Minute
	soakRounds   = 4 // number of starts in one case of a soak test
	testRounds   = 2
	maxPauses    = 6 // largest number of pauses in one phase
	casesInTest  = 1

	shortPause = 60 * time.Millisecond
	longPause  = 2500 * time.Millisecond // longer than the server waits for a provider
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestPausesLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts six servers")
	}
	seed := testseed.Seed(t)
	campaign(t, trial.NewTemplate(t, seed, trial.Small), seed, testRounds, casesInTest, 0)
}

// TestSoakPause runs new cases for the time in MIZAN_SOAK.
func TestSoakPause(t *testing.T) {
	duration, seed := testseed.SoakTime(t), testseed.Seed(t)
	campaign(t, trial.NewTemplate(t, seed, trial.Options{}), seed, soakRounds, 0, duration)
}

func campaign(t *testing.T, template *trial.Template, seed uint64, rounds, count int, duration time.Duration) {
	var table faults.Table
	ends := time.Now().Add(duration)
	for n := 0; n < count || time.Now().Before(ends); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := &run{t: t, Case: template.Begin(t), random: rand.New(rand.NewPCG(seed, uint64(n)))}
			t.Cleanup(r.Close)
			for range rounds {
				r.round()
			}
			outcome, description := faults.Intact, fmt.Sprintf("case %d: %d pauses, %d kills, %+v", n, r.pauses, r.kills, r.Book.Counts())
			if err := r.Check(r.random); err != nil {
				outcome, description = faults.Silent, fmt.Sprintf("%s: %v", description, err)
			}
			t.Log(description)
			for range r.pauses {
				table.Add("pause", outcome, description)
			}
			for range r.kills {
				table.Add("kill among pauses", outcome, description)
			}
		})
	}
	trial.Report(t, &table)
}

// run is one case.
type run struct {
	*trial.Case
	t             *testing.T
	random        *rand.Rand
	pauses, kills int
}

// round starts the server, makes requests, takes a backup and stops or kills the server, with pauses in each phase.
func (r *run) round() {
	r.Book.ExpectsFault = true
	s := r.Launch()
	r.pauseSometimes(s, 1+r.random.IntN(2))
	if !r.WaitReady(s, readyTimeout) {
		r.t.Fatalf("it did not start: %v", r.End(s))
	}
	r.Load(s, trial.LoadOptions{Clients: 16, Requests: 30, Random: r.random, Meanwhile: func() {
		r.pauseSometimes(s, 1+r.random.IntN(maxPauses))
		if r.random.IntN(2) == 0 {
			r.kill(s)
		}
	}})
	if !trial.IsRunning(s) {
		return
	}
	backupEnded := make(chan testkit.Result, 1)
	go func() { backupEnded <- r.Backup(s) }()
	r.pauseSometimes(s, r.random.IntN(2))
	if b := <-backupEnded; b.Exit != 0 {
		r.t.Errorf("backup: exit %d: %s", b.Exit, b.Stderr)
	}
	if err := s.Signal(syscall.SIGTERM); err != nil {
		r.t.Error(err)
	}
	r.pauseSometimes(s, r.random.IntN(2))
	if trial.IsRunning(s) && r.random.IntN(3) == 0 {
		r.kill(s)
		return
	}
	if e := r.AwaitEnd(s); e.Hung || e.Code != 0 {
		r.t.Errorf("it stopped with %v\n%s", e, e.Log)
	}
}

// pauseSometimes pauses and continues the server as often as times says. Most pauses are short.
func (r *run) pauseSometimes(s *server.Server, times int) {
	for range times {
		r.wait(s, shortPause)
		if s.Signal(syscall.SIGSTOP) != nil {
			return // it has ended
		}
		r.pauses++
		length := shortPause
		if r.random.IntN(12) == 0 {
			length = longPause
		}
		r.wait(s, length)
		_ = s.Signal(syscall.SIGCONT)
	}
}

// kill kills the server, in half of the cases while it is paused.
func (r *run) kill(s *server.Server) {
	r.kills++
	if r.random.IntN(2) == 0 {
		_ = s.Signal(syscall.SIGSTOP)
	}
	_ = s.Kill()
}

// wait waits for a random time up to a bound, or until the server has ended.
func (r *run) wait(s *server.Server, bound time.Duration) {
	select {
	case <-s.Exited():
	case <-time.After(time.Duration(r.random.Int64N(int64(bound)))):
	}
}
