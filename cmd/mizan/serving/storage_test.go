package serving

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"mizan/actors"
	"mizan/actors/provider/simulator"
	"mizan/internal/clock"
	"mizan/internal/testkit"
	"mizan/ledger/directory"
)

func TestSecondServerOnTheDirectoryIsLockedOut(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	sandboxBefore := readSandboxFile(t, server)
	for _, args := range [][]string{
		{"serve", "--sandbox", "--data", server.Dir, "--listen", "127.0.0.1:0"},
		{"audit", "verify", "--data", server.Dir},
	} {
		r := testkit.Run(t, nil, args...)
		if r.Exit != 3 {
			t.Errorf("%v exited with %d, want 3: %s", args[0], r.Exit, r.Stderr)
		}
	}
	r := testkit.Run(t, nil, "serve", "--sandbox", "--data", server.Dir, "--listen", "127.0.0.1:0")
	testkit.WantOneLine(t, r.Stderr, "mizan: locked: ")
	if !bytes.Equal(sandboxBefore, readSandboxFile(t, server)) {
		t.Error("the server that was locked out wrote sandbox.json")
	}
	testkit.Pay(t, server.Partner(), "")
}

func TestManualClockKeepsItsValue(t *testing.T) {
	testkit.NotUnderRace(t, reasonStartIsSequential)
	server := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})
	askClock := func() time.Time {
		t.Helper()
		answer, err := server.Admin().Get("/api/v1/sandbox/clock")
		var body struct{ Now time.Time }
		if err := testkit.WantStatus(t, answer, err, 200).JSON(&body); err != nil {
			t.Fatal(err)
		}
		return body.Now
	}
	firstTime := askClock()
	testkit.Pay(t, server.Partner(), "before")
	if again := askClock(); !again.Equal(firstTime) {
		t.Errorf("the clock moved by itself from %v to %v", firstTime, again)
	}
	server.Kill()
	server.Restart()
	if again := askClock(); !again.Equal(firstTime) {
		t.Errorf("after a kill the clock says %v, want the first start's %v", again, firstTime)
	}
	answer, err := server.Admin().Put("/api/v1/sandbox/clock", `{"advance_seconds": 86400}`)
	testkit.WantStatus(t, answer, err, 200)
	server.Kill()
	server.Restart()
	if want := firstTime.Add(24 * time.Hour); !askClock().Equal(want) {
		t.Errorf("after a kill the clock says %v, want %v", askClock(), want)
	}
	testkit.Pay(t, server.Partner(), "after")

	server.Stop()
	r := testkit.Run(t, nil, "serve", "--sandbox", "--data", server.Dir, "--listen", "127.0.0.1:0")
	if r.Exit != 2 {
		t.Errorf("--clock real on the store: exit %d, want 2", r.Exit)
	}
	testkit.WantOneLine(t, r.Stderr, "mizan: configuration: clock: ")
}

// TestManualClockStartsAfterTheLastBookedTime deletes the file of the manual clock. The new clock starts at the time of the last
// event or later.
func TestManualClockStartsAfterTheLastBookedTime(t *testing.T) {
	testkit.NotUnderRace(t, reasonStartIsSequential)
	server := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})
	answer, err := server.Admin().Put("/api/v1/sandbox/clock", `{"advance_seconds": 86400}`)
	testkit.WantStatus(t, answer, err, 200)
	testkit.Pay(t, server.Partner(), "")
	timeBefore, _, err := readClock(server.Dir)
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := os.Remove(filepath.Join(server.Dir, clockFile)); err != nil {
		t.Fatal(err)
	}
	r := testkit.Run(t, nil, "serve", "--sandbox", "--data", server.Dir, "--listen", "127.0.0.1:0")
	if r.Exit != 2 {
		t.Errorf("--clock real on a store that is ahead of it: exit %d, want 2", r.Exit)
	}
	testkit.WantOneLine(t, r.Stderr, "mizan: configuration: clock: ")
	server.Restart()
	if at, found, err := readClock(server.Dir); err != nil || !found || at.Before(timeBefore) {
		t.Errorf("the clock began at %v, %v, want %v or later", at, err, timeBefore)
	}
}

