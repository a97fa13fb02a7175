package admin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// commandsOnly is the reason why tests are not repeated under the race detector.
const commandsOnly = "it examines commands with one goroutine, and servers that answer one request after the other"

// password is the password in all scripts; no output may contain it.
const password = "correct-horse-battery-9"

// TestScript runs the commands as a shell does, against one real server. The scripts run in
// parallel: each creates the records that it reads.
func TestScript(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	s := scripts{binary: testkit.Binary(t), server: server}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"admin": s.admin,
			"mizan": s.mizan,
			"take":  take,
			"lines": lines,
			"post":  s.post,
			"ask":   s.ask,
		},
		Setup: func(e *testscript.Env) error {
			box := server.Sandbox
			e.Setenv("SANDBOX", server.Dir)
			e.Setenv("URL", box.BaseURL)
			e.Setenv("CA", box.CAFile)
			e.Setenv("ORG", box.OrganizationID)
			e.Setenv("SECOND", box.Second.OrganizationID)
			e.Setenv("SECRET", box.AdminToken)
			e.Setenv("SESSION", box.SessionToken)
			e.Setenv("ELSEWHERE", box.Second.SessionToken)
			e.Setenv("PASSWORD", password)
			return nil
		},
	})
}

// scripts has the commands that the test scripts may use besides testscript's own.
type scripts struct {
	binary string
	server *testkit.Server
}

// admin runs `mizan admin --sandbox …`: admin CODE ARGUMENT…
func (s *scripts) admin(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: admin CODE ARGUMENT...")
	}
	s.mizan(ts, neg, slices.Concat(args[:1], []string{"admin", "--sandbox", s.server.Dir}, args[1:]))
}

// mizan runs the binary: mizan CODE ARGUMENT… It must end with the code and print neither a
// token nor the password.
func (s *scripts) mizan(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: mizan CODE ARGUMENT...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(s.binary, args[1:]...); err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			ts.Fatalf("%v", err)
		}
		code = ended.ExitCode()
	}
	if code != want {
		ts.Fatalf("ended with %d, want %d", code, want)
	}
	printed := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	for _, secret := range []string{s.server.Sandbox.AdminToken, s.server.Sandbox.SessionToken, password} {
		if strings.Contains(printed, secret) {
			ts.Fatalf("a secret was printed")
		}
	}
}

// post makes a payment or a payout as the first partner, env test: post VAR MEMBERS-OF-PARAMS.
// VAR gets its id.
func (s *scripts) post(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: post VAR MEMBERS")
	}
	answer, err := s.server.Partner().Post("/api/v1/transactions", `{"params":{"env":"test","currency":"USD","returnUrl":"https://shop.example/ok","failUrl":"https://shop.example/no",`+args[1]+`}}`)
	ts.Check(err)
	var created struct {
		ID string `json:"id"`
	}
	if err := answer.JSON(&created); err != nil || answer.Status != 201 {
		ts.Fatalf("answered %d %s", answer.Status, answer.Body)
	}
	ts.Setenv(args[0], created.ID)
}

// ask sends a POST with a session of the first organization: ask VAR PATH BODY. VAR gets the id of the
// contract in the response.
func (s *scripts) ask(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 || neg {
		ts.Fatalf("usage: ask VAR PATH BODY")
	}
	answer, err := s.server.Session().Post("/api/v1"+args[1], args[2])
	ts.Check(err)
	var created struct {
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := answer.JSON(&created); err != nil || answer.Status/100 != 2 {
		ts.Fatalf("answered %d %s", answer.Status, answer.Body)
	}
	ts.Setenv(args[0], created.Data.ID)
}

// take reads a member of the JSON object printed last: take VAR MEMBER.
func take(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: take VAR MEMBER")
	}
	printed := strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n")
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(printed[len(printed)-1]), &object); err != nil {
		ts.Fatalf("no JSON object: %v", err)
	}
	value, has := object[args[1]]
	if !has {
		ts.Fatalf("there is no %s", args[1])
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	ts.Setenv(args[0], text)
}

// lines counts printed lines: lines stdout N.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: lines stdout|stderr N")
	}
	if got := strings.Count(ts.ReadFile(args[0]), "\n"); fmt.Sprint(got) != args[1] {
		ts.Fatalf("%s has %d lines, want %s", args[0], got, args[1])
	}
}
