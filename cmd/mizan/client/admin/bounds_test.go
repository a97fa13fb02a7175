package admin_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// respondEmpty responds to every request with success.
func respondEmpty(w http.ResponseWriter, _ *http.Request, _ int) { _, _ = fmt.Fprint(w, `{"data":{}}`) }

// writeFileOfSize writes a file of this size and returns its path.
func writeFileOfSize(t *testing.T, size int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSecretFileSizeIsBounded(t *testing.T) {
	t.Parallel()
	s := newStub(t, respondEmpty)
	s.admin(t, 0, "", "partners", "create", "--pass-file", writeFileOfSize(t, 4096))
	longFile := writeFileOfSize(t, 4097)
	s.admin(t, 2, "mizan: configuration: --pass-file: "+longFile+" is larger than 4096 bytes\n", "partners", "create", "--pass-file", longFile)
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestTokenLengthIsBounded(t *testing.T) {
	t.Parallel()
	s := newStub(t, respondEmpty)
	s.admin(t, 0, "", "--token-file", writeFileOfSize(t, 4096), "partners", "show", "1")
	s.admin(t, 2, "mizan: partners show: --token-file: holds no token\n", "--token-file", writeFileOfSize(t, 4097), "partners", "show", "1")
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestIdempotencyKeyLengthIsBounded(t *testing.T) {
	t.Parallel()
	s := newStub(t, respondEmpty)
	s.admin(t, 0, "", "--idempotency-key", strings.Repeat("k", 255), "partners", "delete", "1")
	s.admin(t, 2, "mizan: partners delete: --idempotency-key: want 1 to 255 characters\n", "--idempotency-key", strings.Repeat("k", 256), "partners", "delete", "1")
	s.admin(t, 2, "mizan: partners delete: --idempotency-key: want printable ASCII characters\n", "--idempotency-key", "k\n", "partners", "delete", "1")
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestResponseSizeIsBounded(t *testing.T) {
	t.Parallel()
	const bound = 64 << 20
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		chunk := bytes.Repeat([]byte(" "), 1<<20)
		for range bound / len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
		_, _ = w.Write([]byte("{}"))
	})
	s.admin(t, 1, "mizan: partners show: "+s.URL+": the answer is larger than 67108864 bytes\n", "partners", "show", "1")
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests, want 1: asking again makes it no smaller", n)
	}
}

// A long table is printed in blocks, under one heading.
func TestLongTableHasOneHeading(t *testing.T) {
	t.Parallel()
	const rows = 10_001
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		row := `{"from":"USD","to":"EUR","rate":"1"}`
		_, _ = fmt.Fprint(w, `{"data":[`+row+strings.Repeat(","+row, rows-1)+`]}`)
	})
	r := s.admin(t, 0, "", "rates", "list")
	lines := strings.Split(strings.TrimSuffix(r.Stdout, "\n"), "\n")
	if len(lines) != 1+rows || strings.Count(r.Stdout, "FROM") != 1 {
		t.Errorf("%d lines, %d headings", len(lines), strings.Count(r.Stdout, "FROM"))
	}
	for _, line := range lines[1:] {
		if fields := strings.Fields(line); len(fields) != 5 || fields[0] != "USD" || fields[4] != "-" {
			t.Fatalf("a row is %q", line)
		}
	}
}
