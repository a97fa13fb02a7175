package conformance_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mizan/api/description/descriptiontest"
	"mizan/internal/testkit"
)

// server is the only server of a run. The first test that needs it starts it, and it continues to run after
// this test. Therefore testkit needs a testing.TB that ends with the process. server is this testing.TB: it
// implements the methods that testkit calls.
type server struct {
	testing.TB

	dir    string
	once   sync.Once
	server *testkit.Server
	base   *testkit.Client // a client without credentials, which shares its connections with the others

	checker *descriptiontest.Checker // has the description that the server serves

	broken error // why the server does not run; nil: it runs, or has not been started
	ends   []func()
}

var sandbox server

// Helper implements testing.TB.
func (s *server) Helper() {}

// TempDir implements testing.TB.
func (s *server) TempDir() string { return s.dir }

// Cleanup implements testing.TB.
func (s *server) Cleanup(end func()) { s.ends = append(s.ends, end) }

// Errorf implements testing.TB: errors outside a test are printed.
func (s *server) Errorf(format string, args ...any) {
	s.broken = errors.Join(s.broken, fmt.Errorf(format, args...))
}

// Fatal implements testing.TB.
func (s *server) Fatal(args ...any) { panic(broken(fmt.Sprint(args...))) }

// Fatalf implements testing.TB.
func (s *server) Fatalf(format string, args ...any) { panic(broken(fmt.Sprintf(format, args...))) }

// broken is the text of a failure outside a test. Code that fails there panics with it.
type broken string

// runGuarded calls fn and stores its failure.
func (s *server) runGuarded(fn func()) {
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case broken:
			s.broken = errors.Join(s.broken, errors.New(string(failure)))
		default:
			panic(failure)
		}
	}()
	fn()
}

// testServer returns the server, and starts it if it is not running yet.
func testServer(t testing.TB) *testkit.Server {
	t.Helper()
	sandbox.once.Do(func() {
		sandbox.runGuarded(func() {
			sandbox.server = testkit.Start(&sandbox, testkit.Options{Flags: []string{"--clock", "manual"}})
			sandbox.describe(sandbox.server.Anyone())
		})
	})
	if sandbox.broken != nil {
		t.Fatal(sandbox.broken)
	}
	return sandbox.server
}

// describe reads the server's description, against which every exchange of a client is then checked.
func (s *server) describe(client *testkit.Client) {
	document, err := client.Get("/openapi.json")
	if err != nil {
		s.Fatal(err)
	}
	if s.checker, err = descriptiontest.New(document.Body); err != nil {
		s.Fatalf("%v in %s", err, document.Body)
	}
	s.base = client.WithTransport(s.checked)
}

// checked returns a transport that reports requests and responses that differ from the description.
func (s *server) checked(base http.RoundTripper) http.RoundTripper {
	return &descriptiontest.Transport{Base: base, Checker: func() *descriptiontest.Checker { return s.checker }}
}

// close stops the server and checks its store; the error describes the fault.
func (s *server) close() error {
	if s.server != nil && s.broken == nil {
		s.runGuarded(s.audit)
	}
	for i := len(s.ends) - 1; i >= 0; i-- {
		s.runGuarded(s.ends[i])
	}
	return s.broken
}

func (s *server) audit() {
	if code := s.server.Stop(); code != 0 {
		s.Errorf("the server stopped with %d\n%s", code, s.server.Stderr())
	}
	if quoted := quotedCard(s.server.Stderr()); quoted != "" {
		s.Errorf("the log has the card number %s", quoted)
	}
	file := filepath.Join(s.dir, "canaries")
	if err := os.WriteFile(file, []byte(strings.Join(canaries, "\n")+"\n"), 0o600); err != nil {
		s.Fatal(err)
	}
	checked := testkit.Run(s, nil, "audit", "verify", "--data", s.server.Dir, "--canaries", file)
	if checked.Exit != 0 {
		s.Errorf("the books of the run do not hold: exit %d\n%s%s", checked.Exit, checked.Stdout, checked.Stderr)
	}
}

// TestMain creates a directory for the run, in which the binary is built too, and checks the
// store after all tests have run.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mizan-conformance-")
	if err == nil {
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	sandbox.dir = dir
	code := m.Run()
	if err := sandbox.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