// If the file of the manual clock is replaced by an earlier copy, the clock still starts at the time of the last event or later.
func TestManualClockIsNeverBehindTheLastBooking(t *testing.T) {
	testkit.NotUnderRace(t, reasonStartIsSequential)
	server := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})
	path := filepath.Join(server.Dir, clockFile)
	earlier, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Admin().Put("/api/v1/sandbox/clock", `{"advance_seconds": 86400}`)
	var moved, restarted struct{ Now time.Time }
	if err := testkit.WantStatus(t, answer, err, 200).JSON(&moved); err != nil {
		t.Fatal(err)
	}
	testkit.Pay(t, server.Partner(), "late")
	server.Stop()
	if err := os.WriteFile(path, earlier, 0o600); err != nil {
		t.Fatal(err)
	}
	server.Restart()
	answer, err = server.Admin().Get("/api/v1/sandbox/clock")
	if err := testkit.WantStatus(t, answer, err, 200).JSON(&restarted); err != nil {
		t.Fatal(err)
	}
	if restarted.Now.Before(moved.Now) {
		t.Errorf("the clock says %v, and a payment was booked at %v", restarted.Now, moved.Now)
	}
	if !strings.Contains(server.Stderr(), "the clock's file is of an earlier moment") {
		t.Errorf("the log does not say it: %s", server.Stderr())
	}
}

func TestDamagedDirectoryIsRefused(t *testing.T) {
	testkit.NotUnderRace(t, reasonRefusedStart)
	for name, damage := range map[string]func(t *testing.T, dir string){
		"log/segment-0000000000000001": flipEveryByte,
		"simulator.log":                flipEveryByte,
		"keyring":                      truncateToHalf,
		"clock":                        flipEveryByte,
		"tls/ca.key": func(t *testing.T, path string) {
			truncateToHalf(t, path)
		},
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			s := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})
			testkit.Pay(t, s.Partner(), "")
			s.Stop()
			damage(t, filepath.Join(s.Dir, filepath.FromSlash(name)))
			r := testkit.Run(t, nil, "serve", "--sandbox", "--clock", "manual", "--data", s.Dir, "--listen", "127.0.0.1:0", "--log-level", "error")
			if r.Exit != 1 {
				t.Errorf("exit %d, want 1", r.Exit)
			}
			testkit.WantOneLine(t, r.Stderr, "mizan: storage: ")
		})
	}
	for name, wantPrefix := range map[string]string{"keyring": "mizan: storage: keyring", "simulator.log": "mizan: storage: "} {
		t.Run("missing "+name, func(t *testing.T) {
			s := testkit.Start(t, testkit.Options{})
			s.Stop()
			if err := os.Remove(filepath.Join(s.Dir, name)); err != nil {
				t.Fatal(err)
			}
			for range 2 { // twice, because the first start, which is refused, must not create the missing file
				r := testkit.Run(t, nil, "serve", "--sandbox", "--data", s.Dir, "--listen", "127.0.0.1:0", "--log-level", "error")
				if r.Exit != 1 || !strings.HasSuffix(r.Stderr, "it is in no backup that mizan takes\n") && !strings.HasSuffix(r.Stderr, "restore from a backup\n") {
					t.Errorf("exit %d, want 1 and the advice: %s", r.Exit, r.Stderr)
				}
				testkit.WantOneLine(t, r.Stderr, wantPrefix)
			}
		})
	}
}

// TestDamagedSimulatorLogIsRefused replaces a word in the simulator's log so that the line still parses.
func TestDamagedSimulatorLogIsRefused(t *testing.T) {
	testkit.NotUnderRace(t, reasonRefusedStart)
	server := testkit.Start(t, testkit.Options{})
	testkit.Pay(t, server.Partner(), "one")
	testkit.Pay(t, server.Partner(), "two")
	server.Stop()
	path := filepath.Join(server.Dir, "simulator.log")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	secondLine := bytes.IndexByte(content, '\n') + 1
	changed := bytes.Replace(content[secondLine:], []byte(`"outcome":"charged"`), []byte(`"outcome":"refused"`), 1)
	if err := os.WriteFile(path, append(content[:secondLine:secondLine], changed...), 0o600); err != nil {
		t.Fatal(err)
	}
	r := testkit.Run(t, nil, "serve", "--sandbox", "--data", server.Dir, "--listen", "127.0.0.1:0", "--log-level", "error")
	if r.Exit != 1 {
		t.Errorf("exit %d, want 1", r.Exit)
	}
	if testkit.WantOneLine(t, r.Stderr, "mizan: storage: "); !strings.HasSuffix(r.Stderr, "simulator.log: line 2: damaged; restore from a backup\n") {
		t.Errorf("stderr is %q", r.Stderr)
	}
}

