package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/testkit"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// created is the response to a create.
type created struct {
	ID    string `json:"id"`
	Token string `json:"token"`
}

func create(t *testing.T, client *testkit.Client, path, body string) created {
	t.Helper()
	answer, err := client.Post(path, body)
	if err != nil || answer.Status != 201 {
		t.Fatalf("%s: %v: %d %s", path, err, answer.Status, answer.Body)
	}
	var created struct {
		Data created `json:"data"`
	}
	if err := answer.JSON(&created); err != nil {
		t.Fatal(err)
	}
	return created.Data
}

// Every subcommand of audit accepts an organization, and does not require it if the server has
// only one.
func TestOrganizationIsOptionalIfThereIsOnlyOne(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	token := filepath.Join(folder, "token")
	admin := "mza_" + strings.Repeat("a", 43)
	write(t, token, admin)
	keys := filepath.Join(folder, "keyring")
	testkit.WantQuietSuccess(t, testkit.Run(t, nil, "keyring", keys))
	server := testkit.Start(t, testkit.Options{Bare: true, Flags: []string{"--admin-token-file", token, "--tls", "off", "--keyring", keys}})
	operator := server.Anyone().With("Authorization", "Bearer "+admin)
	id := create(t, operator, "/api/v1/organizations", `{"name":"The only one","type":"merchant"}`).ID
	if answer, err := operator.Do("PATCH", "/api/v1/organizations/"+id, `{"status":"active"}`); err != nil || answer.Status != 200 {
		t.Fatalf("%v: %d %s", err, answer.Status, answer.Body)
	}
	create(t, operator, "/api/v1/users", `{"name":"An auditor","login":"auditor","pass":"correct horse battery staple 9","roles":["auditor"]}`)
	session := create(t, server.Anyone().With("X-Organization-Id", id), "/api/v1/sessions", `{"login":"auditor","pass":"correct horse battery staple 9"}`)
	write(t, token, session.Token)

	const seq = "1"
	state := filepath.Join(folder, "state")
	serverFlags := []string{"--url", server.BaseURL, "--session-token-file", token}
	commands := [][]string{
		{"audit", "key"},
		{"audit", "prove", seq, "--out", "PROOF"},
		{"audit", "watch", "--state", state},
		{"audit", "periods", "list"},
		{"audit", "periods", "verify"},
		{"audit", "export", "--format", "csv", "--env", "test"},
	}
	withServer := func(round string, args []string) []string {
		args = append(append([]string(nil), args...), serverFlags...)
		for i := range args {
			if args[i] == "PROOF" {
				args[i] = filepath.Join(folder, round+".proof")
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

	proof := filepath.Join(folder, "one.proof")
	key := strings.TrimSpace(testkit.WantQuietSuccess(t, testkit.Run(t, noServer, "audit", "key", "--keyring", keys)))
	wantExit(t, 0, "", "audit", "check", proof, "--key", key)
	wantExit(t, 0, "", "audit", "check", proof, "--key", key, "--organization", id)
	wantExit(t, 4, "refused", "audit", "check", proof, "--key", key, "--organization", uuid.NewString())
	server.Stop()
	wantExit(t, 0, "", "audit", "verify", "--data", server.Dir)
	wantExit(t, 0, "", "audit", "verify", "--data", server.Dir, "--organization", id)
	wantExit(t, 2, "the store holds no organization", "audit", "verify", "--data", server.Dir, "--organization", uuid.NewString())
	wantExit(t, 2, "is not the UUID", "audit", "verify", "--data", server.Dir, "--organization", "")
	for _, args := range commands {
		if args[1] != "key" { // audit key reads the keyring in this case
			wantExit(t, 2, "--organization: ", append(withServer("empty", args), "--organization", "")...) // as with an unset variable of a script
		}
	}
	wantExit(t, 2, "--out: want a file's name", append(withServer("none", commands[1][:3]), "--out", "")...)
	wantExit(t, 2, "is not the UUID", "audit", "verify", "--data", server.Dir, "--organization", "first")
}
