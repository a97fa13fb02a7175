package simulator

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"mizan/actors"
	"mizan/internal/clock"
)

const (
	victimLog   = "MIZAN_SIMULATOR_VICTIM_LOG"
	victimRound = "MIZAN_SIMULATOR_VICTIM_ROUND"
)

// TestVictim is the child of TestAKillLosesNoAnswer: it submits until it is
// killed and says each answer that it got.
func TestVictim(t *testing.T) {
	path := os.Getenv(victimLog)
	if path == "" {
		t.Skip("runs as a child only")
	}
	var round uint64
	if _, err := fmt.Sscan(os.Getenv(victimRound), &round); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, clock.NewManual(start))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Simulator: s, t: t}
	numbers := []string{"4242424242424242", "4000000000000002", "4000000000000077", "4000000000000119"}
	var all sync.WaitGroup
	for w := range uint64(4) {
		all.Go(func() {
			for n := round<<32 | w<<24; ; n++ {
				outcome := b.submit(cardCall(n, actors.Pay, numbers[n%4]))
				if _, err := fmt.Printf("answer %d %d\n", n, outcome.Verdict); err != nil {
					return
				}
			}
		})
	}
	all.Wait()
}

// TestAKillLosesNoAnswer kills a process in the middle of its calls, five times
// over one log.
func TestAKillLosesNoAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "simulator.log")
	answers := make(map[uint64]actors.Verdict)
	for round := range 5 {
		killed(t, path, round, answers)
		b := &bench{t: t, path: path, clock: clock.NewManual(start)}
		b.open()
		for n, verdict := range answers {
			if got := b.inquire(n).Verdict; got != verdict {
				t.Errorf("call %d was answered %v, an inquiry says %v", n, verdict, got)
			}
		}
		if lines := b.logged(); len(lines) < len(answers) {
			t.Errorf("%d lines for %d answers", len(lines), len(answers))
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killed runs the victim until it has answered a few hundred calls, kills it,
// and adds all that it answered.
func killed(t *testing.T, path string, round int, answers map[uint64]actors.Verdict) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestVictim$")
	child.Env = append(os.Environ(), victimLog+"="+path, fmt.Sprint(victimRound, "=", round))
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	heard := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var n uint64
		var verdict actors.Verdict
		if _, err := fmt.Sscanf(lines.Text(), "answer %d %d", &n, &verdict); err != nil {
			continue // the kill cut it off, or the test runner said something
		}
		answers[n] = verdict
		if heard++; heard == 300+100*round {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil || heard < 300 {
		t.Fatalf("round %d: the victim ended by itself after %d answers: %v", round, heard, err)
	}
}
