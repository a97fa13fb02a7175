package admin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mizan/internal/testkit"
)

// token is the token that the commands send to the servers in these tests.
const token = "mza_wire-test-token"

// stub is a fake server for behavior that the real one never shows: it breaks connections, sends
// malformed responses, and redirects.
type stub struct {
	*httptest.Server
	mu       sync.Mutex
	received []*http.Request // guarded by mu
}

// newStub returns a stub that calls respond for each request. earlierRequests is the number of requests that came before.
func newStub(t *testing.T, respond func(w http.ResponseWriter, r *http.Request, earlierRequests int)) *stub {
	t.Helper()
	testkit.NotUnderRace(t, noRaceReason)
	s := new(stub)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		earlierRequests := len(s.received)
		s.received = append(s.received, r)
		s.mu.Unlock()
		respond(w, r, earlierRequests)
	}))
	t.Cleanup(s.Close)
	return s
}

// requests returns the requests received so far.
func (s *stub) requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.received)
}

// admin runs a command against the stub. It checks the exit code and stderr, and that the command does not print the token.
func (s *stub) admin(t *testing.T, exit int, stderr string, args ...string) testkit.Result {
	t.Helper()
	env := []string{"MIZAN_ADMIN_TOKEN=" + token, "MIZAN_CA_FILE=", "MIZAN_ORGANIZATION="}
	r := testkit.Run(t, env, slices.Concat([]string{"admin", "--url", s.URL}, args)...)
	if r.Exit != exit {
		t.Errorf("%v ended with %d, want %d: %s", args, r.Exit, exit, r.Stderr)
	}
	if r.Stderr != stderr {
		t.Errorf("%v said %q, want %q", args, r.Stderr, stderr)
	}
	if strings.Contains(r.Stdout+r.Stderr, token) {
		t.Errorf("%v printed the token", args)
	}
	return r
}

// hangUp closes a request's connection without a response.
func hangUp(t *testing.T, w http.ResponseWriter) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_ = connection.Close()
}

func TestBrokenWriteIsRetriedWithItsKey(t *testing.T) {
	t.Parallel()
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request, earlierRequests int) {
		if earlierRequests == 0 {
			hangUp(t, w)
			return
		}
		w.Header().Set("X-Idempotent-Replay", "true")
		_, _ = fmt.Fprint(w, `{"data":{"id":"1"}}`)
	})
	if r := s.admin(t, 0, "", "--json", "organizations", "create", "--name", "X"); r.Stdout != "{\"id\":\"1\"}\n" {
		t.Errorf("printed %q", r.Stdout)
	}
	requests := s.requests()
	if len(requests) != 2 {
		t.Fatalf("%d requests, want 2", len(requests))
	}
	key := requests[0].Header.Get("Idempotency-Key")
	if key == "" || requests[1].Header.Get("Idempotency-Key") != key {
		t.Errorf("the keys are %q and %q, want the same twice", key, requests[1].Header.Get("Idempotency-Key"))
	}
	s.admin(t, 0, "mizan: organizations create: this was done before; the original response follows\n", "organizations", "create", "--name", "X")
	if otherKey := s.requests()[2].Header.Get("Idempotency-Key"); otherKey == "" || otherKey == key {
		t.Errorf("another write has the key %q after %q", otherKey, key)
	}
}

func TestUnansweredWritePrintsItsKey(t *testing.T) {
	t.Parallel()
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ int) { hangUp(t, w) })
	s.admin(t, 1, "mizan: organizations create: "+s.URL+": EOF; it is unknown whether the write was done: repeat it with --idempotency-key 'k 1'\n",
		"--idempotency-key", "k 1", "organizations", "create", "--name", "X")
	if n := len(s.requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	s.admin(t, 1, "mizan: organizations list: "+s.URL+": EOF\n", "organizations", "list")
}

func TestReadsHaveNoIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ int) { _, _ = fmt.Fprint(w, `{"data":[]}`) })
	s.admin(t, 0, "mizan: organizations list: the list is empty\n", "organizations", "list")
	if r := s.requests()[0]; r.Header.Get("Idempotency-Key") != "" || r.Header.Get("Authorization") != "Bearer "+token {
		t.Errorf("asked with %v", r.Header)
	}
}

