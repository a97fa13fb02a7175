package providersuite

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/ledger/payment"
)

// test is one test of the suite.
type test struct {
	name  string
	needs []Feature
	run   func(tb testing.TB, r *run)
}

// allFeatures are the features that a Rail may lack.
var allFeatures = []Feature{
	Charges, Payouts, Holds, PartialCaptures, Refunds, PayerActions, Declines, SlowCharges, Reversals, Returns, LateCharges, LatePayouts, Credentials,
	Connections, RepeatedCalls, OperationInquiries, Preparations,
}

// Run tests an adapter.
func Run(t *testing.T, rail Rail) {
	t.Helper()
	r := begin(t, rail, nil)
	for _, tested := range tests() {
		t.Run(tested.name, func(t *testing.T) {
			if missing, reason := r.missing(tested.needs); missing != "" {
				t.Skipf("%s has no %s: %s", rail.Name, missing, reason)
			}
			tested.run(t, r)
		})
	}
}

// Findings runs the suite with adapters that the function wrap has changed, until a test has failed, and returns what it has
// found. If it returns nothing, the suite has not noticed the change. Only the tests are run whose name begins with the text, which
// may be empty. It is for tests of the suite.
func Findings(t *testing.T, rail Rail, names string, wrap func(actors.Provider) actors.Provider) []string {
	t.Helper()
	r := begin(t, rail, wrap)
	for _, tested := range tests() {
		if missing, _ := r.missing(tested.needs); missing != "" || !strings.HasPrefix(tested.name, names) {
			continue
		}
		found := &recorder{TB: t}
		found.do(tested.name, func(tb testing.TB) { tested.run(tb, r) })
		if len(found.texts) > 0 {
			return found.texts
		}
	}
	return nil
}

func begin(t *testing.T, rail Rail, wrap func(actors.Provider) actors.Provider) *run {
	t.Helper()
	for feature, reason := range rail.Lacks {
		if !slices.Contains(allFeatures, feature) || reason == "" {
			t.Fatalf("the rail lacks %q, which is no feature, or gives no reason", feature)
		}
	}
	r := &run{rail: rail, clock: clock.NewManual(start), wrap: wrap}
	r.standIn = rail.Start(t, r.clock)
	return r
}

func (r *run) lacks(f Feature) bool { return r.rail.Lacks[f] != "" }

// missing returns the first of the features that the rail lacks, and the reason.
func (r *run) missing(needs []Feature) (Feature, string) {
	for _, f := range needs {
		if reason := r.rail.Lacks[f]; reason != "" {
			return f, reason
		}
	}
	return "", ""
}

// kind returns the kind of transaction with which tests try what payments and payouts have in common.
func (r *run) kind() payment.Type {
	if r.lacks(Charges) {
		return payment.Payout
	}
	return payment.Payment
}

// hasInstrument tells whether the rail has an instrument of the kind with the behaviour.
func (r *run) hasInstrument(kind payment.Type, b Behaviour) bool {
	if kind == payment.Payment && r.lacks(Charges) || kind == payment.Payout && (r.lacks(Payouts) || b == NeedsPayer) {
		return false
	}
	switch b {
	case IsDeclined:
		return !r.lacks(Declines)
	case TakesTime:
		return !r.lacks(SlowCharges)
	case NeedsPayer:
		return !r.lacks(PayerActions)
	case ComesBack:
		return !r.lacks(map[payment.Type]Feature{payment.Payment: Reversals, payment.Payout: Returns}[kind])
	}
	return true
}

// each runs a part of a test, so that its resources are freed before the next part.
func each(tb testing.TB, name string, fn func(testing.TB)) {
	tb.Helper()
	switch t := tb.(type) {
	case *testing.T:
		t.Run(name, func(t *testing.T) { fn(t) })
	case *recorder:
		t.do(name, fn)
	}
}

// recorder is a test whose failures are findings.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	texts    []string // guarded by mu
	cleanups []func()
}

// do runs fn as a test of its own, and keeps its findings.
func (r *recorder) do(name string, fn func(testing.TB)) {
	part := &recorder{TB: r.TB}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer part.clean()
		fn(part)
	}()
	<-done
	for _, text := range part.texts {
		r.add(name + ": " + text)
	}
}

// clean calls the cleanup functions, the last one first, even if one ends the goroutine.
func (r *recorder) clean() {
	for len(r.cleanups) > 0 {
		last := r.cleanups[len(r.cleanups)-1]
		r.cleanups = r.cleanups[:len(r.cleanups)-1]
		done := make(chan struct{})
		go func() { defer close(done); last() }()
		<-done
	}
}

func (r *recorder) add(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts = append(r.texts, text)
}

// Cleanup implements testing.TB.
func (r *recorder) Cleanup(fn func()) { r.cleanups = append(r.cleanups, fn) }

// Error implements testing.TB.
func (r *recorder) Error(args ...any) { r.add(fmt.Sprintln(args...)) }

// Errorf implements testing.TB.
func (r *recorder) Errorf(format string, args ...any) { r.add(fmt.Sprintf(format, args...)) }

// Fatal implements testing.TB.
func (r *recorder) Fatal(args ...any) { r.Error(args...); runtime.Goexit() }

// Fatalf implements testing.TB.
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); runtime.Goexit() }

// Fail implements testing.TB.
func (r *recorder) Fail() { r.add("failed") }

// FailNow implements testing.TB.
func (r *recorder) FailNow() { r.Fail(); runtime.Goexit() }

// Failed implements testing.TB.
func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.texts) > 0
}
