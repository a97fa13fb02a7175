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

func readSandboxFile(t *testing.T, s *testkit.Server) []byte {
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
	testkit.NotUnderRace(t, reasonStartIsSequential)
	server := testkit.Start(t, testkit.Options{})
	original := server.Sandbox
	var names []string
	for _, match := range regexp.MustCompile(`"(\w+)":`).FindAllSubmatch(readSandboxFile(t, server), -1) {
		names = append(names, string(match[1]))
	}
	const want = "base_url ca_file admin_token organization_id partner_id api_key partner_login partner_pass session_token auditor_token " +
		"console_url admin_login admin_pass auditor_login auditor_pass client_login client_pass second organization_id partner_id api_key session_token"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("sandbox.json has %s, want %s", got, want)
	}
	if original.ConsoleURL != original.BaseURL+"/console" || original.AdminLogin != "sandbox-admin" || original.AuditorLogin != "sandbox-auditor" || original.ClientLogin != "sandbox-client" {
		t.Errorf("console %s, logins %s %s %s", original.ConsoleURL, original.AdminLogin, original.AuditorLogin, original.ClientLogin)
	}
	if original.PartnerID != 1 || original.Second.PartnerID != 2 || original.PartnerLogin != "demo" {
		t.Errorf("partners %d %d, login %q", original.PartnerID, original.Second.PartnerID, original.PartnerLogin)
	}
	for _, end := range []func(){func() { server.Stop() }, server.Kill} {
		end()
		server.Restart()
		current := server.Sandbox
		if current.BaseURL != server.BaseURL {
			t.Errorf("base_url is %s, want this start's %s", current.BaseURL, server.BaseURL)
		}
		if current.BaseURL, current.ConsoleURL = original.BaseURL, original.ConsoleURL; current != original {
			t.Errorf("the values changed over a restart")
		}
		testkit.Pay(t, server.Partner(), "")
		testkit.Pay(t, server.SecondPartner(), "")
	}
}

func TestLostSandboxValuesAreRecreated(t *testing.T) {
	testkit.NotUnderRace(t, reasonStartIsSequential)
	server := testkit.Start(t, testkit.Options{})
	original := server.Sandbox
	path := filepath.Join(server.Dir, sandboxFile)
	edit := func(change func(map[string]any)) {
		t.Helper()
		server.Kill()
		var box map[string]any
		if err := json.Unmarshal(readSandboxFile(t, server), &box); err != nil {
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
		delete(box, "client_pass")
		box["auditor_token"] = "mzs_damaged"
		delete(box["second"].(map[string]any), "session_token")
	})
	current := server.Sandbox
	if current.APIKey == original.APIKey || current.ClientPass == original.ClientPass || current.ClientPass == "" || current.AuditorToken == original.AuditorToken || current.Second.SessionToken == original.Second.SessionToken {
		t.Error("a lost value came back")
	}
	if current.AdminPass != original.AdminPass || current.AdminToken != original.AdminToken || current.SessionToken != original.SessionToken || current.PartnerPass != original.PartnerPass ||
		current.Second.APIKey != original.Second.APIKey || current.OrganizationID != original.OrganizationID {
		t.Error("a value that was not lost changed")
	}
	wantWorking := func() {
		t.Helper()
		testkit.Pay(t, server.Partner(), "")
		testkit.Pay(t, server.SecondPartner(), "")
		for _, c := range []*testkit.Client{server.Auditor(), server.Session()} {
			answer, err := c.Get("/api/v1/ledger/accounts")
			testkit.WantStatus(t, answer, err, 200)
		}
	}
	wantWorking()

	server.Kill()
	if err := os.WriteFile(path, []byte(`{"base_url": 7`), 0o600); err != nil {
		t.Fatal(err)
	}
	server.Restart()
	if server.Sandbox.AdminToken == current.AdminToken || server.Sandbox.APIKey == current.APIKey || server.Sandbox.OrganizationID != original.OrganizationID {
		t.Error("a sandbox.json that can't be read was not made anew")
	}
	wantWorking()
}

