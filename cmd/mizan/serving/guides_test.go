package serving_test

import (
	"bytes"
	"context"
	"image"
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mizan/internal/testkit"
)

var guideCommands = regexp.MustCompile("(?s)\n```bash\n(.*?)```\n")

// TestGuidesCommandsDoWhatTheySay runs the commands in the guides of docs/api.md unchanged, one after the other, as a reader
// would.
func TestGuidesCommandsDoWhatTheySay(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	server := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})
	folder := t.TempDir()
	if err := os.Symlink(server.Dir, filepath.Join(folder, "data")); err != nil {
		t.Fatal(err)
	}
	var picture bytes.Buffer
	if err := jpeg.Encode(&picture, image.NewGray(image.Rect(0, 0, 40, 30)), nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "breakfast.jpg"), picture.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	script := "set -e\n"
	blocks := guideCommands.FindAllSubmatch(page, -1)
	for _, block := range blocks {
		script += string(block[1]) + "\necho\n"
	}
	script = strings.ReplaceAll(script, "https://127.0.0.1:8443", server.BaseURL)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-c", script)
	command.Dir = folder
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		`"txid":"order-1","type":"payment","status":"charged"`, `/pay/`, `"txid":"order-4","type":"payment","status":"charged"`, `"refunded_amount":"400"`,
		`"error_code":"cancelled"`, `"available":"`, `"txid":"wages-1","type":"payout","status":"charged"`, `"status":"cancelled"`, `"qr_url":"`, `"width":40`,
		`"notify_url":"http://127.0.0.1:9090/hook"`, `"type":"transaction.charged"`, `"now":"`,
	} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("no response has %s", want)
		}
	}
	if t.Failed() || len(blocks) < 10 {
		t.Errorf("%d blocks responded\n%s", len(blocks), out)
	}
}
