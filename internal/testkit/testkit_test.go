package testkit

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

// failureRecorder is a testing.TB whose Fatalf only records the message and ends the goroutine.
type failureRecorder struct {
	testing.TB
	failure string
}

func (r *failureRecorder) Fatalf(format string, args ...any) {
	r.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestServerThatEndsBeforeItIsReadyFailsItsTest(t *testing.T) {
	r := &failureRecorder{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Start(r, Options{Dir: filepath.Join(t.TempDir(), "data"), Flags: []string{"--tls", "maybe"}})
	}()
	<-ended
	if !strings.Contains(r.failure, "ended with 2") || !strings.Contains(r.failure, "mizan: configuration: tls") {
		t.Errorf("failed with %q, want the exit code and what the server said", r.failure)
	}
}

// endableTest is a testing.TB that records its cleanup functions and its failure. The real test calls the cleanup functions,
// as at the end of a test.
type endableTest struct {
	testing.TB
	cleanups []func()
	failure  string
}

func (e *endableTest) Cleanup(cleanup func())            { e.cleanups = append(e.cleanups, cleanup) }
func (e *endableTest) Errorf(format string, args ...any) { e.failure = fmt.Sprintf(format, args...) }

func TestARaceInAProcessThatIsKilledFailsItsTest(t *testing.T) {
	if !hasRaceDetector {
		t.Skip("without the race detector no process reports a race")
	}
	e := &endableTest{TB: t}
	p := launch(e, "/bin/sh", 0, nil, []string{"-c", "echo 'WARNING: DATA RACE' >&2; exec sleep 600"})
	WaitUntil(t, "what the process reports", func() bool { return p.stderr.String() != "" })
	for _, cleanup := range e.cleanups {
		cleanup()
	}
	if !strings.Contains(e.failure, "had a race") || p.isRunning() {
		t.Errorf("running: %v, the test was told %q", p.isRunning(), e.failure)
	}
}

func TestKillStopAndRestart(t *testing.T) {
	s := Start(t, Options{})
	firstPID := s.PID()
	s.Kill()
	if err := syscall.Kill(firstPID, 0); err == nil {
		t.Error("the process is still there after a kill")
	}
	if code := s.Wait(); code != -1 {
		t.Errorf("a killed server ended with %d, want -1", code)
	}
	s.Restart("--log-level", "debug")
	if s.PID() == firstPID {
		t.Error("a restart kept the process")
	}
	if !strings.Contains(s.Stderr(), "level=DEBUG") {
		t.Error("a restart did not take its flags")
	}
	if code := s.Stop(); code != 0 {
		t.Errorf("a stopped server ended with %d, want 0", code)
	}
}

func TestCallersHaveTheirOwnCredentials(t *testing.T) {
	s := Start(t, Options{})
	for name, c := range map[string]*Client{"auditor": s.Auditor(), "session": s.Session(), "partner": s.Partner(), "second": s.SecondPartner()} {
		answer, err := c.Get("/api/v1/ledger/accounts")
		if err != nil || answer.Status != 200 {
			t.Errorf("%s: %+v, %v, want 200", name, answer, err)
		}
	}
	for name, c := range map[string]*Client{
		"anyone": s.Anyone(), "no key": s.Partner().With("x-api-key", ""), "foreign": s.Partner().With("x-organization-id", s.Sandbox.Second.OrganizationID),
	} {
		answer, err := c.Get("/api/v1/ledger/accounts")
		if err != nil || answer.Status != 401 {
			t.Errorf("%s: %+v, %v, want 401", name, answer, err)
		}
	}
}

func TestRunReportsExitCodeAndOutput(t *testing.T) {
	if r := Run(t, nil, "version"); r.Exit != 0 || !strings.HasPrefix(r.Stdout, "mizan ") || r.Stderr != "" {
		t.Errorf("version: %+v", r)
	}
	if r := Run(t, []string{"MIZAN_LISTEN=nowhere"}, "serve", "--sandbox"); r.Exit != 2 || !strings.Contains(r.Stderr, "listen") {
		t.Errorf("a bad variable: %+v", r)
	}
}
