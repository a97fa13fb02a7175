package simulator

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	"mizan/actors/provider/simulator/remote"
	"mizan/internal/secret"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

var terminal = &directory.Terminal{ID: ledger.ID{7}}

// connect returns an adapter that calls the simulator.
func connect(t *testing.T, s *testkit.Simulator) *remote.Provider {
	t.Helper()
	p, err := remote.New(remote.Options{URL: s.URL, Log: slog.New(slog.DiscardHandler), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func pay(t *testing.T, p *remote.Provider, n byte) actors.Outcome {
	return p.Submit(t.Context(), &actors.Call{
		Org: ledger.ID{1}, Reference: ledger.ID{n}, Operation: actors.Pay, Terminal: terminal, Amount: money.FromUint64(1000),
		Asset: money.Asset{Currency: "USD", Env: money.Test}, Method: "bank_card", Card: &secret.Card{Number: []byte("4242424242424242")},
	})
}

func inquire(t *testing.T, p *remote.Provider, n byte) actors.Outcome {
	return p.Inquire(t.Context(), &actors.Inquiry{Terminal: terminal, Reference: ledger.ID{n}, Operation: actors.Pay})
}

func wantVerdict(t *testing.T, what string, o actors.Outcome, want payment.Verdict) {
	t.Helper()
	if o.Verdict != want {
		t.Errorf("%s: the verdict is %v, want %v", what, o.Verdict, want)
	}
}

// A call that was answered survives a kill and a stop. A call while no process runs is not sent.
func TestChargesSurviveKillAndStop(t *testing.T) {
	s := testkit.StartSimulator(t, nil)
	p := connect(t, s)
	wantVerdict(t, "a call", pay(t, p, 1), payment.VerdictCharged)
	s.Kill()
	wantVerdict(t, "a call after the kill", pay(t, p, 2), payment.VerdictNotSent)
	s.Restart()
	wantVerdict(t, "an inquiry after the kill", inquire(t, p, 1), payment.VerdictCharged)
	wantVerdict(t, "another call", pay(t, p, 3), payment.VerdictCharged)
	if code := s.Stop(); code != 0 || s.Stderr() != "" {
		t.Errorf("SIGTERM ended with %d and %q, want 0", code, s.Stderr())
	}
	s.Restart()
	for n, want := range map[byte]payment.Verdict{1: payment.VerdictCharged, 2: payment.VerdictNotFound, 3: payment.VerdictCharged} {
		wantVerdict(t, "an inquiry after the stop", inquire(t, p, n), want)
	}
}

// required returns the flags that the command needs.
func required(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	keyring := filepath.Join(dir, "keyring")
	testkit.MustRun(t, "keyring", keyring)
	return []string{"simulator", "--data", filepath.Join(dir, "data"), "--keyring", keyring, "--base-url", "https://shop.example"}
}

func TestBadFlagsAreReportedAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no flags": {[]string{}, "data: is required\nkeyring: is required\nbase-url: is required\n"},
		"every flag is bad": {
			[]string{"--data", "", "--keyring", "missing", "--base-url", "ftp://x", "--listen", "0.0.0.0:1"},
			"data: is empty\nkeyring: open missing: no such file or directory\nbase-url: is not an https:// address\n" +
				`listen: "0.0.0.0:1" is not an address of this machine only, such as 127.0.0.1:8444; the simulator serves any caller without encryption` + "\n",
		},
		"no port": {[]string{"--data", "x", "--keyring", os.Args[0], "--base-url", "http://x", "--listen", "localhost"}, "listen: \"localhost\" is not HOST:PORT\n"},
	} {
		r := testkit.Run(t, nil, append([]string{"simulator"}, c.args...)...)
		if want := "mizan: configuration: " + strings.ReplaceAll(strings.TrimSuffix(c.want, "\n"), "\n", "\nmizan: configuration: ") + "\n"; r.Exit != 2 || r.Stderr != want || r.Stdout != "" {
			t.Errorf("%s: exit %d, %q, want %q", name, r.Exit, r.Stderr, want)
		}
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a directory was created")
	}
}

// refused runs the command and checks that it ends with the code and one line.
func refused(t *testing.T, args []string, wantExit int, wantPrefix string) {
	t.Helper()
	r := testkit.Run(t, nil, args...)
	if r.Exit != wantExit || r.Stdout != "" {
		t.Errorf("exit %d, want %d; stdout is %q", r.Exit, wantExit, r.Stdout)
	}
	testkit.WantOneLine(t, r.Stderr, wantPrefix)
}

func TestTwoProcessesNeverUseOneDirectory(t *testing.T) {
	s := testkit.StartSimulator(t, nil)
	args := required(t)
	refused(t, append(args, "--data", s.Dir, "--listen", "127.0.0.1:0"), 3, "mizan: locked: "+s.Dir)
	refused(t, []string{"serve", "--sandbox", "--data", s.Dir, "--listen", "127.0.0.1:0", "--log-level", "error"}, 3, "mizan: locked: ")
	wantVerdict(t, "a call", pay(t, connect(t, s), 1), payment.VerdictCharged)
}

func TestTheDirectoryOfAServerIsRefused(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	server.Stop()
	refused(t, append(required(t), "--data", server.Dir), 2, "mizan: configuration: data: "+server.Dir+" is the data directory of a server")
	server.Restart()
}

func TestAnAddressInUseIsReported(t *testing.T) {
	s := testkit.StartSimulator(t, nil)
	address := strings.TrimPrefix(s.URL, "http://")
	refused(t, append(required(t), "--listen", address), 2, "mizan: configuration: listen: "+address+" is in use")
}

func TestADamagedLogAndABadKeyringAreReported(t *testing.T) {
	s := testkit.StartSimulator(t, nil)
	p := connect(t, s)
	for n := range byte(3) {
		wantVerdict(t, "a call", pay(t, p, n), payment.VerdictCharged)
	}
	s.Stop()
	path := filepath.Join(s.Dir, logName)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[100] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	args := required(t)
	refused(t, append(args, "--data", s.Dir, "--listen", "127.0.0.1:0"), 1, "mizan: storage: simulator: "+path+": line 1: damaged")
	bad := testkit.WriteFile(t, "keyring", "{}")
	refused(t, append(args, "--keyring", bad), 2, "mizan: configuration: keyring: ")
}

// A server keeps connections for its next calls. They do not delay the stop.
func TestAnIdleConnectionDoesNotDelayTheStop(t *testing.T) {
	s := testkit.StartSimulator(t, nil)
	wantVerdict(t, "a call", pay(t, connect(t, s), 1), payment.VerdictCharged)
	begin := time.Now()
	if code := s.Stop(); code != 0 || s.Stderr() != "" || time.Since(begin) > stopTimeout/2 {
		t.Errorf("SIGTERM ended with %d and %q after %v", code, s.Stderr(), time.Since(begin))
	}
}
