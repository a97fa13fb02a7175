package serving

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mizan/internal/testkit"
)

// However the binary was built and started, the runtime never preempts a goroutine of a server by a signal: the process has the
// GODEBUG setting that switches this off. Its other settings are unchanged.
func TestServerGoroutinesAreNotPreemptedBySignals(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: reading another process's environment needs root")
	}
	for environment, want := range map[string]string{
		"":                           "GODEBUG=asyncpreemptoff=1",
		"GODEBUG=":                   "GODEBUG=asyncpreemptoff=1",
		"GODEBUG=madvdontneed=1":     "GODEBUG=madvdontneed=1,asyncpreemptoff=1",
		"GODEBUG=asyncpreemptoff=0":  "GODEBUG=asyncpreemptoff=0", // as set by an operator who debugs a loop without function calls
		"GODEBUG=panicnil=1,foo=bar": "GODEBUG=panicnil=1,foo=bar,asyncpreemptoff=1",
	} {
		var env []string
		if environment != "" {
			env = []string{environment}
		}
		server := testkit.Start(t, testkit.Options{Env: env})
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", server.PID()))
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, pair := range strings.Split(string(environ), "\x00") {
			if strings.HasPrefix(pair, "GODEBUG=") {
				found = append(found, pair)
			}
		}
		if len(found) != 1 || found[0] != want {
			t.Errorf("started with %q it runs with %q, want %q", environment, found, want)
		}
		server.Kill()
	}
}

// A server leaves no core dump, and no other process of its user can read its memory.
func TestServerMemoryIsUnreadableByCoreDumpsAndOtherProcesses(t *testing.T) {
	testkit.NotUnderRace(t, reasonReadsMemory)
	ownServer := testkit.Start(t, testkit.Options{})
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", ownServer.PID()))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^Max core file size +0 +0 `).Match(limits) {
		t.Errorf("the limits are\n%s", limits)
	}
	if os.Geteuid() != 0 {
		t.Skip("skipped: becoming another user, who may not read what he started, needs root")
	}
	// The test starts a second server, and a process that tries to read that server's memory, as the same user. This user is not
	// root.
	const nobody = 65534
	dir := t.TempDir()
	program := filepath.Join(dir, "mizan")
	content, err := os.ReadFile(testkit.RaceBinary(t))
	if err != nil {
		t.Fatal(err)
	}
	for path := dir; path != os.TempDir() && path != "/"; path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(program, content, 0o755); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(data, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	attributes := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Pdeathsig: syscall.SIGKILL}
	server := exec.Command(program, "serve", "--sandbox", "--data", data, "--listen", "127.0.0.1:0")
	server.SysProcAttr = attributes
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil { // one byte of output shows that the process has started
		t.Fatal(err)
	}
	reader := exec.Command("cat", fmt.Sprintf("/proc/%d/environ", server.Process.Pid))
	reader.SysProcAttr = attributes
	if output, err := reader.CombinedOutput(); err == nil || !strings.Contains(string(output), "Permission denied") {
		t.Errorf("a process of the same user reads it: %v, %.80q", err, output)
	}
}

// Although the server has executed itself again, its process has the program's name. ps, top and pgrep use this name.
func TestServerHasTheProgramsName(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Base(testkit.RaceBinary(t)); strings.TrimSpace(string(name)) != want {
		t.Errorf("the process has the name %q, want %q", name, want)
	}
}

// A server that has executed itself again does not handle SIGHUP at first. A SIGHUP at that time must not end it.
func TestSIGHUPDuringReexecDoesNotEndTheServer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: reading another process's environment needs root")
	}
	cmd := exec.Command(testkit.RaceBinary(t), "serve", "--sandbox", "--listen", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "GODEBUG=") })
	stdout, err := cmd.StdoutPipe()
	noError := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	noError(err)
	noError(cmd.Start())
	testkit.WaitUntil(t, "its second beginning", func() bool {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid))
		return err == nil && strings.Contains(string(environ), preemptionSetting)
	})
	firstLine := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		firstLine <- line
		_, _ = io.Copy(io.Discard, stdout)
	}()
	line := ""
	for line == "" {
		noError(cmd.Process.Signal(syscall.SIGHUP))
		select {
		case line = <-firstLine:
			if line == "" {
				line = "it ended before it said anything"
			}
		default:
		}
	}
	if !strings.HasPrefix(line, "Mizan sandbox in ") {
		t.Error(line)
	}
	noError(cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
