package trial

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mizan/bench/orders"
	"mizan/bench/server"
	"mizan/internal/testkit"
)

const (
	templateRounds   = 3
	templateRequests = 60
	readyTimeout     = time.Minute
	stopTimeout      = 30 * time.Second
	recoveryTimeout  = 30 * time.Second
	pollInterval     = 20 * time.Millisecond
)

// Template is a directory with the files of a stopped server. Each case begins with a copy of these files.
type Template struct {
	Dir    string // contains data, backups and answers; data.k and backups.k are copies made after round k
	Rounds int
	Booked time.Time // time on the manual clock when the last transaction was booked

	options        Options
	receiver       *httptest.Server // the merchant's server
	organizationID string           // id of the organization
}

// Options configures a template.
type Options struct {
	Rounds      int      // number of rounds; 0 means three; the server writes a table when it stops at the end of a round
	Requests    int      // number of requests in each round; 0 means sixty
	ManualClock bool     // the server has a manual clock, which is moved in each round
	TLS         string   // value of --tls; empty means off
	RotatesKeys bool     // each round but the first begins with a new encryption key
	Flags       []string // further arguments of serve
}

// Small are the options of templates for short tests, which need no files of an earlier round.
var Small = Options{Rounds: 1, Requests: 20}

// NewTemplate makes a template with a real server: in each round it starts the server, makes requests, takes a backup
// and stops the server.
func NewTemplate(tb testing.TB, seed uint64, o Options) *Template {
	tb.Helper()
	dir, err := os.MkdirTemp("", "mizan-trial-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	t := &Template{Dir: dir, Rounds: cmp.Or(o.Rounds, templateRounds), options: o}
	if o.ManualClock {
		t.options.Flags = append([]string{"--clock", "manual"}, o.Flags...)
	}
	if o.TLS == "" {
		t.options.TLS = "off"
	}
	t.receiver = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	tb.Cleanup(t.receiver.Close)
	if err := os.MkdirAll(filepath.Join(dir, backupsName), 0o700); err != nil {
		tb.Fatal(err)
	}
	c := t.open(tb, dir, dir, "template")
	defer func() { _ = c.Book.Close() }()
	random := rand.New(rand.NewPCG(seed, 1))
	for round := range t.Rounds {
		if o.RotatesKeys && round > 0 {
			testkit.MustRun(tb, "keys", "rotate", "--data", c.Dir)
		}
		s := c.Start()
		if round == 0 {
			t.organizationID = s.Sandbox.OrganizationID
			c.Book.Organization = t.organizationID
			c.setReceiver(s)
		}
		c.Load(s, LoadOptions{Clients: 8, Requests: cmp.Or(o.Requests, templateRequests), Random: random})
		if o.ManualClock {
			t.Booked = c.ManualClock(s)
			c.MustDo(s, http.MethodPut, "/api/v1/sandbox/clock", `{"advance_seconds":60}`)
		}
		if r := c.Backup(s); r.Exit != 0 {
			tb.Fatalf("backup: exit %d: %s", r.Exit, r.Stderr)
		}
		if r := c.Watch(s); r.Exit != 0 {
			tb.Fatalf("watch: exit %d: %s", r.Exit, r.Stderr)
		}
		c.Stop(s)
		c.mustHaveRightAnswers()
		if round < t.Rounds-1 {
			CopyTree(tb, c.Dir, t.Earlier(round+1))
			CopyTree(tb, c.Backups, t.EarlierBackups(round+1))
		}
	}
	return t
}

// Earlier returns a copy of the data directory that was made after the given round. Rounds are numbered from 1. There is no
// copy for the last round.
func (t *Template) Earlier(round int) string {
	return filepath.Join(t.Dir, fmt.Sprintf("%s.%d", dataName, round))
}

// EarlierBackups returns a copy of the backup directory that was made after the given round, which is not the last one.
func (t *Template) EarlierBackups(round int) string {
	return filepath.Join(t.Dir, fmt.Sprintf("%s.%d", backupsName, round))
}

// Names of files and directories in a template and in a case.
const (
	dataName    = "data"
	backupsName = "backups"
	answersName = "answers"
	watchName   = "watch" // the auditor's copy of the last audit head, see Watch
)

// Begin makes a case from the template, in the directory of temporary files. Close removes the case's files.
func (t *Template) Begin(tb testing.TB) *Case {
	tb.Helper()
	return t.begin(tb, "", "--sparse=always")
}

// BeginUnder makes a case whose server keeps its files in the caller's directory parent. Close does not remove these files.
// They are not sparse, so they occupy all the space that the server has reserved.
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
	for _, name := range []string{answersName, watchName} {
		copyTree(tb, filepath.Join(t.Dir, name), filepath.Join(dir, name), sparse)
	}
	for _, name := range []string{dataName, backupsName} {
		copyTree(tb, filepath.Join(t.Dir, name), filepath.Join(parent, name), sparse)
	}
	return t.open(tb, dir, parent, "case")
}

