package maintenance

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mizan/internal/testkit"
)

// process is a running process of the mizan binary.
type process struct {
	cmd    *exec.Cmd
	output bytes.Buffer
}

func startCommand(t *testing.T, args ...string) *process {
	t.Helper()
	started := &process{cmd: exec.Command(testkit.RaceBinary(t), args...)}
	started.cmd.Stdout, started.cmd.Stderr = &started.output, &started.output
	if err := started.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if started.cmd.ProcessState == nil {
			_ = started.cmd.Process.Kill()
			_ = started.cmd.Wait()
		}
	})
	return started
}

// waitForExit waits for the end of the process and returns its exit code. If a signal ended the process, it returns -1.
func (p *process) waitForExit() int {
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// completeBackups returns the names of the backups in a directory, without those that are being
// written.
func completeBackups(t *testing.T, dir string) (names []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.backup"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func partialBackupSize(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, ".mizan-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if info, err := os.Stat(path); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// trialBalance returns the server's trial balance, which must be the same on a restored server. A restored server creates new
// sandbox tokens, but the events for that have no entries.
func trialBalance(t *testing.T, s *testkit.Server) string {
	t.Helper()
	answer, err := s.Auditor().Get("/api/v1/ledger/trial-balance?env=test&limit=500")
	return string(testkit.WantStatus(t, answer, err, 200).Body)
}

// A full backup and an increment of a running server can be verified and restored. A server started on each restored directory
// has the same trial balance and accepts payments.
func TestBackupOfARunningServerIsRestored(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	backups, restoreDir := t.TempDir(), t.TempDir()
	keyring := filepath.Join(server.Dir, "keyring")
	for i := range 20 {
		testkit.Pay(t, server.Partner(), fmt.Sprint("first-", i))
	}
	balances := []string{trialBalance(t, server)}
	testkit.MustRun(t, "backup", "--sandbox", server.Dir, "--to", backups, "--keyring", keyring)
	betweenBackups := time.Now().UTC().Format(time.RFC3339Nano)
	testkit.Pay(t, server.Partner(), "second")
	balances = append(balances, trialBalance(t, server))
	if balances[0] == balances[1] {
		t.Fatal("a payment has changed no balance")
	}
	increment := filepath.Join(backups, "increment.backup")
	testkit.MustRun(t, "backup", "--sandbox", server.Dir, "--since", backups, "--to", increment)
	testkit.Pay(t, server.Partner(), "never backed up")
	if output := testkit.MustRun(t, "backup", "verify", "--from", backups, "--keyring", keyring); !strings.Contains(output, "incremental") || !strings.Contains(output, "from 2 backups: whole") {
		t.Errorf("the verification says %s", output)
	}
	if server.Stop() != 0 {
		t.Error("the server did not stop cleanly")
	}
	for i, from := range [][]string{{"--from", backups, "--at", betweenBackups}, {"--from", increment}} {
		dir := filepath.Join(restoreDir, fmt.Sprint("data", i))
		output := testkit.MustRun(t, append([]string{"restore", "--data", dir, "--keyring", keyring}, from...)...)
		if !strings.Contains(output, "mizan: restored "+dir+" to 2") || !strings.Contains(output, "rule 5 ok ") {
			t.Errorf("the restore says %s", output)
		}
		testkit.MustRun(t, "audit", "verify", "--data", dir)
		restored := testkit.Start(t, testkit.Options{Dir: dir, Flags: []string{"--keyring", keyring, "--check"}})
		if got := trialBalance(t, restored); got != balances[i] {
			t.Errorf("backup %d: the restored trial balance is %s, want %s", i, got, balances[i])
		}
		testkit.Pay(t, restored.Partner(), "after the restore")
		if restored.Stop() != 0 {
			t.Error("the restored server did not stop cleanly")
		}
		testkit.MustRun(t, "audit", "verify", "--data", dir)
	}
}

// slowBackup are flags of a server whose backups take longer than any test.
var slowBackup = []string{"--backup-rate", "1000"}

// startSlowBackup starts a backup command and waits until it has begun to write.
func startSlowBackup(t *testing.T, s *testkit.Server, dir string) *process {
	t.Helper()
	backup := startCommand(t, "backup", "--sandbox", s.Dir, "--to", dir)
	testkit.WaitUntil(t, "a backup that begins", func() bool { return partialBackupSize(t, dir) > 0 })
	return backup
}

func TestKilledServerLeavesNoBackup(t *testing.T) {
	server := testkit.Start(t, testkit.Options{Flags: slowBackup})
	dir := t.TempDir()
	backup := startSlowBackup(t, server, dir)
	server.Kill()
	if code := backup.waitForExit(); code != 1 || !strings.Contains(backup.output.String(), "the server broke off") {
		t.Errorf("the backup ended with %d: %s", code, backup.output.String())
	}
	if completeBackups(t, dir) != nil || partialBackupSize(t, dir) > 0 {
		t.Error("something is left of the backup")
	}
	testkit.MustRun(t, "audit", "verify", "--data", server.Dir)
}

func TestKilledBackupLeavesNoFileAndTheServerRuns(t *testing.T) {
	server := testkit.Start(t, testkit.Options{Flags: slowBackup})
	dir := t.TempDir()
	backup := startSlowBackup(t, server, dir)
	if err := backup.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	backup.waitForExit()
	if completeBackups(t, dir) != nil {
		t.Error("there is a backup")
	}
	testkit.Pay(t, server.Partner(), "")
	testkit.WaitUntil(t, "another backup", func() bool { // the server notices the kill when it sends more bytes
		backup := startCommand(t, "backup", "--sandbox", server.Dir, "--to", dir)
		exited := make(chan int, 1)
		go func() { exited <- backup.waitForExit() }()
		for {
			select {
			case code := <-exited:
				if code != 2 || !strings.Contains(backup.output.String(), "another backup is under way") {
					t.Fatalf("exit %d: %s", code, backup.output.String())
				}
				return false
			case <-time.After(time.Millisecond):
			}
			if partialBackupSize(t, dir) > 0 {
				_ = backup.cmd.Process.Kill()
				<-exited
				return true
			}
		}
	})
	if server.Stop() != 0 {
		t.Error("the server did not stop cleanly")
	}
	testkit.MustRun(t, "audit", "verify", "--data", server.Dir)
}

func TestInterruptedBackupIsReportedAndLeavesNoFile(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Flags: slowBackup})
	dir := t.TempDir()
	backup := startSlowBackup(t, s, dir)
	if err := backup.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := backup.waitForExit(); code != 1 || !strings.HasSuffix(backup.output.String(), "it was interrupted; nothing is left of it\n") || strings.Count(backup.output.String(), "\n") != 1 {
		t.Errorf("the backup ended with %d: %s", code, backup.output.String())
	}
	if completeBackups(t, dir) != nil || partialBackupSize(t, dir) > 0 {
		t.Error("something is left of the backup")
	}
}

