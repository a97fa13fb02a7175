package admin_test

import (
	"fmt"
	"path/filepath"
	"slices"
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

// TestScript runs the scripts in testdata/script against one real server. The scripts call the commands as a shell does. They
// run in parallel: each script creates the records that it reads.
func TestScript(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	s := scripts{binary: testkit.Binary(t), server: server}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"admin": s.admin,
			"mizan": s.mizan(),
			"take":  testkit.TakeMember,
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

// scripts has the commands of the test scripts that testscript itself does not have.
type scripts struct {
	binary string
	server *testkit.Server
}

// mizan returns the script command `mizan CODE ARGUMENT…`.
func (s *scripts) mizan() func(*testscript.TestScript, bool, []string) {
	return testkit.ScriptCommand(s.binary, func() []string {
		return []string{s.server.Sandbox.AdminToken, s.server.Sandbox.SessionToken, password}
	})
}

// admin is the script command `admin CODE ARGUMENT…`. It runs `mizan admin --sandbox … ARGUMENT…` and expects the exit code
// CODE.
func (s *scripts) admin(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: admin CODE ARGUMENT...")
	}
	s.mizan()(ts, neg, slices.Concat(args[:1], []string{"admin", "--sandbox", s.server.Dir}, args[1:]))
}

// postTransaction is the script command `post VAR MEMBERS`. It creates a payment or payout for the first partner in env test.
// MEMBERS are further members of the request's params. VAR gets the transaction's id.
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

// countLines is the script command `lines stdout|stderr N`. It checks that the last command printed N lines.
func countLines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: lines stdout|stderr N")
	}
	if got := strings.Count(ts.ReadFile(args[0]), "\n"); fmt.Sprint(got) != args[1] {
		ts.Fatalf("%s has %d lines, want %s", args[0], got, args[1])
	}
}