// open makes a case. The files of the case are in dir, and the files of the server are in filesDir.
func (t *Template) open(tb testing.TB, dir, filesDir, prefix string) *Case {
	tb.Helper()
	backups := filepath.Join(filesDir, backupsName)
	c := &Case{
		tb: tb, template: t, root: dir, Dir: filepath.Join(filesDir, dataName), Backups: backups,
		flags: append([]string{"--log-level", "warn", "--provider-timeout", "1s", "--create-wait", "1s", "--backup-dir", backups, "--min-free", "1KiB", "--metrics-listen", metricsAddress()}, t.options.Flags...),
	}
	c.metrics = c.flags[slices.Index(c.flags, "--metrics-listen")+1]
	var err error
	if c.Book, err = orders.Open(filepath.Join(dir, answersName), prefix); err != nil {
		tb.Fatal(err)
	}
	c.Book.Organization = t.organizationID
	return c
}

// setReceiver makes the partner's notifications go to the merchant's server.
func (c *Case) setReceiver(s *server.Server) {
	c.tb.Helper()
	body := fmt.Sprintf(`{"notify_url":"%s/hook","secret":"a secret for notifications"}`, c.template.receiver.URL)
	c.MustDo(s, http.MethodPatch, fmt.Sprintf("/api/v1/partners/%d", s.Sandbox.PartnerID), body)
}

// ManualClock returns the time on the server's manual clock.
func (c *Case) ManualClock(s *server.Server) time.Time {
	c.tb.Helper()
	var body struct{ Now time.Time }
	if err := json.Unmarshal(c.MustDo(s, http.MethodGet, "/api/v1/sandbox/clock", ""), &body); err != nil {
		c.tb.Fatal(err)
	}
	return body.Now
}

// MustDo sends a request as the administrator and returns the response. If the status is not 200, the test fails.
func (c *Case) MustDo(s *server.Server, method, path, body string) []byte {
	c.tb.Helper()
	pool := c.pool(s)
	defer pool.Close()
	ctx, cancel := context.WithTimeout(c.tb.Context(), readyTimeout)
	defer cancel()
	status, response := pool.Do(ctx, method, path, []byte(body), "authorization", "Bearer "+s.Sandbox.AdminToken)
	if status != http.StatusOK {
		c.tb.Fatalf("%s %s: %d %s", method, path, status, response)
	}
	return response
}

// Backup takes a backup of the running server, and waits until the backup is written or refused.
func (c *Case) Backup(s *server.Server) testkit.Result {
	c.tb.Helper()
	args := []string{"backup", "--url", s.Sandbox.BaseURL, "--to", c.Backups}
	if files, _ := filepath.Glob(filepath.Join(c.Backups, "*.backup")); len(files) > 0 {
		args = append(args, "--since", c.Backups)
	}
	if s.Sandbox.CAFile != "" {
		args = append(args, "--ca-file", s.Sandbox.CAFile)
	}
	return testkit.Run(c.tb, []string{"MIZAN_ADMIN_TOKEN=" + s.Sandbox.AdminToken}, args...)
}

// Watch runs `audit watch`, with which an auditor compares the server's head (the number of events and the root of
// their hash tree) with the last head, which the auditor keeps elsewhere. Exit code 4 means that the server's events do
// not extend those of the last head.
func (c *Case) Watch(s *server.Server) testkit.Result {
	c.tb.Helper()
	args := []string{"audit", "watch", "--url", s.Sandbox.BaseURL, "--organization", s.Sandbox.OrganizationID, "--state", filepath.Join(c.root, watchName)}
	if s.Sandbox.CAFile != "" {
		args = append(args, "--ca-file", s.Sandbox.CAFile)
	}
	return testkit.Run(c.tb, []string{"MIZAN_SESSION_TOKEN=" + s.Sandbox.AuditorToken}, args...)
}

// metricsAddress returns an unused address for the server's metrics: a fixed port on a random loopback address. No program
// makes outgoing connections from such an address, so the port is free.
func metricsAddress() string {
	n := rand.Uint32()
	return fmt.Sprintf("127.%d.%d.%d:9464", 1+n>>8%250, n>>16&0xff, 1+n>>24%250)
}

// UnverifiedBytes returns the number of bytes of stored values that the running server has not yet compared with their
// checksums. If the server's metrics don't contain that number, known is false.
func (c *Case) UnverifiedBytes() (n int64, known bool) {
	client := http.Client{Timeout: readyTimeout}
	response, err := client.Get("http://" + c.metrics + "/metrics")
	if err != nil {
		return 0, false
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if text, found := strings.CutPrefix(lines.Text(), "mizan_store_unverified_bytes "); found {
			value, err := strconv.ParseFloat(text, 64)
			return int64(value), err == nil
		}
	}
	return 0, false
}

// CopyTree copies a file, or a directory and everything in it. It runs cp, because cp makes sparse copies fast, and most bytes
// of a log are zeros.
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

// Files lists the regular files under a directory, sorted by name. The names are relative to the directory.
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

// WaitForFile waits until a file contains a text.
func WaitForFile(tb testing.TB, path, text string) {
	tb.Helper()
	testkit.WaitUntil(tb, path+" has "+text, func() bool {
		content, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(content), text)
	})
}