// The operator may set another password for the sandbox's partner. Then the next start creates a new password, puts it in force
// and stores it in sandbox.json.
func TestReplacedSandboxPasswordIsRecreated(t *testing.T) {
	testkit.NotUnderRace(t, reasonStartIsSequential)
	server := testkit.Start(t, testkit.Options{})
	original := server.Sandbox
	answer, err := server.Admin().With("x-organization-id", original.OrganizationID).Do("PATCH", "/api/v1/partners/1", `{"pass":"another-Lion-paints-9"}`)
	testkit.WantStatus(t, answer, err, 200)
	server.Stop()
	server.Restart()
	current := server.Sandbox
	if current.PartnerPass == original.PartnerPass || current.PartnerPass == "" || current.PartnerPass == "another-Lion-paints-9" {
		t.Error("the password is not a new one")
	}
	if current.PartnerPass, current.BaseURL, current.ConsoleURL = original.PartnerPass, original.BaseURL, original.ConsoleURL; current != original {
		t.Error("another value changed")
	}
	logIn := func(pass string, wantStatus int) {
		t.Helper()
		answer, err := server.Anyone().With("x-organization-id", original.OrganizationID).Post("/api/v1/sessions", map[string]string{"login": "demo", "pass": pass})
		testkit.WantStatus(t, answer, err, wantStatus)
	}
	logIn(server.Sandbox.PartnerPass, 201)
	logIn("another-Lion-paints-9", 401)
	logIn(original.PartnerPass, 401)
	currentPass := server.Sandbox.PartnerPass
	server.Kill()
	server.Restart()
	if server.Sandbox.PartnerPass != currentPass {
		t.Error("a password in force was made anew")
	}
}

func TestFirstAdminTokenIsPrintedOnce(t *testing.T) {
	testkit.NotUnderRace(t, reasonStartIsSequential)
	keyringFile := filepath.Join(t.TempDir(), "keyring")
	if r := testkit.Run(t, nil, "keyring", keyringFile); r.Exit != 0 {
		t.Fatal(r.Stderr)
	}
	server := testkit.Start(t, testkit.Options{WithoutSandbox: true, Flags: []string{"--tls", "off", "--keyring", keyringFile}})
	const tokenLine = "mizan: first admin token, shown this once: mza_"
	if n := strings.Count(server.Stdout(), tokenLine); n != 1 {
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
	testkit.NotUnderRace(t, reasonStartIsSequential)
	token := "mza_" + strings.Repeat("s", 43)
	path := testkit.WriteFile(t, "token", token+"\n")
	s := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual", "--admin-token-file", path}})
	if s.Sandbox.AdminToken != token {
		t.Errorf("sandbox.json has another admin token than the file")
	}
	answer, err := s.Admin().Get("/api/v1/sandbox/clock")
	testkit.WantStatus(t, answer, err, 200)
}

// If administration tokens besides the one in sandbox.json are in force, the server logs that.
func TestSeveralAdminTokensAreLogged(t *testing.T) {
	testkit.NotUnderRace(t, reasonStartIsSequential)
	const line = "several administration tokens are in force"
	server := testkit.Start(t, testkit.Options{})
	if strings.Contains(server.Stderr(), line) {
		t.Errorf("of one: %s", server.Stderr())
	}
	sandboxToken, fileToken := server.Sandbox.AdminToken, "mza_"+strings.Repeat("s", 43)
	server.Stop()
	server.Restart("--admin-token-file", testkit.WriteFile(t, "token", fileToken))
	if !strings.Contains(server.Stderr(), line+`" count=2`) {
		t.Errorf("of two: %s", server.Stderr())
	}
	for _, token := range []string{sandboxToken, fileToken} {
		answer, err := server.Admin().With("authorization", "Bearer "+token).Get("/api/v1/partners")
		testkit.WantStatus(t, answer, err, 200)
	}
}

func TestSandboxStoreIsRefusedWithoutTheSandboxFlag(t *testing.T) {
	testkit.NotUnderRace(t, reasonRefusedStart)
	s := testkit.Start(t, testkit.Options{})
	s.Stop()
	r := testkit.Run(t, nil, "serve", "--data", s.Dir, "--listen", "127.0.0.1:0", "--tls", "off", "--keyring", filepath.Join(s.Dir, "keyring"))
	if r.Exit != 2 {
		t.Errorf("exit %d, want 2", r.Exit)
	}
	testkit.WantOneLine(t, r.Stderr, "mizan: configuration: sandbox: ")
}

// The output of a starting server may be kept in a log file. So the commands that the server prints for users of the sandbox
// must not contain a secret of sandbox.json.
func TestPrintedCommandsHoldNoSecret(t *testing.T) {
	testkit.NotUnderRace(t, reasonStartIsSequential)
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
