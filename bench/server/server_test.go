package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stubVariable is the environment variable that makes the test binary act as a server: "good" becomes ready
// and ends on SIGTERM, "deaf" ignores SIGTERM, "broken" ends immediately.
const stubVariable = "MIZAN_SERVER_STUB"

func TestMain(m *testing.M) {
	if kind := os.Getenv(stubVariable); kind != "" && len(os.Args) > 1 {
		switch os.Args[1] {
		case "serve":
			os.Exit(runStub(kind, os.Args))
		case "bench":
			os.Exit(runEchoStub(kind))
		}
	}
	os.Exit(m.Run())
}

func runStub(kind string, args []string) int {
	if kind == "broken" {
		_, _ = fmt.Fprintln(os.Stderr, "mizan: configuration: nothing fits")
		return 2
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	dir := args[len(args)-1]
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"core_status":"ok"}`))
		}))
	}()
	content, _ := json.Marshal(Sandbox{
		BaseURL: "http://" + listener.Addr().String(), OrganizationID: "o", PartnerID: 1, APIKey: "k",
		AuditorToken: fmt.Sprint(os.Getpid()),
	})
	newFile := filepath.Join(dir, "next")
	if os.WriteFile(newFile, content, 0o600) != nil || os.Rename(newFile, filepath.Join(dir, sandboxFile)) != nil {
		return 1
	}
	for {
		<-signals
		if kind == "good" {
			return 0
		}
	}
}

// runEchoStub is the stub of an echo: "good" prints its URL, "deaf" prints nothing, "broken" ends immediately.
func runEchoStub(kind string) int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	switch kind {
	case "good":
		fmt.Println(EchoReadyPrefix + "http://127.0.0.1:7")
	case "broken":
		_, _ = fmt.Fprintln(os.Stderr, "mizan: no echo here")
		return 2
	}
	<-signals
	return 0
}

func start(t *testing.T, kind, dir string) *Server {
	t.Helper()
	t.Setenv(stubVariable, kind)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(Options{Binary: binary, Dir: dir, TLS: "off"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-s.Exited():
		default:
			_ = s.Kill()
		}
	})
	return s
}

func boundedContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestWaitReadyIgnoresTheFileOfAnEarlierStart(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		s := start(t, "good", dir)
		if err := s.WaitReady(boundedContext(t)); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint(s.PID()); s.Sandbox.AuditorToken != want {
			t.Errorf("sandbox.json of process %s, want %s", s.Sandbox.AuditorToken, want)
		}
		if s.ReadyAfter <= 0 {
			t.Errorf("ready after %v", s.ReadyAfter)
		}
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWaitReadyReportsAnEndedProcess(t *testing.T) {
	s := start(t, "broken", t.TempDir())
	err := s.WaitReady(boundedContext(t))
	if err == nil || !strings.Contains(err.Error(), "nothing fits") || !strings.Contains(err.Error(), "exit status 2") {
		t.Fatalf("Ready = %v", err)
	}
	if err := s.Stop(time.Minute); err == nil {
		t.Error("a process that has ended was signalled")
	}
}

func TestStopWaitsForTheProcessToEnd(t *testing.T) {
	s := start(t, "good", t.TempDir())
	if err := s.WaitReady(boundedContext(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the process is still there: %v", err)
	}
}

func TestStopKillsAProcessThatIgnoresSignals(t *testing.T) {
	s := start(t, "deaf", t.TempDir())
	if err := s.WaitReady(boundedContext(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(time.Millisecond); err == nil || !strings.Contains(err.Error(), "still running") {
		t.Fatalf("Stop = %v", err)
	}
	<-s.Exited()
}

func TestEchoIsStartedAndStopped(t *testing.T) {
	t.Setenv(stubVariable, "good")
	e, err := StartEcho(boundedContext(t), os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if e.BaseURL != "http://127.0.0.1:7" {
		t.Errorf("it is at %q", e.BaseURL)
	}
	if err := e.Stop(time.Minute); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(e.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the process is still there: %v", err)
	}
}

func TestEchoThatDoesNotStartIsReported(t *testing.T) {
	t.Setenv(stubVariable, "broken")
	if _, err := StartEcho(boundedContext(t), os.Args[0]); err == nil || !strings.Contains(err.Error(), "no echo here") {
		t.Errorf("StartEcho = %v", err)
	}
	t.Setenv(stubVariable, "deaf")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := StartEcho(ctx, os.Args[0]); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("StartEcho = %v", err)
	}
}

func TestUsageOfTheOwnProcessIsRead(t *testing.T) {
	before, err := UsageOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	ballast := make([]byte, 64<<20)
	for i := 0; i < len(ballast); i += 4096 {
		ballast[i] = 1
	}
	for round := 0; ; round++ { // until one tick of CPU time has been used
		after, err := UsageOf(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if after.CPU > before.CPU {
			if grown := after.Anon - before.Anon; grown < 32<<20 {
				t.Errorf("anonymous memory grew by %d bytes, want about %d", grown, len(ballast))
			}
			break
		}
	}
	if ballast[4096] != 1 {
		t.Fatal("unreachable: keeps the ballast alive")
	}
}

func TestUsageIsParsedFromProcFiles(t *testing.T) {
	stat := "77 (a b) c) S 1 77 77 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 9 0 1000 1 1 1"
	if got, err := cpuTime([]byte(stat)); err != nil || got != 3*time.Second {
		t.Errorf("cpuTime = %v, %v; want 3s", got, err)
	}
	if _, err := cpuTime([]byte("77 (short) S")); err == nil {
		t.Error("a short line was accepted")
	}
	status := []byte("Name:\tx\nVmRSS:\t    1033 kB\nRssAnon:\t    1024 kB\nRssFile:\t 9 kB\n")
	if got, err := statusBytes(status, "RssAnon"); err != nil || got != 1<<20 {
		t.Errorf("RssAnon = %v, %v; want 1 MiB", got, err)
	}
	if got, err := statusBytes(status, "VmRSS"); err != nil || got != 1033<<10 {
		t.Errorf("VmRSS = %v, %v; want 1033 KiB", got, err)
	}
	if got, err := statusBytes([]byte("Name:\tx\n"), "VmRSS"); err != nil || got != 0 {
		t.Errorf("a process that has ended: %v, %v", got, err)
	}
}

func TestWrittenBytesAreParsed(t *testing.T) {
	const content = "rchar: 6976\nwchar: 5\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\nwrite_bytes: 81920\ncancelled_write_bytes: 12288\n"
	if got, err := writtenBytes([]byte(content)); err != nil || got != 81920 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "cancelled_write_bytes: 1\n", "\nwrite_bytes: x\n"} {
		if _, err := writtenBytes([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestIncompleteSandboxFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, sandboxFile), []byte(`{"base_url":"http://x","api_key":"k"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSandbox(dir); err == nil {
		t.Error("accepted")
	}
}
