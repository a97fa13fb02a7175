package audit

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/internal/testkit"
)

// watcher runs `mizan audit watch`, always with the same state file. The file has the last head of the journal that was
// accepted. A watcher can poll different servers.
type watcher struct {
	t     *testing.T
	state string // path of the state's file
}

// wantWatch polls the server with the data directory folder once, and checks the exit code and the output.
func (w *watcher) wantWatch(exit int, words, folder string, flags ...string) {
	w.t.Helper()
	r := testkit.Run(w.t, noServer, append([]string{"audit", "watch", "--state", w.state, "--sandbox", folder}, flags...)...)
	if r.Exit != exit || !strings.Contains(r.Stdout+r.Stderr, words) {
		w.t.Errorf("the watch of %s ended with %d, want %d: want %q in\n%s%s", filepath.Base(folder), r.Exit, exit, words, r.Stdout, r.Stderr)
	}
}

func (w *watcher) storedState() string {
	w.t.Helper()
	content, err := os.ReadFile(w.state)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(content)
}

// copyFolder returns a copy of a stopped server's directory.
func copyFolder(t *testing.T, folder string) string {
	t.Helper()
	copyPath := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copyPath, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"keyring", "sandbox.json"} {
		if err := os.Chmod(filepath.Join(copyPath, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return copyPath
}

func TestWatchRefusesAShorterOrForkedJournal(t *testing.T) {
	t.Parallel()
	server := testkit.Start(t, testkit.Options{})
	auditor := &watcher{t, filepath.Join(t.TempDir(), "state")}
	auditor.wantWatch(0, "the watch begins", server.Dir)
	auditor.wantWatch(0, "extends the", server.Dir)
	testkit.Pay(t, server.Partner(), "order-1")
	auditor.wantWatch(0, "extends the", server.Dir)
	server.Stop()
	olderDir := copyFolder(t, server.Dir)
	server.Restart()
	testkit.Pay(t, server.Partner(), "order-2")
	auditor.wantWatch(0, "extends the", server.Dir)
	server.Stop()

	before := auditor.storedState()
	restoredServer := testkit.Start(t, testkit.Options{Dir: olderDir})
	auditor.wantWatch(4, "mizan: audit watch: refused: the journal shrank", olderDir)
	firstRefused, err := os.ReadFile(auditor.state + ".refused")
	if err != nil || !strings.HasPrefix(string(firstRefused), "go.sum database tree\n") {
		t.Errorf("the refused head is not kept: %q (%v)", firstRefused, err)
	}
	for n := range 3 {
		testkit.Pay(t, restoredServer.Partner(), fmt.Sprint("another-", n))
	}
	auditor.wantWatch(4, "is not proven to begin with the", olderDir, "--every", "1s")
	auditor.wantWatch(4, auditor.state+".refused.2; the last", olderDir)
	if content, err := os.ReadFile(auditor.state + ".refused"); err != nil || string(content) != string(firstRefused) {
		t.Errorf("the first refused head became %q (%v)", content, err)
	}
	secondRefused, err := os.ReadFile(auditor.state + ".refused.2")
	if err != nil || string(secondRefused) == string(firstRefused) || !strings.HasPrefix(string(secondRefused), "go.sum database tree\n") {
		t.Errorf("the second refused head is not kept: %q (%v)", secondRefused, err)
	}
	if _, err := os.Stat(auditor.state + ".refused.3"); err == nil {
		t.Error("one head is kept twice")
	}
	restoredServer.Stop()
	if auditor.storedState() != before {
		t.Error("what was refused has moved the state")
	}
	server.Restart()
	auditor.wantWatch(0, "extends the", server.Dir)
}

func TestWatchRefusesAServerWithAnotherKey(t *testing.T) {
	t.Parallel()
	server := testkit.Start(t, testkit.Options{})
	auditor := &watcher{t, filepath.Join(t.TempDir(), "state")}
	key := strings.TrimSpace(testkit.WantQuietSuccess(t, testkit.Run(t, noServer, "audit", "key", "--data", server.Dir)))
	auditor.wantWatch(4, "signed with another key", server.Dir, "--key", otherKey)
	if _, err := os.Stat(auditor.state); err == nil {
		t.Error("a watch began with a head that was refused")
	}
	auditor.wantWatch(0, "the watch begins", server.Dir, "--key", key)
	auditor.wantWatch(2, "was begun with the key "+key, server.Dir, "--key", otherKey)
	auditor.wantWatch(2, "--key: is empty", server.Dir, "--key", "")
	auditor.wantWatch(2, "--every: want 1s or more", server.Dir, "--every", "1ms")
}

// A server's key never changes, because the store records it. A different server in its place may have another
// key.
func TestWatchRefusesAHeadSignedByAnotherKey(t *testing.T) {
	t.Parallel()
	handler := &falseServer{t: t, hash: emptyOctoberHash}
	setNewKey := func() {
		secret, key, err := note.GenerateKey(rand.Reader, "mizan")
		if err != nil {
			t.Fatal(err)
		}
		if handler.signer, err = note.NewSigner(secret); err != nil {
			t.Fatal(err)
		}
		handler.key = key
	}
	setNewKey()
	server := httptest.NewServer(handler)
	defer server.Close()
	folder := t.TempDir()
	stateFile, tokenFile := filepath.Join(folder, "state"), filepath.Join(folder, "token")
	writeTestFile(t, tokenFile, "mzs_x\n")
	wantPoll := func(exit int, words string) {
		t.Helper()
		wantExit(t, exit, words, "audit", "watch", "--state", stateFile, "--url", server.URL, "--organization", falseServerOrganization, "--session-token-file", tokenFile)
	}
	wantPoll(0, "")
	before, err := os.ReadFile(stateFile)
	if err != nil {
		t.Fatal(err)
	}
	setNewKey()
	wantPoll(4, "mizan: audit watch: refused: the head is signed with another key")
	if after, err := os.ReadFile(stateFile); err != nil || string(after) != string(before) {
		t.Errorf("what was refused has moved the state: %v", err)
	}
	if _, err := os.Stat(stateFile + ".refused"); err == nil {
		t.Error("what the key has not signed is kept as evidence")
	}
}

func TestWatchStateBelongsToOneOrganization(t *testing.T) {
	t.Parallel()
	server := testkit.Start(t, testkit.Options{})
	auditor := &watcher{t, filepath.Join(t.TempDir(), "state")}
	auditor.wantWatch(0, "the watch begins", server.Dir)
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(server.Sandbox.Second.SessionToken), 0o600); err != nil {
		t.Fatal(err)
	}
	auditor.wantWatch(2, "is of organization "+server.Sandbox.OrganizationID, server.Dir,
		"--organization", server.Sandbox.Second.OrganizationID, "--session-token-file", tokenFile)
	before := auditor.storedState()
	if err := os.WriteFile(auditor.state, []byte(strings.Replace(before, "database", "databasf", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	auditor.wantWatch(2, "--state: ", server.Dir)
}

// If two watches used one state, one could overwrite a later head of the other.
func TestWatchStateIsLocked(t *testing.T) {
	t.Parallel()
	auditor := &watcher{t, filepath.Join(t.TempDir(), "state")}
	server := testkit.Start(t, testkit.Options{})
	auditor.wantWatch(0, "the watch begins", server.Dir)
	lock, err := os.OpenFile(auditor.state+".lock", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	before := auditor.storedState()
	auditor.wantWatch(3, "another watch is at work with "+auditor.state, server.Dir)
	if auditor.storedState() != before {
		t.Error("it has looked all the same")
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}

	// The next watch removes the temporary file of a killed watch. If the state's file is a link, it stays a link.
	leftover := filepath.Join(filepath.Dir(auditor.state), ".state.123.tmp")
	writeTestFile(t, leftover, "half")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(auditor.state, link); err != nil {
		t.Fatal(err)
	}
	testkit.Pay(t, server.Partner(), "order-1")
	(&watcher{t, link}).wantWatch(0, "extends the", server.Dir)
	if _, err := os.Stat(leftover); err == nil {
		t.Error("a killed watch's file is there still")
	}
	if target, err := os.Readlink(link); err != nil || target != auditor.state || auditor.storedState() == before {
		t.Errorf("the link leads to %q (%v), and the state has moved: %v", target, err, auditor.storedState() != before)
	}
	auditor.wantWatch(2, "--state: is empty", server.Dir, "--state", "")
}

// If a server is unreachable, the watch does not fail but polls again.
func TestWatchRetriesAnUnreachableServer(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	testServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"data":{"signature":"eA=="}}`))
	}))
	t.Cleanup(testServer.Close)
	environment := append([]string{"MIZAN_SESSION_TOKEN=mzs_any"}, noServer[2:]...)
	r := testkit.Run(t, environment, "audit", "watch", "--state", filepath.Join(t.TempDir(), "state"), "--every", "1s",
		"--url", testServer.URL, "--organization", "0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a01", "--key", otherKey)
	if r.Exit != 4 || requests.Load() != 2 || !strings.Contains(r.Stderr, "503") || !strings.Contains(r.Stderr, "refused: the head's signature") {
		t.Errorf("exit %d after %d requests: %s", r.Exit, requests.Load(), r.Stderr)
	}
}

func TestWatchRefusesAServerWithoutProofs(t *testing.T) {
	t.Parallel()
	const id = "0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a01"
	secret, key, err := note.GenerateKey(rand.Reader, "mizan")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	var size atomic.Int64
	var sessionEnds atomic.Bool
	testServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/consistency") {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		if sessionEnds.Load() && size.Load() > 5 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if sessionEnds.Load() {
			size.Add(1)
		}
		text := fmt.Sprintf("%sorganization %s\n", tlog.FormatTree(tlog.Tree{N: size.Load()}), id)
		signed, err := note.Sign(&note.Note{Text: text}, signer)
		if err != nil {
			t.Error(err)
		}
		answer, err := json.Marshal(map[string]any{"data": map[string]any{"signature": signed}})
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(answer)
	}))
	t.Cleanup(testServer.Close)
	stateFile := filepath.Join(t.TempDir(), "state")
	wantPoll := func(exit int, words string) {
		t.Helper()
		r := testkit.Run(t, append([]string{"MIZAN_SESSION_TOKEN=mzs_any"}, noServer[2:]...), "audit", "watch", "--state", stateFile,
			"--url", testServer.URL, "--organization", id, "--key", key)
		if r.Exit != exit || !strings.Contains(r.Stdout+r.Stderr, words) {
			t.Errorf("exit %d, want %d: want %q in\n%s%s", r.Exit, exit, words, r.Stdout, r.Stderr)
		}
	}
	size.Store(3)
	wantPoll(0, "the watch begins")
	size.Store(5)
	wantPoll(4, "refused: the server signs 5 events and does not prove")
	sessionEnds.Store(true) // the server refuses the session after its next response with a head
	wantPoll(2, "422")
}
