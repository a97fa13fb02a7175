package trial

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mizan/bench/orders"
	"mizan/bench/server"
	"mizan/internal/testkit"
)

const (
	templateRounds   = 3  // starts and stops; each writes a table
	templateRequests = 60 // in each round
	readyTimeout     = time.Minute
	stopTimeout      = 30 * time.Second
	recoveryTimeout  = 30 * time.Second
	pollInterval     = 20 * time.Millisecond
)

// Template is the directory of a stopped server, from which cases begin.
type Template struct {
	Dir       string   // has data, backups, answers and, for each round, the data directory as it was after it: data.1, data.2 …
	Flags     []string // of serve
	Rounds    int
	receiver  *httptest.Server // the merchant's server
	organized string           // id of the organization
}

// NewTemplate makes a template by real starts, requests and stops. flags are further arguments of serve.
func NewTemplate(tb testing.TB, seed uint64, flags ...string) *Template {
	tb.Helper()
	return newTemplate(tb, seed, templateRounds, templateRequests, flags)
}

// NewSmallTemplate makes a template with one start and few requests, for short tests.
func NewSmallTemplate(tb testing.TB, seed uint64, flags ...string) *Template {
	tb.Helper()
	return newTemplate(tb, seed, 1, templateRequests/3, flags)
}

func newTemplate(tb testing.TB, seed uint64, rounds, requests int, flags []string) *Template {
	tb.Helper()
	dir, err := os.MkdirTemp("", "mizan-trial-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	t := &Template{Dir: dir, Flags: flags, Rounds: rounds, receiver: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
	}))}
	tb.Cleanup(t.receiver.Close)
	if err := os.MkdirAll(filepath.Join(dir, backupsName), 0o700); err != nil {
		tb.Fatal(err)
	}
	c := t.open(tb, dir, dir, "template")
	random := rand.New(rand.NewPCG(seed, 1))
	for round := range rounds {
		s := c.Start()
		if round == 0 {
			t.organized = s.Sandbox.OrganizationID
			c.Book.Organization = t.organized
			c.setReceiver(s)
		}
		c.Load(s, Work{Clients: 8, Requests: requests, Random: random})
		c.takeBackup(s)
		c.Stop(s)
		c.mustHaveRightAnswers()
		if round < rounds-1 {
			CopyTree(tb, c.Dir, filepath.Join(dir, fmt.Sprintf("%s.%d", dataName, round+1)))
			CopyTree(tb, c.Backups, filepath.Join(dir, fmt.Sprintf("%s.%d", backupsName, round+1)))
		}
	}
	_ = c.Book.Close()
	return t
}

// Names in the directories of templates and cases.
const (
	dataName    = "data"
	backupsName = "backups"
	answersName = "answers"
)

// Begin makes a case from the template, in the directory of temporary files. It is removed by Close.
func (t *Template) Begin(tb testing.TB) *Case {
	tb.Helper()
	return t.begin(tb, "", "--sparse=always")
}

// BeginUnder makes a case whose server has its files in a directory of the caller. // have all their space, as the server has reserved it.
func (t *Template) BeginUnder(tb testing.TB, parent string) *Case {
	tb.Helper()
	return t.begin(tb, parent, "--sparse=never")
}

func (t *Template) begin(tb testing.TB, parent, sparse string) *Case {
	tb.Helper()
	dir, err := os.MkdirTemp("", "mizan-case-")
	if err != nil {
		tb.Fatal(err)
	}
	if parent == "" {
		parent = dir
	}
	copyTree(tb, filepath.Join(t.Dir, answersName), filepath.Join(dir, answersName), sparse)
	for _, name := range []string{dataName, backupsName} {
		copyTree(tb, filepath.Join(t.Dir, name), filepath.Join(parent, name), sparse)
	}
	return t.open(tb, dir, parent, "case")
}

// open makes a case with its own files in dir, and the server's in filesDir.
func (t *Template) open(tb testing.TB, dir, filesDir, prefix string) *Case {
	tb.Helper()
	backups := filepath.Join(filesDir, backupsName)
	c := &Case{
		tb: tb, template: t, root: dir, Dir: filepath.Join(filesDir, dataName), Backups: backups,
		flags: append([]string{"--log-level", "warn", "--provider-timeout", "1s", "--create-wait", "1s", "--backup-dir", backups, "--min-free", "1KiB"}, t.Flags...),
	}
	var err error
	if c.Book, err = orders.Open(filepath.Join(dir, answersName), prefix); err != nil {
		tb.Fatal(err)
	}
	c.Book.Organization = t.organized
	return c
}

// setReceiver makes the partner's notifications go to the merchant's server.
func (c *Case) setReceiver(s *server.Server) {
	c.tb.Helper()
	pool := c.pool(s)
	defer pool.Close()
	body := fmt.Appendf(nil, `{"notify_url":"%s/hook","secret":"a secret for notifications"}`, c.template.receiver.URL)
	path := fmt.Sprintf("/api/v1/partners/%d", s.Sandbox.PartnerID)
	ctx, cancel := context.WithTimeout(c.tb.Context(), readyTimeout)
	defer cancel()
	if status, response := pool.Do(ctx, http.MethodPatch, path, body, "authorization", "Bearer "+s.Sandbox.AdminToken); status != http.StatusOK {
		c.tb.Fatalf("the address of notifications: %d %s", status, response)
	}
}

// takeBackup takes a backup with the command, as an operator does: the first is full, further ones have what is newer.
func (c *Case) takeBackup(s *server.Server) {
	c.tb.Helper()
	if r := c.Backup(s); r.Exit != 0 {
		c.tb.Fatalf("backup: exit %d: %s", r.Exit, r.Stderr)
	}
}

// Backup takes a backup of the running server, and waits until it is there or was refused.
func (c *Case) Backup(s *server.Server) testkit.Result {
	c.tb.Helper()
	args := []string{"backup", "--url", s.Sandbox.BaseURL, "--to", c.Backups}
	if files, _ := filepath.Glob(filepath.Join(c.Backups, "*.backup")); len(files) > 0 {
		args = append(args, "--since", c.Backups)
	}
	return testkit.Run(c.tb, []string{"MIZAN_ADMIN_TOKEN=" + s.Sandbox.AdminToken}, args...)
}

// CopyTree copies a file or a directory with all that is in it. It is cp, because that makes holes quickly: most of a log's bytes
// are zeros.
func CopyTree(tb testing.TB, from, to string) {
	tb.Helper()
	copyTree(tb, from, to, "--sparse=always")
}

func copyTree(tb testing.TB, from, to, sparse string) {
	tb.Helper()
	if out, err := exec.Command("cp", "-a", sparse, from, to).CombinedOutput(); err != nil {
		tb.Fatalf("cp: %v: %s", err, out)
	}
}

// Files lists the regular files under a directory, relative to it, in the order of their names.
func Files(tb testing.TB, dir string) (names []string) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(dir, path) // it is under dir
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return names
}

// WaitForFile waits until a file has a text.
func WaitForFile(tb testing.TB, path, text string) {
	tb.Helper()
	testkit.WaitUntil(tb, path+" has "+text, func() bool {
		content, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(content), text)
	})
}