func TestStopOfTheServerEndsABackup(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Flags: slowBackup})
	dir := t.TempDir()
	backup := startSlowBackup(t, s, dir)
	if code := s.Stop(); code != 0 {
		t.Errorf("the server ended with %d: %s", code, s.Stderr())
	}
	if code := backup.waitForExit(); code != 1 || completeBackups(t, dir) != nil {
		t.Errorf("the backup ended with %d: %s", code, backup.output.String())
	}
}

// After a restore is killed at any moment, its directory does not exist or is complete.
func TestKilledRestoreIsAbsentOrComplete(t *testing.T) {
	server := testkit.Start(t, testkit.Options{})
	for i := range 20 {
		testkit.Pay(t, server.Partner(), fmt.Sprint("order-", i))
	}
	backup := filepath.Join(t.TempDir(), "one.backup")
	testkit.MustRun(t, "backup", "--sandbox", server.Dir, "--to", backup)
	content, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	args := []string{"restore", "--from", backup, "--data", dir, "--keyring", filepath.Join(server.Dir, "keyring")}
	exists := func(path string) bool {
		_, err := os.Stat(path)
		return !errors.Is(err, fs.ErrNotExist)
	}
	workDir := dir + ".restoring"
	for _, progressFile := range []string{workDir, workDir + "/store.new", workDir + "/store.new/MANIFEST", workDir + "/log", workDir + "/store", workDir + "/TABLES"} {
		restore := startCommand(t, args...)
		ended := make(chan int, 1)
		go func() { ended <- restore.waitForExit() }()
		testkit.WaitUntil(t, progressFile, func() bool { return exists(progressFile) || exists(dir) })
		_ = restore.cmd.Process.Kill() // an error means that the process has already ended
		<-ended
		if exists(dir) {
			testkit.MustRun(t, "audit", "verify", "--data", dir)
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	testkit.MustRun(t, args...)
	if exists(workDir) {
		t.Error("the place of work is still there")
	}
	if got, err := os.ReadFile(backup); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the backup was changed: %v", err)
	}
}

func TestUnrestorableBackupsAreExplained(t *testing.T) {
	testkit.NotUnderRace(t, reasonRefusedCommand)
	server := testkit.Start(t, testkit.Options{})
	dir := t.TempDir()
	backup, keyring := filepath.Join(dir, "one.backup"), filepath.Join(server.Dir, "keyring")
	testkit.MustRun(t, "backup", "--sandbox", server.Dir, "--to", backup)
	content, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	otherKeyring := filepath.Join(dir, "keyring")
	testkit.MustRun(t, "keyring", otherKeyring)
	truncatedBackup := filepath.Join(t.TempDir(), "half.backup")
	if err := os.WriteFile(truncatedBackup, content[:len(content)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	newerBackup := filepath.Join(filepath.Dir(truncatedBackup), "newer")
	if err := os.WriteFile(newerBackup, bytes.Replace(content, []byte(`"version":1`), []byte(`"version":2`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	danglingLink := filepath.Join(filepath.Dir(truncatedBackup), "link")
	if err := os.Symlink("/nowhere/at/all", danglingLink); err != nil {
		t.Fatal(err)
	}
	dataParent := t.TempDir()
	data := filepath.Join(dataParent, "data")
	for name, c := range map[string]struct {
		args   []string
		exit   int
		stderr string // text that stderr must contain
	}{
		"another keyring":                    {[]string{"restore", "--from", backup, "--data", data, "--keyring", otherKeyring}, 1, "another keyring"},
		"a truncated backup":                 {[]string{"restore", "--from", truncatedBackup, "--data", data, "--keyring", keyring}, 1, "the backup is damaged"},
		"a missing keyring":                  {[]string{"restore", "--from", backup, "--data", data, "--keyring", data}, 2, "mizan: configuration: keyring: "},
		"a missing backup":                   {[]string{"restore", "--from", data, "--data", data, "--keyring", keyring}, 2, "mizan: configuration: from: " + data + ": no such file"},
		"a malformed time":                   {[]string{"restore", "--from", dir, "--at", "yesterday", "--data", data, "--keyring", keyring}, 2, "mizan: configuration: at: "},
		"a time for a single file":           {[]string{"restore", "--from", backup, "--at", "2001-01-01T00:00:00Z", "--data", data, "--keyring", keyring}, 2, "a time can be given"},
		"a time before the oldest backup":    {[]string{"restore", "--from", dir, "--at", "2001-01-01T00:00:00Z", "--data", data, "--keyring", keyring}, 1, "the oldest backup in it is of 2"},
		"a data directory that is not empty": {[]string{"restore", "--from", backup, "--data", server.Dir, "--keyring", keyring}, 2, "is not empty"},
		"an empty time":                      {[]string{"restore", "--from", dir, "--at=", "--data", data, "--keyring", keyring}, 2, "at: is empty"},
		"an empty time of verify":            {[]string{"backup", "verify", "--from", dir, "--at=", "--keyring", keyring}, 2, "at: is empty"},
		"an empty source":                    {[]string{"restore", "--from=", "--data", data, "--keyring", keyring}, 2, "from: is empty"},
		"an empty data directory":            {[]string{"restore", "--from", dir, "--data=", "--keyring", keyring}, 2, "data: is empty"},
		"an empty target":                    {[]string{"backup", "--sandbox", server.Dir, "--to="}, 2, "to: is empty"},
		"an empty base":                      {[]string{"backup", "--sandbox", server.Dir, "--to", data, "--since="}, 2, "since: is empty"},
		"an empty keyring":                   {[]string{"backup", "--sandbox", server.Dir, "--to", data, "--keyring="}, 2, "keyring: is empty"},
		"a data directory that is a file":    {[]string{"restore", "--from", backup, "--data", otherKeyring, "--keyring", keyring}, 2, "is no directory"},
		"a data directory without a parent":  {[]string{"restore", "--from", backup, "--data", data + "/none", "--keyring", keyring}, 2, "mizan: configuration: data: "},
		"a backup of a newer release":        {[]string{"restore", "--from", newerBackup, "--data", data, "--keyring", keyring}, 3, "it was made by another release"},
		"a truncated base":                   {[]string{"backup", "--sandbox", server.Dir, "--since", truncatedBackup, "--to", data}, 1, "the backup is damaged"},
		"a missing base":                     {[]string{"backup", "--sandbox", server.Dir, "--since", data, "--to", data}, 2, "since: " + data + ": no such file"},
		"a hidden target":                    {[]string{"backup", "--sandbox", server.Dir, "--to", filepath.Join(t.TempDir(), ".hidden")}, 2, "begins with a dot"},
		"a target that is a dangling link":   {[]string{"backup", "--sandbox", server.Dir, "--to", danglingLink}, 2, "is a link that leads nowhere"},
		"verify of a truncated backup":       {[]string{"backup", "verify", "--from", truncatedBackup, "--keyring", keyring}, 1, "the backup is damaged"},
		"a target that exists":               {[]string{"backup", "--sandbox", server.Dir, "--to", backup}, 2, "is there already"},
		"a base that is no backup":           {[]string{"backup", "--sandbox", server.Dir, "--since", otherKeyring, "--to", data}, 2, "mizan: configuration: since: "},
		"a token file without a token":       {[]string{"backup", "--url", "http://127.0.0.1:1", "--token-file", otherKeyring, "--to", data}, 2, "holds no token"},
	} {
		r := testkit.Run(t, nil, c.args...)
		if r.Exit != c.exit || !strings.Contains(r.Stderr, c.stderr) || strings.Count(r.Stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q, want %d and one line with %q", name, r.Exit, r.Stderr, c.exit, c.stderr)
		}
	}
	if entries, err := os.ReadDir(dataParent); err != nil || len(entries) > 0 {
		t.Errorf("something was made: %v, %v", entries, err)
	}
	if got, err := os.ReadFile(backup); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the backup was changed: %v", err)
	}
}

// A server with a backup directory takes a backup when it starts, and then reads that backup to
// check it.
func TestServerTakesScheduledBackups(t *testing.T) {
	dir := t.TempDir()
	s := testkit.Start(t, testkit.Options{Flags: []string{"--backup-dir", dir, "--backup-every", "1h", "--backup-keep", "2"}})
	testkit.WaitUntil(t, "a backup", func() bool { return len(completeBackups(t, dir)) == 1 })
	if s.Stop() != 0 {
		t.Error("the server did not stop cleanly")
	}
	testkit.MustRun(t, "backup", "verify", "--from", dir, "--keyring", filepath.Join(s.Dir, "keyring"))
	s.Restart()
	if s.Stop() != 0 || len(completeBackups(t, dir)) != 1 {
		t.Error("a restart took another backup before its time")
	}
}
