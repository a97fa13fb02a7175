package testkit

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// ScriptCommand returns the command `mizan CODE ARGUMENT…` for test scripts. The command runs the binary, and fails unless the
// exit code is CODE and the output contains none of the secrets. The function secrets is called after each run, because the
// tokens of a sandbox change when its server restarts.
func ScriptCommand(binary string, secrets func() []string) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) < 1 || neg {
			ts.Fatalf("usage: mizan CODE ARGUMENT...")
		}
		want, err := strconv.Atoi(args[0])
		ts.Check(err)
		code := 0
		if err := ts.Exec(binary, args[1:]...); err != nil {
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
		for _, secret := range secrets() {
			if strings.Contains(output, secret) {
				ts.Fatalf("a secret was printed")
			}
		}
	}
}

// TakeMember is the script command `take VAR MEMBER`. The last line of the previous command's output must be a JSON object.
// TakeMember sets the environment variable VAR to the value of the object's member MEMBER.
func TakeMember(ts *testscript.TestScript, neg bool, args []string) {
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
