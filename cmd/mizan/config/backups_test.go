package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

func TestBackupScheduleIsChecked(t *testing.T) {
	existingFile, dataDir := testkit.WriteFile(t, "file", ""), t.TempDir()
	if err := os.Mkdir(filepath.Join(dataDir, "backups"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args    []string
		message string
	}{
		{[]string{"--backup-dir", "/nowhere/at/all"}, "backup-dir: "},
		{[]string{"--backup-dir", existingFile}, "is no directory"},
		{[]string{"--data", dataDir, "--backup-dir", dataDir}, "is in the data directory"},
		{[]string{"--data", dataDir, "--backup-dir", filepath.Join(dataDir, "..", filepath.Base(dataDir), "backups")}, "is in the data directory"},
		{[]string{"--backup-every", "1h"}, "backup-every: only goes with --backup-dir"},
		{[]string{"--backup-keep", "1"}, "backup-keep: only goes with --backup-dir"},
		{[]string{"--backup-dir", t.TempDir(), "--backup-keep", "0"}, `backup-keep: "0" is not a number from 1 to 100000`},
		{[]string{"--backup-dir", t.TempDir(), "--backup-every", "1s"}, "backup-every: "},
		{[]string{"--backup-rate", "fast"}, "backup-rate: "},
	} {
		_, err := parse(t, append([]string{"--sandbox"}, c.args...)...)
		if got := lines(err); len(got) != 1 || !strings.Contains(got[0], c.message) {
			t.Errorf("%v: %q, want a line with %q", c.args, got, c.message)
		}
	}
}
