package serving

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

func sandboxBytes(t *testing.T, s *testkit.Server) []byte {
	t.Helper()
	path := filepath.Join(s.Dir, sandboxFile)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if stat, err := os.Stat(path); err != nil || stat.Mode().Perm() != 0o600 {
		t.Errorf("sandbox.json has mode %v, want 0600", stat.Mode())
	}
	return content
}

func TestSandboxFileIsTheSameAtEachStart(t *testing.T) {
	testkit.NotUnderRace(t, onceAtAStart)
	server := testkit.Start(t, testkit.Options{})
	first := server.Sandbox
	var names []string
	for _, match := range regexp.MustCompile(`"(\w+)":`).FindAllSubmatch(sandboxBytes(t, server), -1) {
		names = append(names, string(match[1]))
	}
	const want = "base_url ca_file admin_token organization_id partner_id api_key partner_login partner_pass session_token auditor_token " +
		"second organization_id partner_id api_key session_token"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("sandbox.json has %s, want %s", got, want)
	}
	if first.PartnerID != 1 || first.Second.PartnerID != 2 || first.PartnerLogin != "demo" {
		t.Errorf("partners %d %d, login %q", first.PartnerID, first.Second.PartnerID, first.PartnerLogin)
	}
	for _, end := range []func(){func() { server.Stop() }, server.Kill} {
		end()
		server.Restart()
		second := server.Sandbox
		if second.BaseURL != server.BaseURL {
			t.Errorf("base_url is %s, want this start's %s", second.BaseURL, server.BaseURL)
		}
		if second.BaseURL = first.BaseURL; second != first {
			t.Errorf("the values changed over a restart")
		}
		testkit.Pay(t, server.Partner(), "")
		testkit.Pay(t, server.Second(), "")
	}
}

func TestLostSandboxValuesAreRecreated(t *testing.T) {
	testkit.NotUnderRace(t, onceAtAStart)
	server := testkit.Start(t, testkit.Options{})
	first := server.Sandbox
	path := filepath.Join(server.Dir, sandboxFile)
	edit := func(change func(map[string]any)) {
		t.Helper()
		server.Kill()
		var box map[string]any
		if err := json.Unmarshal(sandboxBytes(t, server), &box); err != nil {
			t.Fatal(err)
		}
		change(box)
		content, err := json.Marshal(box)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		server.Restart()
	}
	edit(func(box map[string]any) {
		delete(box, "api_key")
		box["auditor_token"] = "mzs_damaged"
		delete(box["second"].(map[string]any), "session_token")
	})
	now := server.Sandbox
	if now.APIKey == first.APIKey || now.AuditorToken == first.AuditorToken || now.Second.SessionToken == first.Second.SessionToken {
		t.Error("a lost value came back")
	}
	if now.AdminToken != first.AdminToken || now.SessionToken != first.SessionToken || now.PartnerPass != first.PartnerPass ||
		now.Second.APIKey != first.Second.APIKey || now.OrganizationID != first.OrganizationID {
		t.Error("a value that was not lost changed")
	}
	works := func() {
		t.Helper()
		testkit.Pay(t, server.Partner(), "")
		testkit.Pay(t, server.Second(), "")
		for _, c := range []*testkit.Client{server.Auditor(), server.Session()} {
			answer, err := c.Get("/api/v1/ledger/accounts")
			testkit.WantStatus(t, answer, err, 200)
		}
	}
	works()

	server.Kill()
	if err := os.WriteFile(path, []byte(`{"base_url": 7`), 0o600); err != nil {
		t.Fatal(err)
	}
	server.Restart()
	if server.Sandbox.AdminToken == now.AdminToken || server.Sandbox.APIKey == now.APIKey || server.Sandbox.OrganizationID != first.OrganizationID {
		t.Error("a sandbox.json that can't be read was not made anew")
	}
	works()
}

// The operator may set another password for the sandbox's partner. Then the next start makes a new
// password, stores it in sandbox.json and puts it in force.
func TestReplacedSandboxPasswordIsRecreated(t *testing.T) {
	testkit.NotUnderRace(t, onceAtAStart)
	server := testkit.Start(t, testkit.Options{})
	first := server.Sandbox
	answer, err := server.Admin().With("x-organization-id", first.OrganizationID).Do("PATCH", "/api/v1/partners/1", `{"pass":"another-Lion-paints-9"}`)
	testkit.WantStatus(t, answer, err, 200)
	server.Stop()
	server.Restart()
	second := server.Sandbox
	if second.PartnerPass == first.PartnerPass || second.PartnerPass == "" || second.PartnerPass == "another-Lion-paints-9" {
		t.Error("the password is not a new one")
	}
	if second.PartnerPass, second.BaseURL = first.PartnerPass, first.BaseURL; second != first {
		t.Error("another value changed")
	}
	login := func(pass string, want int) {
		t.Helper()
		answer, err := server.Anyone().With("x-organization-id", first.OrganizationID).Post("/api/v1/sessions", map[string]string{"login": "demo", "pass": pass})
		testkit.WantStatus(t, answer, err, want)
	}
	login(server.Sandbox.PartnerPass, 201)
	login("another-Lion-paints-9", 401)
	login(first.PartnerPass, 401)
	now := server.Sandbox.PartnerPass
	server.Kill()
	server.Restart()
	if server.Sandbox.PartnerPass != now {
		t.Error("a password in force was made anew")
	}
}

