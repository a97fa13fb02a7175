package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mizan/bench/orders"
	"mizan/bench/server"
	"mizan/internal/testkit"
)

// The reasons why the check of a case fails.
var (
	ErrWrongAnswers = errors.New("wrong answers")               // a client got a wrong response
	ErrNoReason     = errors.New("it ended without any reason") // a program ended without a message that says why
	ErrNoStart      = errors.New("it does not start again")
	ErrVerify       = errors.New("audit verify") // the checker found a fault, and described it
)

// Case is one data directory, on which one fault is tried.
type Case struct {
	Dir     string // data directory
	Backups string // directory of backups
	Book    *orders.Book

	tb       testing.TB
	template *Template
	root     string // the directory that Close removes
	flags    []string
	metrics  string // address of the server's metrics
	log      *log   // stderr of the server's last start
	running  []*server.Server
}

// log collects a server's stderr. It may be read while the server writes to it.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// Log returns what the server has written to stderr since its last start.
func (c *Case) Log() string {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	return c.log.text.String()
}

// Close ends the servers of the case and removes its files.
func (c *Case) Close() {
	for _, s := range c.running {
		if IsRunning(s) {
			_ = s.Kill()
		}
	}
	_ = c.Book.Close()
	_ = os.RemoveAll(c.root)
}

// AddFlags adds arguments of the command serve for all further starts. They override earlier arguments.
func (c *Case) AddFlags(flags ...string) { c.flags = append(c.flags, flags...) }

// Empty empties the data directory, so that the next start creates a store.
func (c *Case) Empty() {
	c.tb.Helper()
	if err := os.RemoveAll(c.Dir); err != nil {
		c.tb.Fatal(err)
	}
}

// Launch starts the server and does not wait until it is ready. If a wrapper is given, it is a command that executes the server
// with a fault.
func (c *Case) Launch(wrapper ...string) *server.Server {
	c.tb.Helper()
	c.log = new(log)
	s, err := server.Start(server.Options{Binary: testkit.Binary(c.tb), Wrapper: wrapper, Dir: c.Dir, TLS: c.template.options.TLS, Args: c.flags, Log: c.log})
	if err != nil {
		c.tb.Fatal(err)
	}
	c.running = append(c.running, s)
	return s
}

// WaitReady waits until the server is ready. It returns false if the server has ended or is not ready within the time-out.
func (c *Case) WaitReady(s *server.Server, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(c.tb.Context(), timeout)
	defer cancel()
	if s.WaitReady(ctx) != nil {
		return false
	}
	c.keepAuthority(s)
	return true
}

// keepAuthority copies the certificate authority that clients trust, because the server's own file may be damaged later.
func (c *Case) keepAuthority(s *server.Server) {
	c.tb.Helper()
	if s.Sandbox.CAFile == "" {
		return
	}
	content, err := os.ReadFile(s.Sandbox.CAFile)
	s.Sandbox.CAFile = filepath.Join(c.root, "ca.pem")
	if err == nil {
		err = os.WriteFile(s.Sandbox.CAFile, content, 0o600)
	}
	if err != nil {
		c.tb.Fatal(err)
	}
}

// Start starts the server without a fault. It fails the test if the server does not become ready.
func (c *Case) Start() *server.Server {
	c.tb.Helper()
	s := c.Launch()
	ctx, cancel := context.WithTimeout(c.tb.Context(), readyTimeout)
	defer cancel()
	if err := s.WaitReady(ctx); err != nil {
		c.tb.Fatal(err)
	}
	c.keepAuthority(s)
	return s
}

// Stop stops the server. It fails the test if the server does not end with exit code 0.
func (c *Case) Stop(s *server.Server) {
	c.tb.Helper()
	if err := s.Stop(stopTimeout); err != nil {
		c.tb.Fatal(err)
	}
}

func (c *Case) pool(s *server.Server) *orders.Pool {
	c.tb.Helper()
	pool, err := orders.NewPool(c.Book, &s.Sandbox, true)
	if err != nil {
		c.tb.Fatal(err)
	}
	return pool
}

// LoadOptions describes the load that Load makes.
type LoadOptions struct {
	Clients       int           // number of concurrent clients
	Requests      int           // number of requests, even without a response, that begin after Meanwhile has returned
	MaxUnanswered int           // the load ends after this number of requests without a response; 0 if there is no bound
	Timeout       time.Duration // how long one request may take; 0 stands for a minute
	Random        *rand.Rand
	Meanwhile     func() // called while the clients make requests; may be nil
}

