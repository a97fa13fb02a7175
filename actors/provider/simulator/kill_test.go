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
	"mizan/ledger/payment"
)

const (
	victimLog   = "MIZAN_SIMULATOR_VICTIM_LOG"
	victimRound = "MIZAN_SIMULATOR_VICTIM_ROUND"
)

// victimCalls returns the calls that the victim, a process that is killed, makes for charge n. Every fourth
// charge is held, captured and refunded.
func victimCalls(n uint64) []*actors.Call {
	switch n % 4 {
	case 0:
		return []*actors.Call{cardCall(n, actors.Pay, "4242424242424242")}
	case 1:
		return []*actors.Call{cardCall(n, actors.Pay, "4000000000000002")}
	case 2:
		return []*actors.Call{cardCall(n, actors.Pay, "4000000000000077"), followUpCall(n, actors.Void, n, 0)}
	}
	return []*actors.Call{
		heldCall(cardCall(n, actors.Pay, "4242424242424242")), followUpCall(n, actors.Capture, n, 700),
		followUpCall(n, actors.Refund, n, 701), followUpCall(n, actors.Void, n, 0),
	}
}

// answered identifies a call of the victim whose outcome was returned before the kill.
type answered struct {
	n         uint64
	operation actors.Operation
}

// TestVictim is the child process of TestKillLosesNoReturnedOutcome: it submits until it is killed and
// prints each outcome.
func TestVictim(t *testing.T) {
	path := os.Getenv(victimLog)
	if path == "" {
		t.Skip("runs as a child only")
	}
	var round uint64
	if _, err := fmt.Sscan(os.Getenv(victimRound), &round); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Options{Path: path, Clock: clock.NewManual(start), BaseURL: baseURL, Key: testKey})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Simulator: s, t: t}
	var running sync.WaitGroup
	for w := range uint64(4) {
		running.Go(func() {
			for n := round<<32 | w<<24; ; n++ {
				for _, call := range victimCalls(n) {
					outcome := b.submit(call)
					if _, err := fmt.Printf("answer %d %d %d\n", n, call.Operation, outcome.Verdict); err != nil {
						return
					}
				}
			}
		})
	}
	running.Wait()
}

// TestKillLosesNoReturnedOutcome kills a process during its calls, five times over one log.
func TestKillLosesNoReturnedOutcome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "simulator.log")
	answers := make(map[answered]payment.Verdict)
	for round := range 5 {
		runVictim(t, path, round, answers)
		b := &bench{t: t, path: path, clock: clock.NewManual(start)}
		b.open()
		for a, verdict := range answers {
			if a.operation == actors.Pay {
				b.checkPaid(a.n, verdict, answers)
			} else if got := b.inquireAbout(a.n, a.operation, a.n).Verdict; got != verdict {
				t.Errorf("%v %d was answered %v, an inquiry says %v", a.operation, a.n, verdict, got)
			}
		}
		if lines := b.logLines(); len(lines) < len(answers) {
			t.Errorf("%d lines for %d answers", len(lines), len(answers))
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkPaid compares a charge with the returned outcomes. A call whose outcome was not returned may
// have changed the charge before the kill.
func (b *bench) checkPaid(n uint64, verdict payment.Verdict, answers map[answered]payment.Verdict) {
	b.t.Helper()
	changed := map[payment.Verdict]payment.Verdict{payment.VerdictPending: payment.VerdictRefused, payment.VerdictHeld: payment.VerdictCharged}[verdict]
	_, voided := answers[answered{n, actors.Void}]
	_, captured := answers[answered{n, actors.Capture}]
	switch got := b.inquire(n).Verdict; {
	case got == verdict && (changed == 0 || !voided && !captured), got == changed && changed != 0:
	default:
		b.t.Errorf("charge %d was answered %v, an inquiry says %v", n, verdict, got)
	}
}

// runVictim runs the victim until it has printed a few hundred outcomes, kills it, and records all of
// them.
func runVictim(t *testing.T, path string, round int, answers map[answered]payment.Verdict) {
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
	acknowledged := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var a answered
		var verdict payment.Verdict
		if _, err := fmt.Sscanf(lines.Text(), "answer %d %d %d", &a.n, &a.operation, &verdict); err != nil {
			continue // cut off by the kill, or a line of the test runner
		}
		answers[a] = verdict
		if acknowledged++; acknowledged == 300+100*round {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil || acknowledged < 300 {
		t.Fatalf("round %d: the victim ended by itself after %d answers: %v", round, acknowledged, err)
	}
}