// A start does not read the lines of the simulator's log that a checkpoint covers. The simulator verifies them later. If it
// finds damage, the server ends in the same way as if the start had found it.
func TestDamageThatTheSimulatorFindsLaterEndsTheServer(t *testing.T) {
	testkit.NotUnderRace(t, reasonRefusedStart)
	server := testkit.Start(t, testkit.Options{})
	server.Stop()
	path := filepath.Join(server.Dir, simulatorLog)
	makeCheckpoint(t, path)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[bytes.IndexByte(content, '\n')+100] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second start reads the whole log, because the first has removed the checkpoint
		r := testkit.Run(t, nil, "serve", "--sandbox", "--data", server.Dir, "--listen", "127.0.0.1:0", "--log-level", "error")
		if r.Exit != 1 {
			t.Errorf("exit %d, want 1", r.Exit)
		}
		if testkit.WantOneLine(t, r.Stderr, "mizan: storage: "); !strings.HasSuffix(r.Stderr, "simulator.log: line 2: damaged; restore from a backup\n") {
			t.Errorf("stderr is %q", r.Stderr)
		}
		if _, err := os.Stat(path + simulator.CheckpointSuffix); err == nil {
			t.Error("the checkpoint of the damaged log is still there")
		}
	}
}

// A start does not verify the files with long values. The running server compares them with their checksums, and ends if one is
// damaged.
func TestDamagedValueEndsTheServer(t *testing.T) {
	testkit.NotUnderRace(t, reasonRefusedStart)
	server := testkit.Start(t, testkit.Options{})
	testkit.Pay(t, server.Partner(), "one")
	server.Stop()
	paths, err := filepath.Glob(filepath.Join(server.Dir, "store", "values", "*"))
	if err != nil || len(paths) < 2 {
		t.Fatalf("the store has the files of values %v: %v", paths, err)
	}
	content, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	content[100] ^= 1 // a byte of the first value in the file, which is a block of events
	if err := os.WriteFile(paths[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r := testkit.Run(t, nil, "serve", "--sandbox", "--data", server.Dir, "--listen", "127.0.0.1:0", "--log-level", "error")
		if r.Exit != 1 {
			t.Errorf("exit %d, want 1", r.Exit)
		}
		lines := strings.SplitAfter(r.Stderr, "\n")
		said := strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "time=") }), "") // without the lines of the log, which are on stderr too
		if testkit.WantOneLine(t, said, "mizan: storage: "); !strings.Contains(said, paths[0]) || !strings.HasSuffix(said, "restore from a backup\n") {
			t.Errorf("stderr is %q", r.Stderr)
		}
	}
}