func TestFirstAdminTokenIsPrintedOnce(t *testing.T) {
	testkit.NotUnderRace(t, onceAtAStart)
	keys := filepath.Join(t.TempDir(), "keyring")
	if r := testkit.Run(t, nil, "keyring", keys); r.Exit != 0 {
		t.Fatal(r.Stderr)
	}
	server := testkit.Start(t, testkit.Options{Bare: true, Flags: []string{"--tls", "off", "--keyring", keys}})
	const mark = "mizan: first admin token, shown this once: mza_"
	if n := strings.Count(server.Stdout(), mark); n != 1 {
		t.Errorf("the first start printed %d tokens:\n%s", n, server.Stdout())
	}
	if strings.Contains(server.Stderr(), "mza_") {
		t.Error("the token is in the log")
	}
	if _, err := os.Stat(filepath.Join(server.Dir, sandboxFile)); err == nil {
		t.Error("there is a sandbox.json without --sandbox")
	}
	server.Kill()
	server.Restart()
	if strings.Contains(server.Stdout(), "mza_") {
		t.Error("the second start printed a token")
	}
	server.Stop()
	r := testkit.Run(t, nil, "serve", "--sandbox", "--data", server.Dir, "--listen", "127.0.0.1:0")
	if r.Exit == 0 {
		t.Error("a store that is no sandbox was served as one")
	}
}

func TestAdminTokenFromFile(t *testing.T) {
	testkit.NotUnderRace(t, onceAtAStart)
	token := "mza_" + strings.Repeat("s", 43)
	path := testkit.File(t, "token", token+"\n")
	s := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual", "--admin-token-file", path}})
	if s.Sandbox.AdminToken != token {
		t.Errorf("sandbox.json has another admin token than the file")
	}
	answer, err := s.Admin().Get("/api/v1/sandbox/clock")
	testkit.WantStatus(t, answer, err, 200)
}

// If other tokens are in force besides the one from the file, the server logs that.
func TestSeveralAdminTokensAreLogged(t *testing.T) {
	testkit.NotUnderRace(t, onceAtAStart)
	const line = "several administration tokens are in force"
	server := testkit.Start(t, testkit.Options{})
	if strings.Contains(server.Stderr(), line) {
		t.Errorf("of one: %s", server.Stderr())
	}
	first, second := server.Sandbox.AdminToken, "mza_"+strings.Repeat("s", 43)
	server.Stop()
	server.Restart("--admin-token-file", testkit.File(t, "token", second))
	if !strings.Contains(server.Stderr(), line+`" count=2`) {
		t.Errorf("of two: %s", server.Stderr())
	}
	for _, token := range []string{first, second} {
		answer, err := server.Admin().With("authorization", "Bearer "+token).Get("/api/v1/partners")
		testkit.WantStatus(t, answer, err, 200)
	}
}

func TestSandboxStoreNeedsTheSandbox(t *testing.T) {
	testkit.NotUnderRace(t, refusedStart)
	s := testkit.Start(t, testkit.Options{})
	s.Stop()
	r := testkit.Run(t, nil, "serve", "--data", s.Dir, "--listen", "127.0.0.1:0", "--tls", "off", "--keyring", filepath.Join(s.Dir, "keyring"))
	if r.Exit != 2 {
		t.Errorf("exit %d, want 2", r.Exit)
	}
	testkit.WantOneLine(t, r.Stderr, "mizan: configuration: sandbox: ")
}

// TestPrintedCommandsHoldNoSecret checks the printed commands, because they may end up in a
// log.
func TestPrintedCommandsHoldNoSecret(t *testing.T) {
	testkit.NotUnderRace(t, onceAtAStart)
	s := testkit.Start(t, testkit.Options{})
	for _, secret := range []string{
		s.Sandbox.AdminToken, s.Sandbox.APIKey, s.Sandbox.PartnerPass, s.Sandbox.SessionToken, s.Sandbox.AuditorToken,
		s.Sandbox.Second.APIKey, s.Sandbox.Second.SessionToken,
	} {
		if secret == "" || strings.Contains(s.Stdout(), secret) || strings.Contains(s.Stderr(), secret) {
			t.Error("a secret of sandbox.json is empty or was printed")
		}
	}
}