func TestRefusalPrintsOneLinePerField(t *testing.T) {
	t.Parallel()
	const commandName = "organizations show: "
	for _, c := range []struct {
		status int
		body   string
		exit   int
		lines  []string
	}{
		{422, `{"errors":[{"code":"invalid","detail":"login is taken","field":"login"},{"code":"invalid","detail":"Unexpected field","field":"colour"},{"code":"invalid","detail":"no"}]}`, 2,
			[]string{"login: is taken", "colour: Unexpected field", "no"}},
		{409, `{"error":"conflict","message":"login: is taken"}`, 2, []string{"login: is taken"}},
		{401, `{"error":"unauthorized"}`, 2, []string{"unauthorized"}},
		{404, `not JSON`, 2, []string{"the server answered 404 Not Found"}},
		{429, `{"error":"rate_limited","message":"too many requests"}`, 2, []string{"too many requests"}},
		{500, `{"error":"internal","message":"something went wrong on our side"}`, 1, []string{"something went wrong on our side (answered with 500) (request r-1)"}},
		{502, `<html>bad gateway</html>`, 1, []string{"the server answered 502 Bad Gateway (request r-1)"}},
		{422, "{\"error\":\"a\\nb\\u001b[2Jc\"}", 2, []string{`a\nb\x1b[2Jc`}},
	} {
		s := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("X-Request-Id", "r-1")
			w.WriteHeader(c.status)
			_, _ = fmt.Fprint(w, c.body)
		})
		want := "mizan: " + commandName + strings.Join(c.lines, "\nmizan: "+commandName) + "\n"
		if r := s.admin(t, c.exit, want, "organizations", "show", unknownID); r.Stdout != "" {
			t.Errorf("%d printed %q", c.status, r.Stdout)
		}
	}
}

const unknownID = "00000000-0000-4000-8000-000000000000"

func TestTokenIsNotSentToOtherServers(t *testing.T) {
	t.Parallel()
	otherServer := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ int) { _, _ = fmt.Fprint(w, `{"data":[]}`) })
	s := newStub(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		http.Redirect(w, r, otherServer.URL, http.StatusTemporaryRedirect)
	})
	s.admin(t, 1, "mizan: organizations list: the server answered 307 Temporary Redirect\n", "organizations", "list")
	if n := len(otherServer.requests()); n != 0 {
		t.Errorf("the redirect was followed %d times", n)
	}
}

func TestUnexpectedResponsesAreRefused(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `{}`, `[]`, `{"data":1}`, `{"data":[1]}`, `{"data":[{}],"data":[{}]}`} {
		s := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ int) { _, _ = fmt.Fprint(w, body) })
		r := testkit.Run(t, []string{"MIZAN_ADMIN_TOKEN=" + token}, "admin", "--url", s.URL, "organizations", "list")
		if r.Exit != 1 || !strings.HasPrefix(r.Stderr, "mizan: organizations list: the answer is not a list of the server's") || strings.Count(r.Stderr, "\n") != 1 {
			t.Errorf("%q ended with %d and said %q", body, r.Exit, r.Stderr)
		}
	}
}

func TestListWithARepeatedCursorEnds(t *testing.T) {
	t.Parallel()
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		_, _ = fmt.Fprint(w, `{"data":[{"id":"1"}],"cursor":{"cursor_field":"id","cursor_value":"same"}}`)
	})
	r := s.admin(t, 1, "mizan: organizations list: the list does not end: the server gives the same page again\n", "--json", "organizations", "list", "--all")
	if n := len(s.requests()); n != 2 || r.Stdout != "{\"id\":\"1\"}\n{\"id\":\"1\"}\n" {
		t.Errorf("%d requests, printed %q", n, r.Stdout)
	}
}

// If the connection breaks during a list, the rows that have arrived are printed, because they are
// valid.
func TestInterruptedListPrintsTheReceivedRows(t *testing.T) {
	t.Parallel()
	s := newStub(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		if r.URL.Query().Get("cursor") == "" {
			_, _ = fmt.Fprint(w, `{"data":[{"id":"1"}],"cursor":{"cursor_field":"id","cursor_value":"next"}}`)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprint(w, `{"error":"unavailable","message":"busy"}`)
	})
	if r := s.admin(t, 1, "mizan: organizations list: busy (answered with 503)\n", "--json", "organizations", "list", "--all"); r.Stdout != "{\"id\":\"1\"}\n" {
		t.Errorf("printed %q", r.Stdout)
	}
}

