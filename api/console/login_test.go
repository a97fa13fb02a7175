package console_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mizan/api/console/consoletest"
	"mizan/internal/testkit"
)

// start starts a sandbox. Its clock is moved by the tests.
func start(t *testing.T, flags ...string) *testkit.Server {
	t.Helper()
	return testkit.Start(t, testkit.Options{Flags: append([]string{"--clock", "manual"}, flags...)})
}

// advance moves the clock of a server.
func advance(t *testing.T, s *testkit.Server, seconds int) {
	t.Helper()
	answer, err := s.Admin().Put("/api/v1/sandbox/clock", fmt.Sprintf(`{"advance_seconds":%d}`, seconds))
	testkit.WantStatus(t, answer, err, 200)
}

// TestLogin runs the tests that neither move the clock nor change persons against one server, because a start takes longer than they do.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, test := range map[string]func(*testing.T, *testkit.Server){
		"LoginSetsAStrictCookieAndLeadsToThePage":     testLoginSetsAStrictCookieAndLeadsToThePage,
		"WrongLoginsGetOneAnswer":                     testWrongLoginsGetOneAnswer,
		"LoginLeadsOnlyToPagesOfTheConsole":           testLoginLeadsOnlyToPagesOfTheConsole,
		"SessionsOfConsoleAndAPIAreApart":             testSessionsOfConsoleAndAPIAreApart,
		"LogoutEndsTheSession":                        testLogoutEndsTheSession,
		"FormsNeedTheTokenOfTheSession":               testFormsNeedTheTokenOfTheSession,
		"MalformedFormsAreRefused":                    testMalformedFormsAreRefused,
		"HeadIsAGetWithoutThePage":                    testHeadIsAGetWithoutThePage,
		"FilesAreKept":                                testFilesAreKept,
		"PartWithoutASessionLeavesThePage":            testPartWithoutASessionLeavesThePage,
		"OrganizationIsAskedOnlyWhereThereAreSeveral": testOrganizationIsAskedOnlyWhereThereAreSeveral,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// A script that loads a part of a page would put the login page in the place of the part if it were redirected with a Location.
func testPartWithoutASessionLeavesThePage(t *testing.T, s *testkit.Server) {
	b := consoletest.Open(t, s).With("HX-Request", "true")
	for page, login := range map[string]string{
		s.BaseURL + "/console/ledger/accounts?env=test": "/console/login?next=%2Fconsole%2Fledger%2Faccounts%3Fenv%3Dtest",
		"https://example.com/elsewhere":                 "/console/login",
		"::":                                            "/console/login",
	} {
		part := b.With("HX-Current-URL", page).Get("/console/ledger/accounts?part=level").Want(204)
		if got := part.Header.Get("HX-Redirect"); got != login {
			t.Errorf("a part of %s leads to %q", page, got)
		}
	}
}

func testLoginSetsAStrictCookieAndLeadsToThePage(t *testing.T, s *testkit.Server) {
	b := consoletest.Open(t, s)
	p := b.Get("/console/settings?x=1")
	if p.Path != "/console/login?next=%2Fconsole%2Fsettings%3Fx%3D1" {
		t.Errorf("a person without a session is led to %s", p.Path)
	}
	login, pass := s.Sandbox.ConsoleLogin("auditor")
	answer := b.Send(http.MethodPost, "/console/login", url.Values{
		"organization": {s.Sandbox.OrganizationID}, "login": {login}, "pass": {pass}, "next": {"/console/settings?x=1"},
	})
	if answer.Status != 303 || answer.Header.Get("Location") != "/console/settings?x=1" {
		t.Errorf("%d to %s", answer.Status, answer.Header.Get("Location"))
	}
	cookies := answer.Header.Values("Set-Cookie")
	if len(cookies) != 2 {
		t.Fatalf("cookies %q", cookies)
	}
	for _, cookie := range cookies {
		for _, attribute := range []string{"HttpOnly", "secure", "SameSite=Strict", "path=/console"} {
			if !strings.Contains(cookie, attribute) {
				t.Errorf("%q has no %s", cookie, attribute)
			}
		}
	}
	b.Get("/console/").Want(200, "Sandbox bank")
	if got := b.Cookie("mizan_organization"); got != s.Sandbox.OrganizationID {
		t.Errorf("the organization that the browser remembers is %q", got)
	}
}

