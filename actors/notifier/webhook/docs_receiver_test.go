package webhook_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/format"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/actors/notifier/webhook"
	"mizan/internal/clock"
)

// patience is how long a test waits for an expected event.
const patience = 2 * time.Minute

// readWebhooksPage returns docs/webhooks.md.
func readWebhooksPage(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "webhooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// codeBlock returns the only code block of docs/webhooks.md that follows the marker.
func codeBlock(t *testing.T, marker string) string {
	t.Helper()
	found := regexp.MustCompile("(?ms)^<!-- "+regexp.QuoteMeta(marker)+" -->\n```[a-z]+\n(.*?)^```$").FindAllStringSubmatch(readWebhooksPage(t), -1)
	if len(found) != 1 {
		t.Fatalf("docs/webhooks.md has %d blocks %q", len(found), marker)
	}
	return found[0][1]
}

// language is a programming language in which docs/webhooks.md has a receiver, a program that accepts notifications.
type language struct {
	name    string
	file    string   // file name of its receiver
	check   []string // a command that succeeds if the receiver can be run here
	command []string // runs the program; nil: the program is built first
}

var languages = []language{
	{"go", "receiver.go", []string{"go", "version"}, nil},
	{"python", "receiver.py", []string{"python3", "-c", "import sys; sys.exit(sys.version_info < (3, 9))"}, []string{"python3", "receiver.py"}},
	{"javascript", "receiver.js", []string{"node", "-e", "process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)"}, []string{"node", "receiver.js"}},
	{"php", "receiver.php", []string{"php", "-r", "exit(PHP_VERSION_ID >= 80100 ? 0 : 1);"}, []string{"php", "-S", "127.0.0.1:0", "receiver.php"}},
}

// receiver is a receiver's program from docs/webhooks.md, saved to a file.
type receiver struct {
	*language
	folder  string   // directory of the program
	command []string // runs the program
}

// save writes the language's receiver from docs/webhooks.md to a file. If it cannot be run here, the test
// is skipped; a Go receiver can always be run.
func (l *language) save(t *testing.T) *receiver {
	t.Helper()
	if err := exec.Command(l.check[0], l.check[1:]...).Run(); err != nil {
		if l.name == "go" {
			t.Fatal(err)
		}
		t.Skipf("the receiver in %s is not tried: there is no %s, or one that is too old (%v)", l.name, l.check[0], err)
	}
	r := &receiver{language: l, folder: t.TempDir(), command: l.command}
	code := codeBlock(t, "receiver: "+l.name)
	if err := os.WriteFile(filepath.Join(r.folder, l.file), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if l.name == "go" {
		r.build(t, code)
	}
	return r
}

func (r *receiver) build(t *testing.T, code string) {
	t.Helper()
	if formatted, err := format.Source([]byte(code)); err != nil || string(formatted) != code {
		t.Errorf("the receiver in Go is not formatted: %v", err)
	}
	r.command = []string{filepath.Join(r.folder, "receiver")}
	build := exec.Command("go", "build", "-o", r.command[0], r.file)
	build.Dir, build.Env = r.folder, append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// server is a running receiver.
type server struct {
	t     *testing.T
	url   string // empty: the receiver has ended by itself
	inbox string // directory in which the receiver stores what it accepts
}

// processOutput collects a process's output, and finds the address at which the process listens.
type processOutput struct {
	mu          sync.Mutex
	text        []byte      // guarded by mu
	addressSent bool        // guarded by mu
	address     chan string // receives one value
}

var listenAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+\b`)

// Write implements io.Writer.
func (s *processOutput) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, b...)
	lines := s.text[:bytes.LastIndexByte(s.text, '\n')+1] // an address may arrive in pieces
	if address := listenAddress.Find(lines); address != nil && !s.addressSent {
		s.addressSent = true
		s.address <- string(address)
	}
	return len(b), nil
}

func (s *processOutput) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// start runs the receiver with a current and a previous secret.
func (r *receiver) start(t *testing.T, secret, previous string) *server {
	t.Helper()
	s := &server{t: t, inbox: filepath.Join(t.TempDir(), "in", "box")}
	output := &processOutput{address: make(chan string, 1)}
	command := exec.Command(r.command[0], r.command[1:]...)
	command.Dir, command.Stdout, command.Stderr = r.folder, output, output
	command.Env = append(os.Environ(), "LISTEN=127.0.0.1:0", "INBOX="+s.inbox, "WEBHOOK_SECRET="+secret, "WEBHOOK_SECRET_PREVIOUS="+previous)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	exited := make(chan struct{})
	go func() {
		ended <- command.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-exited
		if t.Failed() {
			t.Logf("the receiver said:\n%s", output)
		}
	})
	select {
	case s.url = <-output.address:
	case err := <-ended:
		if err == nil {
			t.Error("the receiver ended as if all was well")
		}
	case <-time.After(patience):
		t.Fatalf("the receiver tells no address within %v", patience)
	}
	return s
}

// mustStart is start for a receiver that must keep running.
func (r *receiver) mustStart(t *testing.T, secret, previous string) *server {
	t.Helper()
	s := r.start(t, secret, previous)
	if s.url == "" {
		t.Fatal("the receiver ended")
	}
	return s
}

// tampering changes a delivery's header on its way, and returns the body to send on.
type tampering func(header http.Header, body []byte) []byte

// deliver makes one attempt with the sender at the given time, and returns the status; 0: no response.
// With a tampering the request goes through a relay that applies it. If the machine is too busy to
// respond within the sender's bounds, deliver tries again.
func (s *server) deliver(d webhook.Delivery, at time.Time, change tampering) int {
	s.t.Helper()
	d.URL = s.url + "/webhooks"
	if change != nil {
		relay := httptest.NewServer(s.relay(change))
		defer relay.Close()
		d.URL = relay.URL + "/webhooks"
	}
	sender := webhook.New(webhook.Options{AllowPrivate: true, Clock: clock.NewManual(at), Log: slog.New(slog.DiscardHandler)})
	defer sender.Close()
	startTime := time.Now()
	a := sender.Deliver(&d)
	for strings.Contains(a.Failure, " within ") && time.Since(startTime) < patience {
		a = sender.Deliver(&d)
	}
	if a.Status == 0 {
		s.t.Errorf("no answer: %s", a.Failure)
	}
	return a.Status
}

func (s *server) relay(change tampering) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			s.t.Error(err)
		}
		header := r.Header.Clone()
		body = change(header, body)
		w.WriteHeader(s.sendRequest(r.Method, header, body))
	}
}

// sendRequest sends a request as it is, and returns the status; 502: no response.
func (s *server) sendRequest(method string, header http.Header, body []byte) int {
	r, err := http.NewRequest(method, s.url+"/webhooks", bytes.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return http.StatusBadGateway
	}
	r.Header = header
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return http.StatusBadGateway
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// storedBodies returns the bodies in the inbox, which may not exist yet. marked tells whether the inbox has the
// empty file with which a receiver notes that subscriptions changed. The inbox must have nothing else.
func (s *server) storedBodies() (bodies []string, marked bool) {
	s.t.Helper()
	files, err := os.ReadDir(s.inbox)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(s.inbox, file.Name()))
		if err != nil {
			s.t.Fatal(err)
		}
		switch name := file.Name(); {
		case strings.HasSuffix(name, ".json"):
			bodies = append(bodies, string(content))
		case name == "subscriptions-changed" && len(content) == 0:
			marked = true
		default:
			s.t.Errorf("%s is left in the inbox", name)
		}
	}
	slices.Sort(bodies)
	return bodies, marked
}

// wantStored checks how many events are in the inbox.
func (s *server) wantStored(what string, want int) {
	s.t.Helper()
	if bodies, _ := s.storedBodies(); len(bodies) != want {
		s.t.Errorf("%s: %d events are in the inbox, want %d", what, len(bodies), want)
	}
}

// sign returns the signature that the service sends: HMAC-SHA256 in hex over `<timestamp>.<body>`.
func sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s.%s", timestamp, body)
	return hex.EncodeToString(mac.Sum(nil))
}
