package maintenance

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

// No server starts in the work directory of an unfinished restore. A restore does not delete a work directory in which a server
// has been started.
func TestNoServerStartsInAnUnfinishedRestore(t *testing.T) {
	testkit.NotUnderRace(t, reasonRefusedCommand)
	server := testkit.Start(t, testkit.Options{})
	backup := filepath.Join(t.TempDir(), "one")
	testkit.MustRun(t, "backup", "--sandbox", server.Dir, "--to", backup)
	dir := filepath.Join(t.TempDir(), "data")
	workDir, keyring := dir+".restoring", filepath.Join(server.Dir, "keyring")
	restoreArgs := []string{"restore", "--from", backup, "--data", dir, "--keyring", keyring}

	serverInWorkDir := testkit.Start(t, testkit.Options{Dir: workDir})
	if r := testkit.Run(t, nil, restoreArgs...); r.Exit != 3 || !strings.Contains(r.Stderr, "in use by another process") {
		t.Errorf("a restore over a server: exit %d: %s", r.Exit, r.Stderr)
	}
	testkit.Pay(t, serverInWorkDir.Partner(), "after the refusal")
	if serverInWorkDir.Stop() != 0 {
		t.Error("the server did not stop cleanly")
	}
	if r := testkit.Run(t, nil, restoreArgs...); r.Exit != 2 || !strings.Contains(r.Stderr, workDir+" is in the way") {
		t.Errorf("a restore over a server's directory: exit %d: %s", r.Exit, r.Stderr)
	}
	testkit.MustRun(t, "audit", "verify", "--data", workDir)

	if err := os.WriteFile(filepath.Join(workDir, "RESTORING"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve", "--sandbox", "--listen", "127.0.0.1:0", "--data", workDir}, {"audit", "verify", "--data", workDir}} {
		if r := testkit.Run(t, nil, args...); r.Exit != 1 || !strings.Contains(r.Stderr, "restore again") {
			t.Errorf("%s: exit %d: %s", args[0], r.Exit, r.Stderr)
		}
	}
	testkit.MustRun(t, restoreArgs...)
}

// An increment has only the changes since an earlier backup. If that backup is damaged, the increment could never be restored
// although it would look usable, so the command refuses to take it.
func TestIncrementToADamagedBackupIsRefused(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	dir, keyring := t.TempDir(), filepath.Join(server.Dir, "keyring")
	fullBackup := filepath.Join(dir, "monday")
	testkit.MustRun(t, "backup", "--sandbox", server.Dir, "--to", fullBackup)
	testkit.MustRun(t, "backup", "--sandbox", server.Dir, "--to", filepath.Join(dir, "tuesday"), "--since", fullBackup)
	content, err := os.ReadFile(fullBackup)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(fullBackup, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, extraArgs := range [][]string{nil, {"--keyring", keyring}} {
		args := append([]string{"backup", "--sandbox", server.Dir, "--to", filepath.Join(dir, "wednesday"), "--since", dir}, extraArgs...)
		if r := testkit.Run(t, nil, args...); r.Exit != 1 || !strings.Contains(r.Stderr, fullBackup+": the backup is damaged") {
			t.Errorf("exit %d: %s", r.Exit, r.Stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "wednesday")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an increment was taken: %v", err)
	}
}

func TestUnneededDamagedBackupIsAWarning(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	dir, keyring := t.TempDir(), filepath.Join(server.Dir, "keyring")
	testkit.MustRun(t, "backup", "--sandbox", server.Dir, "--to", filepath.Join(dir, "monday"))
	testkit.MustRun(t, "backup", "--sandbox", server.Dir, "--to", filepath.Join(dir, "tuesday"), "--since", dir)
	if err := os.WriteFile(filepath.Join(dir, "x.backup"), []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := testkit.Run(t, nil, "backup", "verify", "--from", dir, "--keyring", keyring); r.Exit != 1 || !strings.Contains(r.Stderr, "name the file to use") {
		t.Errorf("a directory: exit %d: %s", r.Exit, r.Stderr)
	}
	r := testkit.Run(t, nil, "backup", "verify", "--from", filepath.Join(dir, "tuesday"), "--keyring", keyring)
	if r.Exit != 0 || !strings.HasPrefix(r.Stderr, "mizan: warning: ") || !strings.Contains(r.Stderr, "x.backup") {
		t.Errorf("a file: exit %d: %s%s", r.Exit, r.Stdout, r.Stderr)
	}
}

// The help text for backups shows that `mizan backup` stands for `mizan backup take`.
func TestBackupHelpShowsTheShortForm(t *testing.T) {
	testkit.NotUnderRace(t, reasonNothingConcurrent)
	if help := testkit.MustRun(t, "backup", "--help"); !strings.Contains(help, "mizan backup --to DIR|FILE") {
		t.Errorf("the help says %s", help)
	}
	if help := testkit.MustRun(t, "backup", "take", "--help"); strings.Contains(help, "--organization") {
		t.Errorf("the help offers an organization: %s", help)
	}
}