func testWrongLoginsGetOneAnswer(t *testing.T, s *testkit.Server) {
	login, pass := s.Sandbox.ConsoleLogin("admin")
	var bodies []string
	for name, c := range map[string][3]string{
		"wrong password":         {s.Sandbox.OrganizationID, login, "wrong"},
		"unknown login":          {s.Sandbox.OrganizationID, "sandbox-admim", pass},
		"other organization":     {s.Sandbox.Second.OrganizationID, login, pass},
		"no organization":        {"", login, pass},
		"malformed organization": {"x", login, pass},
		"no password":            {s.Sandbox.OrganizationID, login, ""},
		"long login":             {s.Sandbox.OrganizationID, strings.Repeat("x", 300), pass},
	} {
		b := consoletest.Open(t, s)
		p := b.Send(http.MethodPost, "/console/login", url.Values{"organization": {c[0]}, "login": {c[1]}, "pass": {c[2]}})
		p.Want(401, "The login or the password is wrong.")
		if b.Cookie("mizan_session") != "" {
			t.Errorf("%s: there is a session", name)
		}
		bodies = append(bodies, strings.NewReplacer(c[0], "", c[1], "").Replace(p.Text()))
	}
	if slices.Sort(bodies); len(slices.Compact(bodies)) != 1 {
		t.Errorf("the answers differ: %q", bodies)
	}
}

// The fifth failure of a login locks it for 15 minutes, in the console and in the API.
func TestLockoutIsTheAPIs(t *testing.T) {
	t.Parallel()
	s := start(t)
	login, pass := s.Sandbox.ConsoleLogin("client")
	b := consoletest.Open(t, s)
	for range 5 {
		b.LogIn(login, "wrong").Want(401)
	}
	locked := b.Send(http.MethodPost, "/console/login", url.Values{"organization": {s.Sandbox.OrganizationID}, "login": {login}, "pass": {pass}})
	locked.Want(429, "Too many attempts")
	if locked.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	answer, err := s.Anyone().With("x-organization-id", s.Sandbox.OrganizationID).Post("/api/v1/sessions", map[string]string{"login": login, "pass": pass})
	testkit.WantStatus(t, answer, err, 429)
	advance(t, s, 15*60+1)
	b.LogIn(login, pass).Want(200, "Sandbox bank")
}

func testLoginLeadsOnlyToPagesOfTheConsole(t *testing.T, s *testkit.Server) {
	login, pass := s.Sandbox.ConsoleLogin("auditor")
	for _, next := range []string{
		"https://evil.example/", "//evil.example/", "/\\evil.example", "/api/v1/health", "/console/../api/v1/health", "/console//evil.example", "javascript:alert(1)",
		"/console/login", "/console\t/x", "", "console/", "/console/\r\nX: y", "/console/x?a=//evil.example",
	} {
		b := consoletest.Open(t, s)
		answer := b.Send(http.MethodPost, "/console/login", url.Values{"organization": {s.Sandbox.OrganizationID}, "login": {login}, "pass": {pass}, "next": {next}})
		want := "/console/"
		if next == "/console/x?a=//evil.example" {
			want = next
		}
		if answer.Status != 303 || answer.Header.Get("Location") != want {
			t.Errorf("next %q leads to %q", next, answer.Header.Get("Location"))
		}
	}
}

// A session of the console is not valid for the API, and a session of the API is not valid for the console.
func testSessionsOfConsoleAndAPIAreApart(t *testing.T, s *testkit.Server) {
	b := consoletest.As(t, s, "admin")
	organization, token, _ := strings.Cut(b.Cookie("mizan_session"), ".")
	if organization != s.Sandbox.OrganizationID || token == "" {
		t.Fatalf("the cookie is %q", b.Cookie("mizan_session"))
	}
	asBearer := s.Anyone().With("authorization", "Bearer "+token, "x-organization-id", organization)
	for _, path := range []string{"/api/v1/sessions/current", "/api/v1/ledger/accounts", "/api/v1/partners", "/api/v1/pfp/leases"} {
		answer, err := asBearer.Get(path)
		testkit.WantStatus(t, answer, err, 401)
		answer, err = s.Anyone().With("cookie", "mizan_session="+b.Cookie("mizan_session"), "x-organization-id", organization).Get(path)
		testkit.WantStatus(t, answer, err, 401)
	}
	for name, value := range map[string]string{
		"session of the API": s.Sandbox.OrganizationID + "." + s.Sandbox.SessionToken, "key": s.Sandbox.OrganizationID + "." + s.Sandbox.APIKey,
		"administration token": s.Sandbox.OrganizationID + "." + s.Sandbox.AdminToken, "no organization": "." + token, "no token": organization + ".",
		"other organization": s.Sandbox.Second.OrganizationID + "." + token, "rubbish": "x",
	} {
		other := consoletest.Open(t, s)
		other.SetCookie("mizan_session", value)
		if p := other.Get("/console/"); !strings.HasPrefix(p.Path, "/console/login") {
			t.Errorf("a %s in the cookie opens %s", name, p.Path)
		}
	}
	withToken := consoletest.Open(t, s).With("Authorization", "Bearer "+s.Sandbox.SessionToken).With("X-Organization-Id", s.Sandbox.OrganizationID)
	if p := withToken.Get("/console/"); !strings.HasPrefix(p.Path, "/console/login") {
		t.Errorf("a bearer token opens %s", p.Path)
	}
	b.Get("/console/").Want(200)
}