// makeCheckpoint makes enough calls of the simulator that it writes a checkpoint of its log.
func makeCheckpoint(t *testing.T, path string) {
	t.Helper()
	simulated, err := simulator.Open(simulator.Options{Path: path, Clock: clock.Real{}, BaseURL: "https://mizan.example", Key: make([]byte, simulator.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	hasCheckpoint := func() bool {
		_, err := os.Stat(path + simulator.CheckpointSuffix)
		return err == nil
	}
	var callers sync.WaitGroup
	for range 64 {
		callers.Go(func() {
			terminal := &directory.Terminal{ID: uuid.New(), Parameters: new(simulator.Params)}
			for i := 0; i%256 != 0 || !hasCheckpoint(); i++ {
				simulated.Submit(t.Context(), &actors.Call{Reference: uuid.New(), Operation: actors.PayOut, Terminal: terminal, Method: "bank_account"})
			}
		})
	}
	callers.Wait()
	if err := simulated.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestStartDoesNotCountAsAUseOfAKey checks that a start does not change when the sandbox's keys were last used, although it
// tests whether they are in force.
func TestStartDoesNotCountAsAUseOfAKey(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	s.Kill()
	s.Restart()
	answer, err := s.Admin().Get("/api/v1/api_keys")
	if !bytes.Contains(testkit.WantStatus(t, answer, err, 200).Body, []byte(`"last_used_at":null`)) {
		t.Errorf("the key was used: %s", answer.Body)
	}
	testkit.Pay(t, s.Partner(), "one")
	answer, err = s.Admin().Get("/api/v1/api_keys")
	if bytes.Contains(testkit.WantStatus(t, answer, err, 200).Body, []byte(`"last_used_at":null`)) {
		t.Errorf("the key was not used: %s", answer.Body)
	}
}

func flipEveryByte(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range content {
		content[i] ^= 1
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func truncateToHalf(t *testing.T, path string) {
	t.Helper()
	stat, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, stat.Size()/2); err != nil {
		t.Fatal(err)
	}
}

func TestStoreIsCheckedBeforeServing(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	testkit.Pay(t, s.Partner(), "")
	s.Kill()
	s.Restart("--check")
	if !strings.Contains(s.Stdout(), "rule 2 ok ") || strings.Contains(s.Stdout(), "FAIL") {
		t.Errorf("--check printed\n%s", s.Stdout())
	}
	s.Stop()
	r := testkit.Run(t, nil, "audit", "verify", "--data", s.Dir)
	if r.Exit != 0 || !strings.Contains(r.Stdout, "rule 5 ok ") {
		t.Errorf("audit verify exited with %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
	}
}

func TestLowDiskRefusesCommandsAndStarts(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	id := testkit.Pay(t, server.Partner(), "before")
	server.Stop()
	server.Restart("--min-free", "1000000000GiB", "--metrics-listen", "127.0.0.1:0")
	answer, err := server.Partner().Post("/api/v1/transactions", testkit.CardPayment("after"))
	if testkit.WantStatus(t, answer, err, 503); answer.Header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
	answer, err = server.Partner().Get("/api/v1/transactions/" + id)
	testkit.WantStatus(t, answer, err, 200)
	answer, err = server.Anyone().Get("/api/v1/health")
	if !bytes.Contains(testkit.WantStatus(t, answer, err, 200).Body, []byte(`"db_status":"low_space"`)) {
		t.Errorf("health says %s", answer.Body)
	}
	answer, err = server.Anyone().Get("/readyz")
	if string(testkit.WantStatus(t, answer, err, 503).Body) != `{"status":"low_space"}` {
		t.Errorf("readyz says %s", answer.Body)
	}
	answer, err = server.Anyone().Get("/livez")
	testkit.WantStatus(t, answer, err, 200)
	if metrics := metricsText(t, server); !strings.Contains(metrics, "\nmizan_ready 0\n") || !strings.Contains(metrics, "\nmizan_low_space 1\n") {
		t.Errorf("the metrics do not say that commands are refused:\n%s", metrics)
	}
}

// TestFailedWriteEndsTheProcess makes every write to a file fail from a certain moment. Then the server can't write changes to
// its log. It must not send the response, and the next start determines whether the changes are durable.
func TestFailedWriteEndsTheProcess(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	paidBefore := testkit.Pay(t, server.Partner(), "before")
	if err := unix.Prlimit(server.PID(), unix.RLIMIT_FSIZE, &unix.Rlimit{}, nil); err != nil {
		t.Fatal(err)
	}
	if answer, err := server.Partner().Post("/api/v1/transactions", testkit.CardPayment("during")); err == nil {
		t.Errorf("a payment that could not be written down was answered: %d %s", answer.Status, answer.Body)
	}
	if code := server.Wait(); code != 1 {
		t.Errorf("exit %d, want 1", code)
	}
	if n := strings.Count(server.Stderr(), "mizan: storage: "); n != 1 {
		t.Errorf("%d lines say why it ended, want 1:\n%s", n, server.Stderr())
	}
	server.Restart("--check")
	if again := testkit.Pay(t, server.Partner(), "before"); again != paidBefore {
		t.Errorf("the payment before the fault is %s now, was %s", again, paidBefore)
	}
	testkit.Pay(t, server.Partner(), "after")
}

// injectFault attaches strace to the server and makes system calls on one file fail from now on. strace ends
// with the server.
func injectFault(t *testing.T, s *testkit.Server, path, fault string) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("NOT TRIED: strace is not installed here")
	}
	call, _, _ := strings.Cut(fault, ":")
	cmd := exec.Command(strace, "-f", "-o", os.DevNull, "-p", strconv.Itoa(s.PID()), "-P", path, "-e", "trace="+call, "-e", "inject="+fault)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	attached := false
	trace := ""
	for !attached && lines.Scan() {
		trace += lines.Text() + "\n"
		attached = strings.Contains(lines.Text(), "attached")
	}
	if !attached {
		_ = cmd.Wait()
		if !strings.Contains(trace, "Operation not permitted") && !strings.Contains(trace, "ptrace") {
			t.Fatal("strace: ", trace)
		}
		t.Skip("NOT TRIED: strace may not look into other processes here: ", trace)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, stderr)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
}

// TestFailedSyncAtCloseIsReported makes the last write before the store is closed fail. The process reports the failure, and the
// next start finds all data.
func TestFailedSyncAtCloseIsReported(t *testing.T) {
	for _, fault := range []string{"fsync:error=EIO", "fsync:error=ENOSPC", "write:error=ENOSPC"} {
		t.Run(fault, func(t *testing.T) {
			server := testkit.Start(t, testkit.Options{})
			paidBefore := testkit.Pay(t, server.Partner(), "before")
			injectFault(t, server, filepath.Join(server.Dir, "store", "MANIFEST"), fault)
			if code := server.Stop(); code != 1 {
				t.Errorf("exit %d, want 1", code)
			}
			if n := strings.Count(server.Stderr(), "mizan: storage: "); n != 1 {
				t.Errorf("%d lines say why it ended, want 1:\n%s", n, server.Stderr())
			}
			server.Restart("--check")
			if again := testkit.Pay(t, server.Partner(), "before"); again != paidBefore {
				t.Errorf("the payment before the fault is %s now, was %s", again, paidBefore)
			}
			if code := server.Stop(); code != 0 {
				t.Errorf("exit %d after it was mended, want 0: %s", code, server.Stderr())
			}
		})
	}
}

// TestServerWithoutItsStoreRefusesToStart deletes all or part of the store and keeps the
// other files. The server must not start with an empty store.
func TestServerWithoutItsStoreRefusesToStart(t *testing.T) {
	testkit.NotUnderRace(t, reasonRefusedStart)
	server := testkit.Start(t, testkit.Options{})
	testkit.Pay(t, server.Partner(), "")
	server.Stop()
	for _, files := range []string{"store log", "IDENTITY", "TABLES", "sandbox.json"} {
		for name := range strings.FieldsSeq(files) {
			if err := os.RemoveAll(filepath.Join(server.Dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		r := testkit.Run(t, nil, "serve", "--sandbox", "--data", server.Dir, "--listen", "127.0.0.1:0", "--log-level", "error")
		if r.Exit != 1 || !strings.Contains(r.Stderr, "restore from a backup") || !strings.Contains(r.Stderr, "to begin anew") {
			t.Errorf("without %s: exit %d, want 1 and what to do: %s", files, r.Exit, r.Stderr)
		}
		testkit.WantOneLine(t, r.Stderr, "mizan: storage: ")
	}
	// The simulator's log is the last trace of the old store. Without it the directory counts as
	// new.
	if err := os.Remove(filepath.Join(server.Dir, simulatorLog)); err != nil {
		t.Fatal(err)
	}
	server.Restart()
	testkit.Pay(t, server.Partner(), "")
}

// TestAnotherServersKeyringIsRefused checks that a server refuses the keyring of another server. Otherwise it would seal and
// sign values that its own keyring can't open and verify.
func TestAnotherServersKeyringIsRefused(t *testing.T) {
	testkit.NotUnderRace(t, reasonRefusedStart)
	server := testkit.Start(t, testkit.Options{})
	testkit.Pay(t, server.Partner(), "")
	server.Stop()
	keyringInUse, foreignKeyring := filepath.Join(server.Dir, "keyring"), filepath.Join(t.TempDir(), "keyring")
	if r := testkit.Run(t, nil, "keyring", foreignKeyring); r.Exit != 0 {
		t.Fatal(r.Stderr)
	}
	serveArgs := []string{"serve", "--sandbox", "--data", server.Dir, "--listen", "127.0.0.1:0", "--log-level", "error"}
	r := testkit.Run(t, nil, append(serveArgs, "--keyring", foreignKeyring)...)
	if r.Exit != 2 {
		t.Errorf("--keyring with another one: exit %d, want 2", r.Exit)
	}
	testkit.WantOneLine(t, r.Stderr, "mizan: configuration: keyring: ")
	movedKeyring := foreignKeyring + ".own"
	for _, step := range [][2]string{{keyringInUse, movedKeyring}, {foreignKeyring, keyringInUse}} {
		if err := os.Rename(step[0], step[1]); err != nil {
			t.Fatal(err)
		}
	}
	if r = testkit.Run(t, nil, serveArgs...); r.Exit != 1 {
		t.Errorf("another one in its place: exit %d, want 1", r.Exit)
	}
	testkit.WantOneLine(t, r.Stderr, "mizan: storage: ")
	if r := testkit.Run(t, nil, "keys", "rotate", "--keyring", movedKeyring); r.Exit != 0 {
		t.Fatal(r.Stderr)
	}
	server.Restart("--keyring", movedKeyring) // a rotation has added a sealing key, but it still counts as the same keyring
	testkit.Pay(t, server.Partner(), "")
}