// Load makes requests, until their number is reached or the server has ended.
func (c *Case) Load(s *server.Server, w LoadOptions) {
	c.tb.Helper()
	pool := c.pool(s)
	defer pool.Close()
	if w.Timeout == 0 {
		w.Timeout = time.Minute
	}
	pool.SetTimeout(w.Timeout)
	ctx, cancel := context.WithCancel(c.tb.Context())
	defer cancel()
	unansweredBefore := c.Book.Counts().Unanswered
	var made atomic.Int64
	var counts atomic.Bool
	counts.Store(w.Meanwhile == nil)
	var clients sync.WaitGroup
	for range w.Clients {
		random := rand.New(rand.NewPCG(w.Random.Uint64(), 0))
		clients.Go(func() {
			for !counts.Load() || made.Add(1) <= int64(w.Requests) {
				if !IsRunning(s) {
					return
				}
				if w.MaxUnanswered > 0 && c.Book.Counts().Unanswered-unansweredBefore >= w.MaxUnanswered {
					return
				}
				pool.WorkOnce(ctx, random)
			}
		})
	}
	if w.Meanwhile != nil {
		w.Meanwhile()
		counts.Store(true)
	}
	clients.Wait()
}

// Ending is how a server ended.
type Ending struct {
	EndedByItself bool   // the server ended before it was asked to stop
	Hung          bool   // the server did not end, and was killed
	Code          int    // exit code; -1 if a signal ended the server
	Log           string // its stderr
}

// String describes the ending in one line.
func (e Ending) String() string {
	how := fmt.Sprintf("stopped with %d", e.Code)
	switch {
	case e.Hung:
		how = "hung"
	case e.EndedByItself:
		how = fmt.Sprintf("ended by itself with %d", e.Code)
	}
	return how + ": " + shorten(e.exitMessage())
}

func shorten(text string) string {
	if len(text) > 300 {
		return text[:300] + "…"
	}
	return text
}

// exitMessage returns the line with which the server says why it ended. If there is no such line, it returns all of the
// server's stderr.
func (e Ending) exitMessage() string {
	lines := e.lines()
	if len(lines) > 0 {
		return lines[len(lines)-1]
	}
	return strings.ReplaceAll(e.Log, "\n", " | ")
}

