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

// victimBounds make the victim write checkpoints often. The index is large enough for the test's own calls.
var victimBounds = bounds{chunkSize: chunkSize, checkpointEvery: 3000, index: indexBound, filterBits: 1 << 16, chargebackReports: chargebackBound}

// victimCalls returns the calls that the victim (the child process that the test kills) makes for a charge. Every
// fourth charge is held, captured and refunded.
func victimCalls(chargeNumber uint64) []*actors.Call {
	switch chargeNumber % 4 {
	case 0:
		return []*actors.Call{cardCall(chargeNumber, actors.Pay, "4242424242424242")}
	case 1:
		return []*actors.Call{cardCall(chargeNumber, actors.Pay, "4000000000000002")}
	case 2:
		return []*actors.Call{cardCall(chargeNumber, actors.Pay, "4000000000000077"), followUpCall(chargeNumber, actors.Void, chargeNumber, 0)}
	}
	return []*actors.Call{
		heldCall(cardCall(chargeNumber, actors.Pay, "4242424242424242")), followUpCall(chargeNumber, actors.Capture, chargeNumber, 700),
		followUpCall(chargeNumber, actors.Refund, chargeNumber, 701), followUpCall(chargeNumber, actors.Void, chargeNumber, 0),
	}
}

// answeredCall identifies a call of the victim whose outcome was returned before the kill.
type answeredCall struct {
	chargeNumber uint64
	operation    actors.Operation
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
	sim := &testSimulator{t: t, path: path, clock: clock.NewManual(start), within: victimBounds}
	sim.open()
	var running sync.WaitGroup
	for worker := range uint64(4) {
		running.Go(func() {
			for n := round<<32 | worker<<24; ; n++ {
				for _, call := range victimCalls(n) {
					outcome := sim.submit(call)
					if _, err := fmt.Printf("answer %d %d %d\n", n, call.Operation, outcome.Verdict); err != nil {
						return
					}
				}
			}
		})
	}
	running.Wait()
}

// TestKillLosesNoReturnedOutcome kills a process during its calls, five times with the same log.
func TestKillLosesNoReturnedOutcome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "simulator.log")
	answers := make(map[answeredCall]payment.Verdict)
	for round := range 5 {
		runVictim(t, path, round, answers)
		sim := &testSimulator{t: t, path: path, clock: clock.NewManual(start), within: victimBounds}
		sim.open()
		if round > 0 && sim.checkpointedUpTo == 0 {
			t.Error("the victim has written no checkpoint")
		}
		for call, verdict := range answers {
			if call.operation == actors.Pay {
				sim.checkCharge(call.chargeNumber, verdict, answers)
			} else if got := sim.inquireAbout(call.chargeNumber, call.operation, call.chargeNumber).Verdict; got != verdict {
				t.Errorf("%v %d was answered %v, an inquiry says %v", call.operation, call.chargeNumber, verdict, got)
			}
		}
		if lines := sim.logLines(); len(lines) < len(answers) {
			t.Errorf("%d lines for %d answers", len(lines), len(answers))
		}
		if err := sim.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkCharge compares a charge with the returned outcomes. A later call, even one whose outcome was not
// returned, may have changed the charge before the kill.
func (sim *testSimulator) checkCharge(n uint64, verdict payment.Verdict, answers map[answeredCall]payment.Verdict) {
	sim.t.Helper()
	changedVerdict := map[payment.Verdict]payment.Verdict{payment.VerdictPending: payment.VerdictRefused, payment.VerdictHeld: payment.VerdictCharged}[verdict]
	_, voided := answers[answeredCall{n, actors.Void}]
	_, captured := answers[answeredCall{n, actors.Capture}]
	switch got := sim.inquire(n).Verdict; {
	case got == verdict && (changedVerdict == 0 || !voided && !captured), got == changedVerdict && changedVerdict != 0:
	default:
		sim.t.Errorf("charge %d was answered %v, an inquiry says %v", n, verdict, got)
	}
}

// runVictim runs the victim until it has printed a few hundred outcomes, kills it, and records all printed
// outcomes in answers.
func runVictim(t *testing.T, path string, round int, answers map[answeredCall]payment.Verdict) {
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
	answerCount := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var call answeredCall
		var verdict payment.Verdict
		if _, err := fmt.Sscanf(lines.Text(), "answer %d %d %d", &call.chargeNumber, &call.operation, &verdict); err != nil {
			continue // cut off by the kill, or a line of the test runner
		}
		answers[call] = verdict
		if answerCount++; answerCount == 300+100*round {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil || answerCount < 300 {
		t.Fatalf("round %d: the victim ended by itself after %d answers: %v", round, answerCount, err)
	}
}
