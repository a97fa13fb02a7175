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

// notSentLine is the command's last line if it has not sent the token: the server could not be reached, or its certificate was
// not trusted.
const notSentLine = "mizan: admin-token: nothing was sent: the token is as it was\n"

// statusWithToken returns the status of an administration request with the token.
func statusWithToken(t *testing.T, s *testkit.Server, token string) int {
	t.Helper()
	answer, err := s.Admin().With("authorization", "Bearer "+token).Get("/api/v1/partners")
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status
}

// wantTokens checks that one token is accepted and that the retired tokens are refused.
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
	firstToken, caFile := server.Sandbox.AdminToken, filepath.Join(server.Dir, "tls", "ca.pem")
	secondToken := rotate(t, []string{"MIZAN_ADMIN_TOKEN=" + firstToken}, "--url", server.BaseURL, "--ca-file", caFile)
	wantTokens(t, server, secondToken, firstToken)
	sandboxFile, err := os.ReadFile(filepath.Join(server.Dir, "sandbox.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(sandboxFile), secondToken) {
		t.Error("sandbox.json does not hold the new token")
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(secondToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	thirdToken := rotate(t, []string{"MIZAN_CA_FILE=" + caFile}, "--url", server.BaseURL, "--token-file", file)
	wantTokens(t, server, thirdToken, firstToken, secondToken)

	refusedRun := testkit.Run(t, nil, "admin-token", "rotate", "--url", server.BaseURL, "--ca-file", caFile, "--token-file", file)
	if refusedRun.Exit != 2 || refusedRun.Stdout != "" || refusedRun.Stderr != "mizan: admin-token: the server answered 401 unauthorized\n" {
		t.Errorf("a retired token: exit %d, %q, %q", refusedRun.Exit, refusedRun.Stdout, refusedRun.Stderr)
	}
	distrustedRun := testkit.Run(t, []string{"MIZAN_ADMIN_TOKEN=" + thirdToken}, "admin-token", "rotate", "--url", server.BaseURL)
	if distrustedRun.Exit != 1 || strings.Contains(distrustedRun.Stderr, thirdToken) || !strings.HasSuffix(distrustedRun.Stderr, "\n"+notSentLine) {
		t.Errorf("an unknown authority: exit %d, %q", distrustedRun.Exit, distrustedRun.Stderr)
	}
	wantTokens(t, server, thirdToken)

	server.Kill()
	server.Restart()
	if server.Sandbox.AdminToken != thirdToken {
		t.Error("sandbox.json has another token after the restart")
	}
	wantTokens(t, server, thirdToken, firstToken, secondToken)
}

func TestAllTokensAreRotatedInAStoppedStore(t *testing.T) {
	testkit.NotUnderRace(t, reasonNothingConcurrent)
	for _, clock := range []string{"real", "manual"} {
		t.Run(clock, func(t *testing.T) {
			server := testkit.Start(t, testkit.Options{Flags: []string{"--clock", clock}})
			firstToken := server.Sandbox.AdminToken
			lockedRun := testkit.Run(t, nil, "admin-token", "rotate", "--data", server.Dir)
			if lockedRun.Exit != 3 || lockedRun.Stdout != "" {
				t.Errorf("beside a running server: exit %d, %q", lockedRun.Exit, lockedRun.Stdout)
			}
			testkit.WantOneLine(t, lockedRun.Stderr, "mizan: locked: ")
			wantTokens(t, server, firstToken)
			server.Stop()
			secondToken := rotate(t, nil, "--data", server.Dir)
			server.Restart()
			if server.Sandbox.AdminToken != secondToken {
				t.Error("sandbox.json has another token")
			}
			wantTokens(t, server, secondToken, firstToken)
		})
	}
}

// A terminal's credentials at its provider are sealed (encrypted) with the keyring. With and without the keyring, the command
// rotates all tokens and the terminal keeps its credentials.
func TestTokenRotationKeepsTerminalCredentials(t *testing.T) {
	server := testkit.Start(t, testkit.Options{Flags: []string{"--log-level", "error"}})
	const terminalBody = `{"name":"far","partner_id":1,"provider":"utp","type":"payment","env":"test","provider_params":{` +
		`"base_url":"https://platform.example","organization_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","api_key":"mzk_canary","webhook_secret":"a-secret"}}`
	answer, err := server.Admin().With("x-organization-id", server.Sandbox.OrganizationID).Post("/api/v1/terminal", terminalBody)
	testkit.WantStatus(t, answer, err, 201)
	server.Stop()

	keyring, movedKeyring := filepath.Join(server.Dir, "keyring"), filepath.Join(t.TempDir(), "keyring")
	firstToken := rotate(t, nil, "--data", server.Dir)
	if err := os.Rename(keyring, movedKeyring); err != nil {
		t.Fatal(err)
	}
	secondToken := rotate(t, nil, "--data", server.Dir, "--keyring", movedKeyring)
	runWithoutKeyring := testkit.Run(t, nil, "admin-token", "rotate", "--data", server.Dir)
	lines := strings.Split(runWithoutKeyring.Stderr, "\n")
	if runWithoutKeyring.Exit != 0 || len(lines) != 3 || !strings.HasPrefix(lines[0], "mizan: admin-token: keyring: open "+keyring) {
		t.Errorf("without a keyring: exit %d, %q", runWithoutKeyring.Exit, runWithoutKeyring.Stderr)
	}
	if err := os.Rename(movedKeyring, keyring); err != nil {
		t.Fatal(err)
	}
	server.Restart("--log-level", "error", "--access-log", "off")
	wantTokens(t, server, strings.TrimSpace(runWithoutKeyring.Stdout), firstToken, secondToken)
	if log := server.Stderr(); log != "" {
		t.Errorf("the terminal has lost its keys: %s", log)
	}
}

func TestTokenToRotateMayComeFromStdin(t *testing.T) {
	testkit.NotUnderRace(t, reasonNothingConcurrent)
	s := testkit.Start(t, testkit.Options{})
	firstToken := s.Sandbox.AdminToken
	command := exec.CommandContext(t.Context(), testkit.Binary(t), "admin-token", "rotate",
		"--url", s.BaseURL, "--ca-file", filepath.Join(s.Dir, "tls", "ca.pem"), "--token-file", "-")
	command.Stdin = strings.NewReader(firstToken + "\n")
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	wantTokens(t, s, strings.TrimSpace(string(out)), firstToken)
}

// The server never accepts a retired token again, even if the configured token file contains it.
func TestRetiredTokenInTheFileIsRefused(t *testing.T) {
	testkit.NotUnderRace(t, reasonRefusedCommand)
	file := filepath.Join(t.TempDir(), "token")
	oldToken := strings.Repeat("old-token-", 4)
	if err := os.WriteFile(file, []byte(oldToken), 0o600); err != nil {
		t.Fatal(err)
	}
	server := testkit.Start(t, testkit.Options{Flags: []string{"--admin-token-file", file}})
	server.Stop()
	newToken := rotate(t, nil, "--data", server.Dir)
	r := testkit.Run(t, nil, "serve", "--sandbox", "--data", server.Dir, "--listen", "127.0.0.1:0", "--admin-token-file", file)
	if r.Exit != 2 || strings.Contains(r.Stderr, oldToken) {
		t.Errorf("exit %d, %q", r.Exit, r.Stderr)
	}
	if !strings.Contains(r.Stderr, "mizan: configuration: admin-token-file: another token has taken the place of the one in this file\n") {
		t.Errorf("%q", r.Stderr)
	}
	server.Restart("--log-level", "info")
	wantTokens(t, server, newToken, oldToken)
}

func TestRotationArgumentsAreChecked(t *testing.T) {
	testkit.NotUnderRace(t, reasonRefusedCommand)
	emptyDir, file := t.TempDir(), filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("two tokens"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		line string
	}{
		{nil, "url: "},
		{[]string{"--url", "https://127.0.0.1:1", "--data", emptyDir}, "url: "},
		{[]string{"--data", emptyDir, "--token-file", file}, "token-file: "},
		{[]string{"--data", emptyDir, "--ca-file", file}, "ca-file: "},
		{[]string{"--url", "https://127.0.0.1:1", "--keyring", file}, "keyring: "},
		{[]string{"--data", emptyDir}, "data: "},
		{[]string{"--data", filepath.Join(emptyDir, "nowhere")}, "data: "},
		{[]string{"--url", "https://127.0.0.1:1"}, "token-file: "},
		{[]string{"--url", "https://127.0.0.1:1", "--token-file", filepath.Join(emptyDir, "none")}, "token-file: "},
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
	if entries, err := os.ReadDir(emptyDir); err != nil || len(entries) != 0 {
		t.Errorf("%v %v: something was made in an empty directory", entries, err)
	}
}
