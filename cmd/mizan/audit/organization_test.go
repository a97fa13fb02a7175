package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/testkit"
)

func writeTestFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// createdRecord has the members of a response to a create request that the test uses.
type createdRecord struct {
	ID    string `json:"id"`
	Token string `json:"token"`
}

func create(t *testing.T, client *testkit.Client, path, body string) createdRecord {
	t.Helper()
	answer, err := client.Post(path, body)
	if err != nil || answer.Status != 201 {
		t.Fatalf("%s: %v: %d %s", path, err, answer.Status, answer.Body)
	}
	var response struct {
		Data createdRecord `json:"data"`
	}
	if err := answer.JSON(&response); err != nil {
		t.Fatal(err)
	}
	return response.Data
}

// Every subcommand of audit accepts an organization, and does not require it if the server has
// only one.
func TestOrganizationIsOptionalIfThereIsOnlyOne(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	tokenFile := filepath.Join(folder, "token")
	adminToken := "mza_" + strings.Repeat("a", 43)
	writeTestFile(t, tokenFile, adminToken)
	keyringFile := filepath.Join(folder, "keyring")
	testkit.WantQuietSuccess(t, testkit.Run(t, nil, "keyring", keyringFile))
	server := testkit.Start(t, testkit.Options{WithoutSandbox: true, Flags: []string{"--admin-token-file", tokenFile, "--tls", "off", "--keyring", keyringFile}})
	operator := server.Anyone().With("Authorization", "Bearer "+adminToken)
	id := create(t, operator, "/api/v1/organizations", `{"name":"The only one","type":"merchant"}`).ID
	if answer, err := operator.Do("PATCH", "/api/v1/organizations/"+id, `{"status":"active"}`); err != nil || answer.Status != 200 {
		t.Fatalf("%v: %d %s", err, answer.Status, answer.Body)
	}
	create(t, operator, "/api/v1/users", `{"name":"An auditor","login":"auditor","pass":"correct horse battery staple 9","roles":["auditor"]}`)
	session := create(t, server.Anyone().With("X-Organization-Id", id), "/api/v1/sessions", `{"login":"auditor","pass":"correct horse battery staple 9"}`)
	writeTestFile(t, tokenFile, session.Token)

	const seq = "1"
	stateFile := filepath.Join(folder, "state")
	serverFlags := []string{"--url", server.BaseURL, "--session-token-file", tokenFile}
	commands := [][]string{
		{"audit", "key"},
		{"audit", "prove", seq, "--out", "PROOF"},
		{"audit", "watch", "--state", stateFile},
		{"audit", "periods", "list"},
		{"audit", "periods", "verify"},
		{"audit", "export", "--format", "csv", "--env", "test"},
	}
	withServer := func(proofName string, args []string) []string {
		args = append(append([]string(nil), args...), serverFlags...)
		for i := range args {
			if args[i] == "PROOF" {
				args[i] = filepath.Join(folder, proofName+".proof")
			}
		}
		return args
	}
	for _, args := range commands {
		wantExit(t, 0, "", withServer("one", args)...)
		wantExit(t, 0, "", append(withServer("named", args), "--organization", strings.ToUpper(id))...)
	}
	create(t, operator, "/api/v1/organizations", `{"name":"Another","type":"merchant"}`)
	for _, args := range commands {
		switch {
		case args[1] == "watch": // watch reads the organization from its state
			wantExit(t, 0, "", withServer("two", args)...)
		default:
			wantExit(t, 2, "the server has several organizations: --organization says which", withServer("two", args)...)
		}
		wantExit(t, 0, "", append(withServer("both", args), "--organization", id)...)
	}

	proofFile := filepath.Join(folder, "one.proof")
	key := strings.TrimSpace(testkit.WantQuietSuccess(t, testkit.Run(t, noServer, "audit", "key", "--keyring", keyringFile)))
	wantExit(t, 0, "", "audit", "check", proofFile, "--key", key)
	wantExit(t, 0, "", "audit", "check", proofFile, "--key", key, "--organization", id)
	wantExit(t, 4, "refused", "audit", "check", proofFile, "--key", key, "--organization", uuid.NewString())
	server.Stop()
	wantExit(t, 0, "", "audit", "verify", "--data", server.Dir)
	wantExit(t, 0, "", "audit", "verify", "--data", server.Dir, "--organization", id)
	wantExit(t, 2, "the store holds no organization", "audit", "verify", "--data", server.Dir, "--organization", uuid.NewString())
	wantExit(t, 2, "is not the UUID", "audit", "verify", "--data", server.Dir, "--organization", "")
	for _, args := range commands {
		if args[1] != "key" { // `audit key` needs no organization here, because it reads the keyring
			wantExit(t, 2, "--organization: ", append(withServer("empty", args), "--organization", "")...) // as if a script's variable were not set
		}
	}
	wantExit(t, 2, "--out: want a file's name", append(withServer("none", commands[1][:3]), "--out", "")...)
	wantExit(t, 2, "is not the UUID", "audit", "verify", "--data", server.Dir, "--organization", "first")
}