func TestServerTextCannotMoveTheTerminalCursor(t *testing.T) {
	t.Parallel()
	const name = `a\tb\nc\u001b[31m\u009b2J\u202e`
	const escaped = `a\tb\nc\x1b[31m\u009b2J\u202e`
	s := newStub(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		body := `{"id":"1","name":"` + name + `","modules":["` + name + `"],"type":null}`
		if strings.HasSuffix(r.URL.Path, unknownID) {
			body = `{"data":` + body + `}`
		} else {
			body = `{"data":[` + body + `]}`
		}
		_, _ = fmt.Fprint(w, body)
	})
	r := s.admin(t, 0, "", "organizations", "show", unknownID)
	if want := "id       1\nname     " + escaped + "\nmodules  " + escaped + "\ntype     -\n"; r.Stdout != want {
		t.Errorf("show printed %q, want %q", r.Stdout, want)
	}
	r = s.admin(t, 0, "", "organizations", "list")
	if lines := strings.Split(r.Stdout, "\n"); len(lines) != 3 || strings.Count(lines[1], escaped) != 2 {
		t.Errorf("list printed %q", r.Stdout)
	}
	// With --json, an object of the server is printed unchanged, on one line.
	r = s.admin(t, 0, "", "--json", "organizations", "show", unknownID)
	if want := `{"id":"1","name":"` + name + `","modules":["` + name + `"],"type":null}` + "\n"; r.Stdout != want {
		t.Errorf("--json printed %q, want %q", r.Stdout, want)
	}
}

func TestJSONOutputIsOneLine(t *testing.T) {
	t.Parallel()
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		_, _ = fmt.Fprint(w, "{\n \"data\": {\n  \"z\": 100000000000000000000000001,\n  \"a\": [ 1.0, {} ]\n }\n}\n")
	})
	if r := s.admin(t, 0, "", "--json", "organizations", "show", unknownID); r.Stdout != "{\"z\":100000000000000000000000001,\"a\":[1.0,{}]}\n" {
		t.Errorf("printed %q", r.Stdout)
	}
}

// The command refuses a value that is not UTF-8, because the encoding as JSON would change it. The error does not contain the
// password.
func TestValuesThatAreNotUTF8AreNotSent(t *testing.T) {
	t.Parallel()
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ int) { _, _ = fmt.Fprint(w, `{"data":{}}`) })
	s.admin(t, 2, "mizan: organizations create: an argument is not UTF-8\n", "organizations", "create", "--name", "caf\xe9")
	passwordFile := filepath.Join(t.TempDir(), "pass")
	if err := os.WriteFile(passwordFile, []byte("caf\xe9"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.admin(t, 2, "mizan: partners create: a file is not UTF-8\n", "partners", "create", "--pass-file", passwordFile)
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

func TestNoContentPrintsNothing(t *testing.T) {
	t.Parallel()
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusNoContent) })
	if r := s.admin(t, 0, "", "blocklist", "delete", unknownID); r.Stdout != "" {
		t.Errorf("printed %q", r.Stdout)
	}
	if request := s.requests()[0]; request.Method != http.MethodDelete || request.URL.Path != "/api/v1/blocklist/"+unknownID {
		t.Errorf("asked %s %s", request.Method, request.URL.Path)
	}
}

func TestPagingFollowsTheFlags(t *testing.T) {
	t.Parallel()
	s := newStub(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		nextCursor := `null`
		if r.URL.Query().Get("cursor") == "" {
			nextCursor = `"2026-09-03T10:15:30.123456+00:00"`
		}
		_, _ = fmt.Fprint(w, `{"data":[],"cursor":{"cursor_field":"created_at","cursor_value":`+nextCursor+`}}`)
	})
	s.admin(t, 0, "mizan: keys list: there is more: --all, or --cursor '2026-09-03T10:15:30.123456+00:00'\n", "keys", "list")
	s.admin(t, 0, "mizan: keys list: nothing follows the cursor\n", "keys", "list", "--partner", "7", "--limit", "3", "--cursor", "2026-09-03T10:15:30.123456+00:00")
	s.admin(t, 0, "mizan: keys list: the list is empty\n", "keys", "list", "--all")
	const escapedCursor = "cursor=2026-09-03T10%3A15%3A30.123456%2B00%3A00"
	want := []string{"", escapedCursor + "&limit=3&partner_id=7", "limit=100", escapedCursor + "&limit=100"}
	var got []string
	for _, r := range s.requests() {
		got = append(got, r.URL.RawQuery)
	}
	if !slices.Equal(got, want) {
		t.Errorf("asked for %q, want %q", got, want)
	}
}