func testLogoutEndsTheSession(t *testing.T, s *testkit.Server) {
	b := consoletest.As(t, s, "partner")
	cookie := b.Cookie("mizan_session")
	p := b.Get("/console/").Form("/console/logout").Submit("")
	if !strings.HasPrefix(p.Path, "/console/login") || b.Cookie("mizan_session") != "" {
		t.Errorf("the logout leads to %s, with the cookie %q", p.Path, b.Cookie("mizan_session"))
	}
	b.SetCookie("mizan_session", cookie)
	if p := b.Get("/console/"); p.Path != "/console/login?ended=1" {
		t.Errorf("the ended session opens %s", p.Path)
	}
}

func TestSessionEndsAfterHalfAnHourWithoutUse(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := consoletest.As(t, s, "auditor")
	for range 3 {
		advance(t, s, 20*60)
		b.Get("/console/").Want(200, "Sandbox bank")
	}
	advance(t, s, 31*60)
	b.Get("/console/").Want(200, "Your session has ended")
}

// A form has an effect only if it has the CSRF token of its session and is sent from a page of the same site.
func testFormsNeedTheTokenOfTheSession(t *testing.T, s *testkit.Server) {
	b := consoletest.As(t, s, "admin")
	other := consoletest.As(t, s, "auditor")
	token := b.Get("/console/").Form("/console/logout").Value("csrf")
	foreign := other.Get("/console/").Form("/console/logout").Value("csrf")
	if raw, err := base64.RawURLEncoding.DecodeString(token); err != nil || len(raw) != 32 || foreign == token {
		t.Errorf("the tokens are %q and %q", token, foreign)
	}
	for name, c := range map[string]struct {
		token, header, value string
	}{
		"no token":            {"", "", ""},
		"another session's":   {foreign, "", ""},
		"a shortened one":     {token[:len(token)-1], "", ""},
		"another site":        {token, "Sec-Fetch-Site", "cross-site"},
		"another subdomain":   {token, "Sec-Fetch-Site", "same-site"},
		"another origin":      {token, "Origin", "https://evil.example"},
		"an opaque origin":    {token, "Origin", "null"},
		"another port's page": {token, "Origin", "https://127.0.0.1:1"},
	} {
		from := b
		if c.header != "" {
			from = b.With(c.header, c.value)
		}
		from.Post("/console/logout", url.Values{"csrf": {c.token}}).Want(403, "This form is no longer valid", "Nothing was changed")
		if t.Failed() {
			t.Fatal(name)
		}
	}
	b.Get("/console/").Want(200, "Sandbox bank")
	b.With("Sec-Fetch-Site", "same-origin").Post("/console/logout", url.Values{"csrf": {token}}).Want(200, "Sign in")
	consoletest.Open(t, s).With("Sec-Fetch-Site", "cross-site").Post("/console/login", url.Values{"login": {"x"}, "pass": {"y"}}).Want(403)
}

func testMalformedFormsAreRefused(t *testing.T, s *testkit.Server) {
	b := consoletest.As(t, s, "admin")
	token := b.Get("/console/").Form("/console/logout").Value("csrf")
	fields := url.Values{"csrf": {token}}
	for i := range 2001 {
		fields.Set(fmt.Sprint("f", i), "")
	}
	b.Post("/console/logout", fields).Want(413, "The form is too large")
	b.Post("/console/logout", url.Values{"csrf": {token}, "x": {"\xff"}}).Want(400)
	b.Post("/console/logout", url.Values{"csrf": {token}, "form_key": {strings.Repeat("x", 65)}}).Want(403)
	b.Post("/console/nowhere", url.Values{"csrf": {token}}).Want(405, "This address takes no such request")
	b.Get("/console/").Want(200, "Sandbox bank")
}

