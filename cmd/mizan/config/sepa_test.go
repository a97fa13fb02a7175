package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mizan/actors/provider/sepa"
)

// Without its file, the directory may be the mount point of a storage that is not there.
func TestTheSEPADirectoryHasItsFile(t *testing.T) {
	dir := t.TempDir()
	want := []string{"mizan: configuration: sepa-dir: " + dir + " has no file sepa-root; create it once, on the storage itself"}
	if _, err := parse(t, "--sandbox", "--sepa-dir", dir); !slices.Equal(lines(err), want) {
		t.Errorf("refused with %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, sepa.RootFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if cfg, err := parse(t, "--sandbox", "--sepa-dir", dir); err != nil || cfg.SEPADir != dir {
		t.Errorf("the directory is refused: %v", err)
	}
	if cfg, err := parse(t, "--sandbox"); err != nil || cfg.SEPADir != "" {
		t.Errorf("there is a directory without the key: %v", err)
	}
}
