package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/ledger/period"
)

func month(t *testing.T, said string) period.Month {
	t.Helper()
	m, ok := period.Parse(said)
	if !ok {
		t.Fatalf("%q is no month", said)
	}
	return m
}

// A server whose trial balance is another one than it has hashed is not believed.
func TestAClosedMonthWhoseBooksHaveChangedIsRefused(t *testing.T) {
	t.Parallel()
	const organization = "7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01"
	balance := ""
	lies := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/ledger/periods"):
			// The hash is that of books in which nothing was ever booked.
			_, _ = fmt.Fprint(w, `{"data":[{"month":"2026-10","closed_at":"x","closed_by":{"session_id":"s","user_id":null,"login":null},"seq":7,`+
				`"hash":"`+emptyOctober+`","rows":0}],"cursor":{"cursor_field":"month","cursor_value":null}}`)
		case r.URL.Query().Get("at") == "2026-10-31" && r.URL.Query().Get("by") == "effective":
			_, _ = fmt.Fprint(w, `{"data":[`+balance+`],"cursor":{"cursor_field":"account","cursor_value":null}}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer lies.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("mzs_x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, problems strings.Builder
	verify := func() int {
		out.Reset()
		problems.Reset()
		return run([]string{"audit", "periods", "verify", "--url", lies.URL, "--organization", organization, "--session-token-file", token}, &out, &problems)
	}
	if exit := verify(); exit != 0 || out.String() != "2026-10 "+emptyOctober+" ok\n" {
		t.Errorf("exit %d: %s%s", exit, out.String(), problems.String())
	}
	balance = `{"account":"A:bank","asset":{"currency":"EUR","network":"","env":"prod"},"debits_posted":"1","credits_posted":"0","debits_pending":"0","credits_pending":"0","balance":"1"}`
	if exit := verify(); exit != exitRefused || !strings.Contains(out.String(), "differs") || !strings.Contains(problems.String(), "2026-10: the hash is not that of the trial balance") {
		t.Errorf("exit %d: %s%s", exit, out.String(), problems.String())
	}
}

// emptyOctober is the SHA-256 of "mizan period 1\norganization
// 7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01\nmonth 2026-10\n", by sha256sum.
const emptyOctober = "f83cb79d7095e4d5d0dba58562d1dc62ce86cad7350d1439ebc15ccba5f6a2d6"
