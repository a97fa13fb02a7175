package metrics_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mizan/cmd/mizan/serving/metrics"
	"mizan/internal/testkit"
)

// TestMetricsAreDocumented checks that the names of metrics in this package's source are those in the table of
// docs/operations.md. It does not use the served metrics, because a metric with labels is not served before its first sample.
func TestMetricsAreDocumented(t *testing.T) {
	inSource := make(map[string]bool)
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil && strings.HasPrefix(text, "mizan_") {
					inSource[text] = true
				}
			}
			return true
		})
	}
	_, section, _ := strings.Cut(testkit.ReadDoc(t, "operations.md"), "\n## Metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	documented := make(map[string]bool)
	for row := range strings.Lines(section) {
		if names, _, isRow := strings.Cut(strings.TrimPrefix(row, "| "), " | "); isRow && strings.HasPrefix(row, "| `") {
			for _, m := range regexp.MustCompile("`(mizan_[a-z_]+)`").FindAllStringSubmatch(names, -1) {
				documented[m[1]] = true
			}
		}
	}
	if len(inSource) < 30 {
		t.Errorf("only %d metrics were found", len(inSource))
	}
	for name := range inSource {
		if !documented[name] {
			t.Errorf("docs/operations.md has no row for %s", name)
		}
	}
	for name := range documented {
		if !inSource[name] {
			t.Errorf("docs/operations.md has a row for %s, which does not exist", name)
		}
	}
}

func TestProfilesAreServedOnlyIfTheyAreWanted(t *testing.T) {
	m := metrics.New("v1")
	for withProfiles, want := range map[bool]int{false: http.StatusNotFound, true: http.StatusOK} {
		server := httptest.NewServer(m.NewServer(slog.New(slog.DiscardHandler), withProfiles).Handler)
		for path, status := range map[string]int{
			"/metrics": http.StatusOK, "/debug/pprof/": want, "/debug/pprof/goroutine?debug=1": want, "/debug/pprof/profile?seconds=1": want,
			"/debug/pprof/cmdline": http.StatusNotFound, "/": http.StatusNotFound,
		} {
			response, err := http.Get(server.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			if _ = response.Body.Close(); response.StatusCode != status {
				t.Errorf("with profiles %v: %s is answered %d, want %d", withProfiles, path, response.StatusCode, status)
			}
		}
		server.Close()
	}
}
