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

// No server starts in the directory of a killed restore. And a restore does not clear a directory in
// which a server was started.
func TestNoServerStartsInAnUnfinishedRestore(t *testing.T) {
	testkit.NotUnderRace(t, refusedOnly)
	s := testkit.Start(t, testkit.Options{})
	backup := filepath.Join(t.TempDir(), "one")
	testkit.Succeed(t, "backup", "--sandbox", s.Dir, "--to", backup)
	dir := filepath.Join(t.TempDir(), "data")
	work, keyring := dir+".restoring", filepath.Join(s.Dir, "keyring")
	restore := []string{"restore", "--from", backup, "--data", dir, "--keyring", keyring}

	served := testkit.Start(t, testkit.Options{Dir: work})
	if r := testkit.Run(t, nil, restore...); r.Exit != 3 || !strings.Contains(r.Stderr, "in use by another process") {
		t.Errorf("a restore over a server: exit %d: %s", r.Exit, r.Stderr)
	}
	testkit.Pay(t, served.Partner(), "after the refusal")
	if served.Stop() != 0 {
		t.Error("the server did not stop cleanly")
	}
	if r := testkit.Run(t, nil, restore...); r.Exit != 2 || !strings.Contains(r.Stderr, work+" is in the way") {
		t.Errorf("a restore over a server's directory: exit %d: %s", r.Exit, r.Stderr)
	}
	testkit.Succeed(t, "audit", "verify", "--data", work)

	if err := os.WriteFile(filepath.Join(work, "RESTORING"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve", "--sandbox", "--listen", "127.0.0.1:0", "--data", work}, {"audit", "verify", "--data", work}} {
		if r := testkit.Run(t, nil, args...); r.Exit != 1 || !strings.Contains(r.Stderr, "restore again") {
			t.Errorf("%s: exit %d: %s", args[0], r.Exit, r.Stderr)
		}
	}
	testkit.Succeed(t, restore...)
}

// An increment to a base that can't be restored is not taken, because it would look like a
// usable backup.
func TestIncrementToADamagedBackupIsRefused(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	dir, keyring := t.TempDir(), filepath.Join(server.Dir, "keyring")
	fullBackup := filepath.Join(dir, "monday")
	testkit.Succeed(t, "backup", "--sandbox", server.Dir, "--to", fullBackup)
	testkit.Succeed(t, "backup", "--sandbox", server.Dir, "--to", filepath.Join(dir, "tuesday"), "--since", fullBackup)
	content, err := os.ReadFile(fullBackup)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(fullBackup, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, more := range [][]string{nil, {"--keyring", keyring}} {
		args := append([]string{"backup", "--sandbox", server.Dir, "--to", filepath.Join(dir, "wednesday"), "--since", dir}, more...)
		if r := testkit.Run(t, nil, args...); r.Exit != 1 || !strings.Contains(r.Stderr, fullBackup+": the backup is damaged") {
			t.Errorf("exit %d: %s", r.Exit, r.Stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "wednesday")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an increment was taken: %v", err)
	}
}

// A damaged file beside the used backups is reported.
func TestUnneededDamagedBackupIsAWarning(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	dir, keyring := t.TempDir(), filepath.Join(s.Dir, "keyring")
	testkit.Succeed(t, "backup", "--sandbox", s.Dir, "--to", filepath.Join(dir, "monday"))
	testkit.Succeed(t, "backup", "--sandbox", s.Dir, "--to", filepath.Join(dir, "tuesday"), "--since", dir)
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

// The help shows the short form of the command, because people use it.
func TestBackupHelpShowsTheShortForm(t *testing.T) {
	testkit.NotUnderRace(t, commandsOnly)
	if help := testkit.Succeed(t, "backup", "--help"); !strings.Contains(help, "mizan backup --to DIR|FILE") {
		t.Errorf("the help says %s", help)
	}
	if help := testkit.Succeed(t, "backup", "take", "--help"); strings.Contains(help, "--organization") {
		t.Errorf("the help offers an organization: %s", help)
	}
}
