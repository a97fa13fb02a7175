package developer_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestScript runs the scripts in testdata/script, which call the commands as a shell does, against one real server. They run in
// parallel.
func TestScript(t *testing.T) { runScripts(t, "script", testkit.Start(t, testkit.Options{})) }

// TestScriptsWithManualClock runs the scripts in testdata/clock against a server whose clock they move. There is only one
// script, because all scripts would move the same clock.
func TestScriptsWithManualClock(t *testing.T) {
	runScripts(t, "clock", testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}}))
}

func runScripts(t *testing.T, dir string, server *testkit.Server) {
	s := scripts{t: t, binary: testkit.Binary(t), server: server}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", dir),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"mizan": s.mizan(), "take": testkit.TakeMember, "await": s.await, "receive": s.receive, "restart": s.restart,
		},
		Setup: func(e *testscript.Env) error {
			// The scripts run in a folder with ./data, as after `make run`, and so need no flags.
			e.Setenv("PATH", filepath.Dir(s.binary)+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Setenv("URL", server.Sandbox.BaseURL)
			e.Setenv("CA", server.Sandbox.CAFile)
			e.Setenv("ORG", server.Sandbox.OrganizationID)
			e.Setenv("KEY", server.Sandbox.APIKey)
			e.Setenv("DATA", server.Dir)
			return os.Symlink(server.Dir, filepath.Join(e.WorkDir, "data"))
		},
	})
}

// scripts has the commands that the test scripts may use besides testscript's own.
type scripts struct {
	t      *testing.T
	binary string
	server *testkit.Server
}

// mizan returns the script command `mizan CODE ARGUMENT…`.
func (s *scripts) mizan() func(*testscript.TestScript, bool, []string) {
	return testkit.ScriptCommand(s.binary, func() []string {
		return []string{s.server.Sandbox.AdminToken, s.server.Sandbox.APIKey, s.server.Sandbox.SessionToken}
	})
}

// patience is how long the script command await waits.
const patience = 20 * time.Second

// await is the script command `await FILE REGEXP [VAR]`: it waits until the file matches. VAR gets the first group.
func (s *scripts) await(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 || neg {
		ts.Fatalf("usage: await FILE REGEXP [VAR]")
	}
	pattern := regexp.MustCompile("(?m)" + args[1])
	var match []string
	path := ts.MkAbs(args[0])
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); match == nil; <-tick.C {
		content, err := os.ReadFile(path)
		if err == nil {
			match = pattern.FindStringSubmatch(string(content))
		}
		if match == nil && time.Now().After(end) {
			ts.Fatalf("%s does not match %s:\n%s", args[0], args[1], content)
		}
	}
	if len(args) == 3 {
		ts.Setenv(args[2], match[1])
	}
}

// receive is the script command `receive VAR SECRETFILE LOG STATUS`: it starts a receiver of notifications that answers with the
// status. VAR gets its address. For each notification it writes a line to the log: the type, and how it is signed. SECRETFILE is
// read at each notification.
func (s *scripts) receive(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 4 || neg {
		ts.Fatalf("usage: receive VAR SECRETFILE LOG STATUS")
	}
	status, err := strconv.Atoi(args[3])
	ts.Check(err)
	secretFile, logFile := ts.MkAbs(args[1]), ts.MkAbs(args[2])
	var mu sync.Mutex
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		secret, _ := os.ReadFile(secretFile)
		var envelope struct{ Type, Event string }
		_ = json.Unmarshal(body, &envelope)
		line := envelope.Type + envelope.Event + " " + signature(r.Header, body, strings.TrimSpace(string(secret))) + "\n"
		mu.Lock()
		defer mu.Unlock()
		f, err := os.OpenFile(logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, _ = f.WriteString(line)
			_ = f.Close()
		}
		w.WriteHeader(status)
	}))
	ts.Defer(receiver.Close)
	ts.Setenv(args[0], receiver.URL)
}

// signature checks a notification's signature as docs/webhooks.md describes it, and says how the notification is signed.
func signature(header http.Header, body []byte, secret string) string {
	stamp := header.Get("x-webhook-timestamp")
	if stamp == "" {
		return "unsigned"
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if age := time.Now().Unix() - seconds; err != nil || age > 300 || age < -300 {
		return "stale"
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	if hex.EncodeToString(mac.Sum(nil)) != header.Get("x-webhook-signature") {
		return "forged"
	}
	return "genuine"
}

// restart is the script command `restart`: it kills the server and starts it again.
func (s *scripts) restart(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 0 || neg {
		ts.Fatalf("usage: restart")
	}
	s.server.Kill()
	s.server.Restart()
}
