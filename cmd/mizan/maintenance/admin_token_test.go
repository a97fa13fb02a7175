package maintenance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

// rotate runs the command and returns the token that it prints.
func rotate(t *testing.T, env []string, args ...string) string {
	t.Helper()
	r := testkit.Run(t, env, append([]string{"admin-token", "rotate"}, args...)...)
	token := strings.TrimSuffix(r.Stdout, "\n")
	if r.Exit != 0 || !strings.HasPrefix(token, "mza_") || strings.ContainsAny(token, " \n") {
		t.Fatalf("exit %d, %q, %q", r.Exit, r.Stdout, r.Stderr)
	}
	return token
}

// notSentLine is the end of the message about a server to which no token was sent.
const notSentLine = "mizan: admin-token: nothing was sent: the token is as it was\n"

// statusWithToken returns the status of an administration request with the token.
func statusWithToken(t *testing.T, s *testkit.Server, token string) int {
	t.Helper()
	a, err := s.Admin().With("authorization", "Bearer "+token).Get("/api/v1/partners")
	if err != nil {
		t.Fatal(err)
	}
	return a.Status
}

// wantTokens checks which tokens are in force.
func wantTokens(t *testing.T, s *testkit.Server, inForce string, retired ...string) {
	t.Helper()
	if got := statusWithToken(t, s, inForce); got != 200 {
		t.Errorf("the new token is answered %d", got)
	}
	for _, token := range retired {
		if got := statusWithToken(t, s, token); got != 401 {
			t.Errorf("an old token is answered %d", got)
		}
	}
}