// lines returns the lines of stderr that begin with "mizan: " and so are not lines of the server's log.
func (e Ending) lines() (lines []string) {
	for line := range strings.Lines(e.Log) {
		if strings.HasPrefix(line, "mizan: ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// EndedByRuntime tells whether Go's runtime or the dynamic loader ended the process with its own message, because it was denied memory,
// threads or a system call that it needs. A panic of the program does not count, because the program must never panic.
func (e Ending) EndedByRuntime() bool {
	if e.Code == 127 && strings.Contains(e.Log, "error while loading shared libraries") {
		return true
	}
	return (e.Code == 2 || e.Code == -1) && !strings.Contains(e.Log, "panic: ") &&
		(strings.Contains(e.Log, "fatal error: ") || strings.Contains(e.Log, "runtime: ") || strings.Contains(e.Log, "runtime/cgo: ") || strings.Contains(e.Log, "SIGSEGV") || e.Log == "")
}

// Fault returns an error if the server ended in a way that is not allowed. A server may stop when asked, it may end and say why
// in one line, or Go's runtime may end it with a message.
func (e Ending) Fault() error {
	lines := e.lines()
	switch {
	case e.Code == 0 && !e.EndedByItself:
		return nil
	case e.EndedByRuntime():
		return nil
	case e.Code < 1 || e.Code > 3:
		return fmt.Errorf("%w: exit code %d", ErrNoReason, e.Code)
	case len(lines) != 1:
		return fmt.Errorf("%w: %d lines say why it ended with %d", ErrNoReason, len(lines), e.Code)
	}
	return nil
}

// End asks the server to stop, unless the server has already ended, and waits for its end.
func (c *Case) End(s *server.Server) Ending {
	c.tb.Helper()
	if !IsRunning(s) {
		return Ending{EndedByItself: true, Code: s.ExitCode(), Log: c.Log()}
	}
	_ = s.Signal(syscall.SIGTERM)
	return c.AwaitEnd(s)
}

// AwaitEnd waits for the end of a server that was asked to stop. It does not ask again, because a second request ends a
// server at once.
func (c *Case) AwaitEnd(s *server.Server) Ending {
	c.tb.Helper()
	var e Ending
	if IsRunning(s) {
		timer := time.NewTimer(stopTimeout)
		defer timer.Stop()
		select {
		case <-s.Exited():
		case <-timer.C:
			e.Hung = true
			_ = s.Kill()
		}
	}
	e.Code, e.Log = s.ExitCode(), c.Log()
	return e
}

// IsRunning tells whether a server is still running.
func IsRunning(s *server.Server) bool {
	select {
	case <-s.Exited():
		return false
	default:
		return true
	}
}

// AwaitRecovery waits until the server carries out commands again. The caller must have removed the fault before.
func (c *Case) AwaitRecovery(s *server.Server, random *rand.Rand) error {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(c.tb.Context(), recoveryTimeout)
	defer cancel()
	for {
		before := c.Book.Counts()
		c.Load(s, LoadOptions{Clients: 1, Requests: 1, Random: random, Timeout: recoveryTimeout})
		after := c.Book.Counts()
		if after.Answered-before.Answered > after.Refused-before.Refused && after.Orders > before.Orders {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no command was carried out: %+v", after)
		case <-s.Exited():
			return fmt.Errorf("the server has ended: %v", c.End(s))
		case <-time.After(pollInterval):
		}
	}
}

// Check starts the server without a fault, makes requests, stops it, and compares the store with all responses. The error
// says what was lost or falsified, or why the server no longer starts.
func (c *Case) Check(random *rand.Rand) error {
	c.tb.Helper()
	if err := c.wrongAnswers(); err != nil {
		return err
	}
	c.Book.ExpectsFault = false
	s := c.Launch()
	if !c.WaitReady(s, readyTimeout) {
		e := c.End(s)
		return errors.Join(fmt.Errorf("%w: %v", ErrNoStart, e), e.Fault())
	}
	c.Load(s, LoadOptions{Clients: 2, Requests: 6, Random: random})
	if e := c.End(s); e.Code != 0 || e.EndedByItself {
		return errors.Join(fmt.Errorf("%w: after the next start it ended: %v", ErrNoStart, e), e.Fault())
	}
	if err := c.wrongAnswers(); err != nil {
		return err
	}
	return c.Verify()
}

// Verify compares the closed store with all responses (`audit verify`).
func (c *Case) Verify() error {
	c.tb.Helper()
	if err := c.wrongAnswers(); err != nil {
		return err
	}
	r := testkit.Run(c.tb, nil, "audit", "verify", "--data", c.Dir, "--answers", c.Book.Path)
	switch {
	case r.Exit == 0 && r.Stderr == "":
		return nil
	case r.Exit < 1 || r.Exit > 3 || strings.Contains(r.Stderr, "goroutine "):
		return fmt.Errorf("%w: audit verify: exit %d: %s%s", ErrNoReason, r.Exit, r.Stdout, r.Stderr)
	}
	return fmt.Errorf("%w: exit %d: %s%s", ErrVerify, r.Exit, failures(r.Stdout), r.Stderr)
}

// failures returns those lines of a checker's report that are about broken rules.
func failures(report string) string {
	var b strings.Builder
	for line := range strings.Lines(report) {
		if !strings.Contains(line, " ok ") && !strings.Contains(line, " skipped ") {
			b.WriteString(line)
		}
	}
	return shorten(b.String())
}

func (c *Case) wrongAnswers() error {
	if errs := c.Book.TakeErrors(); len(errs) > 0 {
		return fmt.Errorf("%w: %d, for example %w", ErrWrongAnswers, len(errs), errs[0])
	}
	return nil
}

func (c *Case) mustHaveRightAnswers() {
	c.tb.Helper()
	if err := c.wrongAnswers(); err != nil {
		c.tb.Fatal(err)
	}
}

// KeepFiles moves the files of the case to a directory that Close does not remove, and returns its path.
func (c *Case) KeepFiles() string {
	to := filepath.Join(os.TempDir(), "mizan-kept-"+filepath.Base(c.root))
	if err := os.Rename(c.root, to); err != nil && !errors.Is(err, os.ErrExist) {
		return err.Error()
	}
	return to
}
