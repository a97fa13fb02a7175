package admin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

// readManual returns the content of docs/cli.md.
func readManual(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestManualExamplesRun runs all shell blocks of docs/cli.md as one script, in a
// directory with the files that they expect.
func TestManualExamplesRun(t *testing.T) {
	t.Parallel()
	testkit.NotUnderRace(t, noRaceReason)
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	server := testkit.Start(t, testkit.Options{})
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"data": server.Dir, filepath.Join("bin", "mizan"): testkit.Binary(t)} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	blocks := regexp.MustCompile("(?ms)^```sh$(.*?)^```$").FindAllStringSubmatch(readManual(t), -1)
	if len(blocks) < 4 {
		t.Fatalf("%d blocks", len(blocks))
	}
	script := "set -e\n"
	for _, block := range blocks {
		script += block[1]
	}
	command := exec.Command(shell, "-c", script)
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestManualHasEveryCommand compares the manual's table of commands with the help text, which is generated from the
// commands.
func TestManualHasEveryCommand(t *testing.T) {
	t.Parallel()
	testkit.NotUnderRace(t, noRaceReason)
	help := testkit.Run(t, nil, "admin", "--help")
	commands := regexp.MustCompile(`(?m)^  admin ([a-z]+) ([a-z]+) `).FindAllStringSubmatch(help.Stdout, -1)
	if len(commands) < 30 {
		t.Fatalf("the help has %d commands:\n%s", len(commands), help.Stdout)
	}
	text := readManual(t)
	for _, c := range commands {
		_, row, found := strings.Cut(text, "\n| `"+c[1]+"` | ")
		row, _, _ = strings.Cut(row, "\n")
		if !found || !regexp.MustCompile(`\b`+c[2]+`\b`).MatchString(row) {
			t.Errorf("docs/cli.md does not name %s %s", c[1], c[2])
		}
	}
}
