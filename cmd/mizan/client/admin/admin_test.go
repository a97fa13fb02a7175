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

// noRaceReason is the reason why tests are not repeated under the race detector.
const noRaceReason = "it examines commands with one goroutine, and servers that answer one request after the other"

// password is the password in all scripts; no output may contain it.
const password = "correct-horse-battery-9"

// TestScript runs the scripts in testdata/script, which call the commands as a shell does, against one real server.
// The scripts run in parallel: each creates the records that it reads.
func TestScript(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	s := scripts{binary: testkit.Binary(t), server: server}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"admin": s.admin,
			"mizan": s.mizan,
			"take":  takeMember,
			"lines": countLines,
			"post":  s.postTransaction,
			"ask":   s.postWithSession,
		},
		Setup: func(e *testscript.Env) error {
			sandbox := server.Sandbox
			e.Setenv("SANDBOX", server.Dir)
			e.Setenv("URL", sandbox.BaseURL)
			e.Setenv("CA", sandbox.CAFile)
			e.Setenv("ORG", sandbox.OrganizationID)
			e.Setenv("SECOND", sandbox.Second.OrganizationID)
			e.Setenv("SECRET", sandbox.AdminToken)
			e.Setenv("SESSION", sandbox.SessionToken)
			e.Setenv("ELSEWHERE", sandbox.Second.SessionToken)
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

// admin is the script command `admin CODE ARGUMENT…`: mizan with `admin --sandbox …` before the arguments.
func (s *scripts) admin(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: admin CODE ARGUMENT...")
	}
	s.mizan(ts, neg, slices.Concat(args[:1], []string{"admin", "--sandbox", s.server.Dir}, args[1:]))
}

// mizan is the script command `mizan CODE ARGUMENT…`: the binary must end with the code and print neither a
// token nor the password.
func (s *scripts) mizan(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: mizan CODE ARGUMENT...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(s.binary, args[1:]...); err != nil {
		var exitErr *exec.ExitError
		if !errors.As(err, &exitErr) {
			ts.Fatalf("%v", err)
		}
		code = exitErr.ExitCode()
	}
	if code != want {
		ts.Fatalf("ended with %d, want %d", code, want)
	}
	output := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	for _, secret := range []string{s.server.Sandbox.AdminToken, s.server.Sandbox.SessionToken, password} {
		if strings.Contains(output, secret) {
			ts.Fatalf("a secret was printed")
		}
	}
}

// postTransaction is the script command `post VAR MEMBERS`: it creates a payment or payout with these members of
// params, as the first partner and in env test. VAR gets the transaction's id.
func (s *scripts) postTransaction(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: post VAR MEMBERS")
	}
	answer, err := s.server.Partner().Post("/api/v1/transactions", `{"params":{"env":"test","currency":"USD","returnUrl":"https://shop.example/ok","failUrl":"https://shop.example/no",`+args[1]+`}}`)
	ts.Check(err)
	var transaction struct {
		ID string `json:"id"`
	}
	if err := answer.JSON(&transaction); err != nil || answer.Status != 201 {
		ts.Fatalf("answered %d %s", answer.Status, answer.Body)
	}
	ts.Setenv(args[0], transaction.ID)
}

// postWithSession is the script command `ask VAR PATH BODY`: it sends a POST with a session of the first organization.
// VAR gets the id of the contract in the response.
func (s *scripts) postWithSession(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 || neg {
		ts.Fatalf("usage: ask VAR PATH BODY")
	}
	answer, err := s.server.Session().Post("/api/v1"+args[1], args[2])
	ts.Check(err)
	var response struct {
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := answer.JSON(&response); err != nil || answer.Status/100 != 2 {
		ts.Fatalf("answered %d %s", answer.Status, answer.Body)
	}
	ts.Setenv(args[0], response.Data.ID)
}

// takeMember is the script command `take VAR MEMBER`: VAR gets a member of the JSON object that was printed last.
func takeMember(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: take VAR MEMBER")
	}
	outputLines := strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n")
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(outputLines[len(outputLines)-1]), &object); err != nil {
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

// countLines is the script command `lines stdout|stderr N`: it checks the number of printed lines.
func countLines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: lines stdout|stderr N")
	}
	if got := strings.Count(ts.ReadFile(args[0]), "\n"); fmt.Sprint(got) != args[1] {
		ts.Fatalf("%s has %d lines, want %s", args[0], got, args[1])
	}
}
