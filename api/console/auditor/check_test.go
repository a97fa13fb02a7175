package auditor_test

import (
	"os"
	"path/filepath"
	"testing"

	"mizan/api/console/consoletest"
	"mizan/internal/testkit"
)

func TestResultOfTheLastCheckIsShown(t *testing.T) {
	t.Parallel()
	s := testkit.Start(t, testkit.Options{})
	consoletest.As(t, s, "auditor").Get(ledgerPath+"proof").Want(200, "No check of this store is recorded.")
	s.Stop()
	testkit.MustRun(t, "audit", "verify", "--data", s.Dir)
	s.Restart()
	consoletest.As(t, s, "auditor").Get(ledgerPath+"proof").Want(200, "The last check found every rule kept.", "kept debits equal credits", "not examined a reopened store is the same")
	broken := `{"at":"2026-09-03T10:15:30Z","rules":[{"rule":2,"outcome":"FAIL","name":"debits equal credits"}]}`
	if err := os.WriteFile(filepath.Join(s.Dir, "checked.json"), []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	consoletest.As(t, s, "auditor").Get(ledgerPath+"proof").Want(200, "The last check found a broken rule.", "broken debits equal credits")
}