func TestTokenIsRotatedOnARunningServer(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	first, ca := server.Sandbox.AdminToken, filepath.Join(server.Dir, "tls", "ca.pem")
	second := rotate(t, []string{"MIZAN_ADMIN_TOKEN=" + first}, "--url", server.BaseURL, "--ca-file", ca)
	wantTokens(t, server, second, first)
	box, err := os.ReadFile(filepath.Join(server.Dir, "sandbox.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(box), second) {
		t.Error("sandbox.json does not hold the new token")
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(second+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	third := rotate(t, nil, "--url", server.BaseURL, "--ca-file", ca, "--token-file", file)
	wantTokens(t, server, third, first, second)

	refused := testkit.Run(t, nil, "admin-token", "rotate", "--url", server.BaseURL, "--ca-file", ca, "--token-file", file)
	if refused.Exit != 2 || refused.Stdout != "" || refused.Stderr != "mizan: admin-token: the server answered 401 unauthorized\n" {
		t.Errorf("a retired token: exit %d, %q, %q", refused.Exit, refused.Stdout, refused.Stderr)
	}
	distrusted := testkit.Run(t, []string{"MIZAN_ADMIN_TOKEN=" + third}, "admin-token", "rotate", "--url", server.BaseURL)
	if distrusted.Exit != 1 || strings.Contains(distrusted.Stderr, third) || !strings.HasSuffix(distrusted.Stderr, "\n"+notSentLine) {
		t.Errorf("an unknown authority: exit %d, %q", distrusted.Exit, distrusted.Stderr)
	}
	wantTokens(t, server, third)

	server.Kill()
	server.Restart()
	if server.Sandbox.AdminToken != third {
		t.Error("sandbox.json has another token after the restart")
	}
	wantTokens(t, server, third, first, second)
}

func TestAllTokensAreRotatedInAStoppedStore(t *testing.T) {
	testkit.NotUnderRace(t, commandsOnly)
	for _, clock := range []string{"real", "manual"} {
		t.Run(clock, func(t *testing.T) {
			server := testkit.Start(t, testkit.Options{Flags: []string{"--clock", clock}})
			first := server.Sandbox.AdminToken
			locked := testkit.Run(t, nil, "admin-token", "rotate", "--data", server.Dir)
			if locked.Exit != 3 || locked.Stdout != "" {
				t.Errorf("beside a running server: exit %d, %q", locked.Exit, locked.Stdout)
			}
			testkit.WantOneLine(t, locked.Stderr, "mizan: locked: ")
			wantTokens(t, server, first)
			server.Stop()
			second := rotate(t, nil, "--data", server.Dir)
			server.Restart()
			if server.Sandbox.AdminToken != second {
				t.Error("sandbox.json has another token")
			}
			wantTokens(t, server, second, first)
		})
	}
}

// A terminal's credentials for another platform are sealed by the keyring. With or without the
// keyring, all tokens are rotated and the terminal keeps its credentials.
func TestTokenRotationKeepsTerminalCredentials(t *testing.T) {
	server := testkit.Start(t, testkit.Options{Flags: []string{"--log-level", "error"}})
	const connected = `{"name":"far","partner_id":1,"provider":"utp","type":"payment","env":"test","provider_params":{` +
		`"base_url":"https://platform.example","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","api_key":"mzk_canary","webhook_secret":"a-secret"}}`
	answer, err := server.Admin().With("x-organization-id", server.Sandbox.OrganizationID).Post("/api/v1/terminal", connected)
	testkit.WantStatus(t, answer, err, 201)
	server.Stop()

	keys, movedKeys := filepath.Join(server.Dir, "keyring"), filepath.Join(t.TempDir(), "keyring")
	first := rotate(t, nil, "--data", server.Dir)
	if err := os.Rename(keys, movedKeys); err != nil {
		t.Fatal(err)
	}
	second := rotate(t, nil, "--data", server.Dir, "--keyring", movedKeys)
	without := testkit.Run(t, nil, "admin-token", "rotate", "--data", server.Dir)
	lines := strings.Split(without.Stderr, "\n")
	if without.Exit != 0 || len(lines) != 3 || !strings.HasPrefix(lines[0], "mizan: admin-token: keyring: open "+keys) {
		t.Errorf("without a keyring: exit %d, %q", without.Exit, without.Stderr)
	}
	if err := os.Rename(movedKeys, keys); err != nil {
		t.Fatal(err)
	}
	server.Restart("--log-level", "error")
	wantTokens(t, server, strings.TrimSpace(without.Stdout), first, second)
	if log := server.Stderr(); log != "" {
		t.Errorf("the terminal has lost its keys: %s", log)
	}
}

func TestTokenToRotateMayComeFromStdin(t *testing.T) {
	testkit.NotUnderRace(t, commandsOnly)
	s := testkit.Start(t, testkit.Options{})
	first := s.Sandbox.AdminToken
	command := exec.CommandContext(t.Context(), testkit.Binary(t), "admin-token", "rotate",
		"--url", s.BaseURL, "--ca-file", filepath.Join(s.Dir, "tls", "ca.pem"), "--token-file", "-")
	command.Stdin = strings.NewReader(first + "\n")
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	wantTokens(t, s, strings.TrimSpace(string(out)), first)
}

// A retired token is never accepted again, even from the configured file.
func TestRetiredTokenInTheFileIsRefused(t *testing.T) {
	testkit.NotUnderRace(t, refusedOnly)
	file := filepath.Join(t.TempDir(), "token")
	old := strings.Repeat("old-token-", 4)
	if err := os.WriteFile(file, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	server := testkit.Start(t, testkit.Options{Flags: []string{"--admin-token-file", file}})
	server.Stop()
	rotated := rotate(t, nil, "--data", server.Dir)
	r := testkit.Run(t, nil, "serve", "--sandbox", "--data", server.Dir, "--listen", "127.0.0.1:0", "--admin-token-file", file)
	if r.Exit != 2 || strings.Contains(r.Stderr, old) {
		t.Errorf("exit %d, %q", r.Exit, r.Stderr)
	}
	if !strings.Contains(r.Stderr, "mizan: configuration: admin-token-file: another token has taken the place of the one in this file\n") {
		t.Errorf("%q", r.Stderr)
	}
	server.Restart("--log-level", "info")
	wantTokens(t, server, rotated, old)
}

func TestRotationArgumentsAreChecked(t *testing.T) {
	testkit.NotUnderRace(t, refusedOnly)
	empty, file := t.TempDir(), filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("two tokens"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		line string
	}{
		{nil, "url: "},
		{[]string{"--url", "https://127.0.0.1:1", "--data", empty}, "url: "},
		{[]string{"--data", empty, "--token-file", file}, "token-file: "},
		{[]string{"--data", empty, "--ca-file", file}, "ca-file: "},
		{[]string{"--url", "https://127.0.0.1:1", "--keyring", file}, "keyring: "},
		{[]string{"--data", empty}, "data: "},
		{[]string{"--data", filepath.Join(empty, "nowhere")}, "data: "},
		{[]string{"--url", "https://127.0.0.1:1"}, "token-file: "},
		{[]string{"--url", "https://127.0.0.1:1", "--token-file", filepath.Join(empty, "none")}, "token-file: "},
		{[]string{"--url", "https://127.0.0.1:1", "--token-file", file}, "token-file: "},
	} {
		r := testkit.Run(t, []string{"MIZAN_ADMIN_TOKEN="}, append([]string{"admin-token", "rotate"}, c.args...)...)
		if r.Exit != 2 || r.Stdout != "" {
			t.Errorf("%v: exit %d, %q", c.args, r.Exit, r.Stdout)
		}
		testkit.WantOneLine(t, r.Stderr, "mizan: configuration: "+c.line)
	}
	for _, url := range []string{"http://bank.example", "ftp://127.0.0.1", "127.0.0.1:8443", "https://user:pass@127.0.0.1", "https://"} {
		r := testkit.Run(t, []string{"MIZAN_ADMIN_TOKEN=token"}, "admin-token", "rotate", "--url", url)
		if r.Exit != 2 {
			t.Errorf("%s: exit %d", url, r.Exit)
		}
		testkit.WantOneLine(t, r.Stderr, "mizan: configuration: url: ")
	}
	if r := testkit.Run(t, []string{"MIZAN_ADMIN_TOKEN=token"}, "admin-token", "rotate", "--url", "https://127.0.0.1:1"); r.Exit != 1 || !strings.Contains(r.Stderr, "no answer") || !strings.HasSuffix(r.Stderr, "\n"+notSentLine) {
		t.Errorf("nobody there: exit %d, %q", r.Exit, r.Stderr)
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) != 0 {
		t.Errorf("%v %v: something was made in an empty directory", entries, err)
	}
}
