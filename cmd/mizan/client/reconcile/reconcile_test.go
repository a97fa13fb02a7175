package reconcile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestScript runs the scripts in testdata/script against a real server. The scripts call the commands as a shell does.
func TestScript(t *testing.T) {
	testkit.NotUnderRace(t, "it examines commands with one goroutine, and servers that answer one request after the other")
	server := testkit.Start(t, testkit.Options{})
	mizan := testkit.ScriptCommand(testkit.Binary(t), func() []string { return []string{server.Sandbox.AdminToken} })
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"reconcile": func(ts *testscript.TestScript, neg bool, args []string) {
				mizan(ts, neg, slices.Concat(args[:1], []string{"reconcile", "--sandbox", server.Dir}, args[1:]))
			},
			"admin": func(ts *testscript.TestScript, neg bool, args []string) {
				mizan(ts, neg, slices.Concat(args[:1], []string{"admin", "--sandbox", server.Dir}, args[1:]))
			},
			"take": testkit.TakeMember,
		},
		Setup: func(e *testscript.Env) error {
			day := time.Now().UTC().Format(time.DateOnly) // the server books on the machine's day
			e.Setenv("DAY", day)
			report := strings.ReplaceAll("Date,Kind,Amount,Currency,Reference\nDAY,payout,9.70,EUR,po-1\nDAY,fee,1.25,EUR,\n", "DAY", day)
			return os.WriteFile(filepath.Join(e.WorkDir, "report.csv"), []byte(report), 0o600)
		},
	})
}
