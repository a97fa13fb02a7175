package audit

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

// exportPath returns a path for an export in a new empty folder.
func exportPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "ledger")
}

// wantNoFile checks that the file's directory is empty: it has neither the file nor a temporary file.
func wantNoFile(t *testing.T, file string) {
	t.Helper()
	leftovers, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(leftovers) != 0 {
		t.Errorf("there is %v, %v", leftovers, err)
	}
}

func TestLedgerIsExported(t *testing.T) {
	t.Parallel()
	server := testkit.Start(t, testkit.Options{})
	testkit.Pay(t, server.Partner(), "order-1")
	want, err := server.Auditor().Get("/api/v1/ledger/export?format=csv&env=test&prefix=L:partner:1:")
	if err != nil || want.Status != 200 {
		t.Fatal(want, err)
	}
	flags := []string{"audit", "export", "--sandbox", server.Dir, "--format", "csv", "--env", "test", "--account", "L:partner:1:"}

	file := exportPath(t)
	r := wantExit(t, 0, "", append(flags, "--out", file)...)
	content, err := os.ReadFile(file)
	if err != nil || string(content) != string(want.Body) || r.Stdout != "" {
		t.Errorf("%v: the file has %d bytes, the answer %d; stdout has %q", err, len(content), len(want.Body), r.Stdout)
	}
	if stat, err := os.Stat(file); err != nil || stat.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", stat.Mode(), err)
	}
	if !regexp.MustCompile(`^mizan: audit export: \d+ bytes in \d+\.\d s\n$`).MatchString(r.Stderr) {
		t.Errorf("stderr has %q", r.Stderr)
	}
	wantExit(t, 2, "mizan: audit export: --out: "+file+" is there already", append(flags, "--out", file)...)

	if r := wantExit(t, 0, "mizan: audit export: ", flags...); r.Stdout != string(want.Body) {
		t.Errorf("stdout has %d bytes, the answer %d", len(r.Stdout), len(want.Body))
	}
	if r := wantExit(t, 0, "", append(flags, "--from", "2020-01-01", "--to", "2020-01-31T12:00:00Z")...); strings.Count(r.Stdout, "\n") != 1 {
		t.Errorf("a range before everything has %q", r.Stdout)
	}
}

func TestRefusedExportLeavesNoFile(t *testing.T) {
	t.Parallel()
	server := testkit.Start(t, testkit.Options{})
	file := exportPath(t)
	wantFailure := func(exit int, stderr string, args ...string) {
		t.Helper()
		wantExit(t, exit, stderr, append([]string{"audit", "export", "--out", file}, args...)...)
		wantNoFile(t, file)
	}
	wantFailure(2, "mizan: audit export: format: ", "--sandbox", server.Dir, "--format", "pdf")
	wantFailure(2, "mizan: audit export: env: ", "--sandbox", server.Dir, "--format", "csv", "--env", "live")
	wantFailure(2, "mizan: audit export: from: ", "--sandbox", server.Dir, "--format", "csv", "--from", "2020-02-01", "--to", "2020-01-01")
	wantFailure(2, "mizan: audit export: to: ", "--sandbox", server.Dir, "--format", "csv", "--to", "9999-01-01")
	wantFailure(2, "mizan: configuration: ", "--sandbox", server.Dir)
	wantFailure(2, "unauthorized", "--sandbox", server.Dir, "--format", "csv", "--organization", server.Sandbox.Second.OrganizationID)
	server.Stop()
	wantFailure(1, "mizan: audit export: "+server.Sandbox.BaseURL, "--sandbox", server.Dir, "--format", "csv")
	wantMisuse := func(words string, args ...string) {
		t.Helper()
		wantExit(t, 2, "mizan: audit export: "+words, append([]string{"audit", "export", "--sandbox", server.Dir, "--format", "csv"}, args...)...)
	}
	wantMisuse("--out: stat "+file+": no such file", "--out", filepath.Join(file, "none"))
	wantMisuse("--out: is empty", "--out", "")
	for _, flag := range []string{"--from", "--to", "--env", "--account"} {
		wantMisuse(flag+": is empty", flag, "") // as if a script's variable were not set
	}
	wantMisuse("--account: is not UTF-8", "--account", "A\xff")
	wantNoFile(t, file)
}

// An export that the server breaks off leaves no file, however many bytes have arrived.
func TestInterruptedExportLeavesNoFile(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "r-17")
		_, _ = w.Write([]byte("seq,line\n1,1\n"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte("mzs_x"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := exportPath(t)
	wantExit(t, 1, "mizan: audit export: the export is not whole: the server broke it off (request r-17): unexpected EOF", "audit", "export", "--url", server.URL, "--session-token-file", tokenFile,
		"--organization", "7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01", "--format", "csv", "--out", file)
	wantNoFile(t, file)
}