// A user of a deactivated partner can open no page, and can only sign out.
func TestDeactivatedPartnerCanOnlySignOut(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := consoletest.As(t, s, "partner")
	token := b.Get("/console/").Form("/console/logout").Value("csrf")
	answer, err := s.Admin().Do("PATCH", "/api/v1/partners/1", `{"active":false}`)
	testkit.WantStatus(t, answer, err, 200)
	b.Get("/console/").Want(403, "You may not open this page")
	b.Get("/console/settings").Want(403)
	login, pass := s.Sandbox.ConsoleLogin("partner")
	consoletest.Open(t, s).LogIn(login, pass).Want(403, "This account is switched off")
	consoletest.Open(t, s).LogIn(login, "wrong").Want(401)
	b.Post("/console/logout", url.Values{"csrf": {token}}).Want(200, "Sign in")
	if b.Cookie("mizan_session") != "" {
		t.Error("the cookie is still there")
	}
}

// A deactivated person, a new password and another role end the session of the console at once.
func TestChangesOfAUserEndTheSessions(t *testing.T) {
	t.Parallel()
	s := start(t)
	answer, err := s.Admin().Get("/api/v1/users")
	testkit.WantStatus(t, answer, err, 200)
	var users struct {
		Data []struct{ ID, Login string } `json:"data"`
	}
	if err := answer.JSON(&users); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(users.Data, func(u struct{ ID, Login string }) bool { return u.Login == "sandbox-client" })
	for _, change := range []string{`{"roles":["auditor"]}`, `{"pass":"correct-horse-battery-9"}`, `{"active":false}`} {
		login, pass := s.Sandbox.ConsoleLogin("client")
		if change != `{"roles":["auditor"]}` && change != `{"pass":"correct-horse-battery-9"}` {
			pass = "correct-horse-battery-9"
		}
		b := consoletest.Open(t, s)
		b.LogIn(login, pass).Want(200, "Sandbox bank")
		answer, err := s.Admin().Do("PATCH", "/api/v1/users/"+users.Data[at].ID, change)
		testkit.WantStatus(t, answer, err, 200)
		b.Get("/console/").Want(200, "Your session has ended")
	}
}

// A HEAD gets the same response as a GET, but without the body. A browser never stores a page of the console.
func testHeadIsAGetWithoutThePage(t *testing.T, s *testkit.Server) {
	b := consoletest.As(t, s, "client")
	for path, status := range map[string]int{"/console/": 200, "/console/nowhere": 404, "/console/login": 200, "/console/admin/logins": 403} {
		got, head := b.Send(http.MethodGet, path, nil), b.Send(http.MethodHead, path, nil)
		if head.Status != status || got.Status != status || head.Body != "" || head.Header.Get("Content-Type") != got.Header.Get("Content-Type") {
			t.Errorf("%s: %d, by HEAD %d with %d bytes", path, got.Status, head.Status, len(head.Body))
		}
	}
	if p := consoletest.Open(t, s).Send(http.MethodHead, "/console/settings", nil); p.Status != 303 {
		t.Errorf("a HEAD without a session gets %d", p.Status)
	}
}

// A browser may cache the files that a page loads forever, and gets them compressed.
func testFilesAreKept(t *testing.T, s *testkit.Server) {
	b := consoletest.Open(t, s).With("Accept-Encoding", "gzip")
	files := regexp.MustCompile(`/console/assets/[a-z0-9.-]+`).FindAllString(b.Get("/console/login").Body, -1)
	if len(files) != 4 {
		t.Fatalf("the page loads %q", files)
	}
	for _, path := range files {
		p := b.Send(http.MethodGet, path, nil)
		if p.Status != 200 || !strings.Contains(p.Header.Get("Cache-Control"), "immutable") || p.Header.Get("Content-Encoding") != "gzip" || p.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, p.Status, p.Header)
		}
		if plain := b.With("Accept-Encoding", "identity").Send(http.MethodGet, path, nil); plain.Header.Get("Content-Encoding") != "" || len(plain.Body) <= len(p.Body) {
			t.Errorf("%s: %d bytes, compressed %d", path, len(plain.Body), len(p.Body))
		}
	}
	b.With("Accept-Encoding", "identity").Get("/console/assets/console-0000000000000000.css").Want(404)
}

func testOrganizationIsAskedOnlyWhereThereAreSeveral(t *testing.T, s *testkit.Server) {
	b := consoletest.Open(t, s)
	b.Get("/console/login").Want(200, "Organization")
	if got := b.Get("/console?organization=" + s.Sandbox.OrganizationID).Form("/console/login").Value("organization"); got != s.Sandbox.OrganizationID {
		t.Errorf("the address names the organization, and the form has %q", got)
	}
	login, pass := s.Sandbox.ConsoleLogin("admin")
	b.LogIn(login, pass).Want(200)
	b.Get("/console/").Form("/console/logout").Submit("")
	if got := b.Get("/console/login").Form("/console/login").Value("organization"); got != s.Sandbox.OrganizationID {
		t.Errorf("the browser remembers %q", got)
	}
}
