package audit

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/cmd/mizan/cli"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/period"
)

func parseMonth(t *testing.T, text string) period.Month {
	t.Helper()
	m, ok := period.Parse(text)
	if !ok {
		t.Fatalf("%q is no month", text)
	}
	return m
}

// falseServer is an HTTP handler for the ledger's API; a test sets what it responds about closed months.
type falseServer struct {
	balance string // rows of the trial balance, as JSON
	months  string // rows of the list of closed months, as JSON
	hash    string // the hash in the event that closes October

	signer note.Signer
	key    string // verifies the signer's signatures
	t      *testing.T
}

const falseServerOrganization = "7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01"

// leaf returns the canonical bytes of the only event of the journal, which closes October.
func (f *falseServer) leaf() []byte {
	e := (&period.Record{Month: parseMonth(f.t, "2026-10")}).Event()
	e.Seq, e.Version, e.Author = 1, 1, ledger.ByAdminToken.Author()
	e.To = e.To[:len(e.To)-len(f.hash)] + f.hash
	return e.AppendCanonical(nil)
}

func (f *falseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	respond := func(data any) {
		if err := json.NewEncoder(w).Encode(map[string]any{"data": data}); err != nil {
			f.t.Error(err)
		}
	}
	root := tlog.RecordHash(f.leaf())
	switch r.URL.Path[len("/api/v1/ledger/"):] {
	case "key":
		respond(map[string]any{"key": f.key})
	case "head":
		text := string(tlog.FormatTree(tlog.Tree{N: 1, Hash: root})) + "organization " + falseServerOrganization + "\n"
		signed, err := note.Sign(&note.Note{Text: text}, f.signer)
		if err != nil {
			f.t.Error(err)
		}
		respond(map[string]any{"signature": signed})
	case "proofs/inclusion":
		respond(map[string]any{"leaf": f.leaf(), "proof": []tlog.Hash{}})
	case "periods":
		_, _ = fmt.Fprint(w, `{"data":[`+f.months+`],"cursor":{"cursor_field":"month","cursor_value":null}}`)
	case "trial-balance":
		if r.URL.Query().Get("by") != "effective" || r.URL.Query().Get("at") != "2026-10-31" {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprint(w, `{"data":[`+f.balance+`],"cursor":{"cursor_field":"account","cursor_value":null}}`)
	default:
		http.NotFound(w, r)
	}
}

// closedPeriodJSON returns a row of the list of closed months.
func closedPeriodJSON(month, hash, seq, rows string) string {
	return `{"month":"` + month + `","closed_at":"x","closed_by":{"session_id":"s","user_id":null,"login":null},"seq":` + seq + `,"hash":"` + hash + `","rows":` + rows + `}`
}

// `mizan audit periods verify` detects every false statement of a server about its closed months.
func TestChangedClosedMonthIsRefused(t *testing.T) {
	t.Parallel()
	secret, key, err := note.GenerateKey(rand.Reader, "mizan")
	if err != nil {
		t.Fatal(err)
	}
	handler := &falseServer{t: t, key: key}
	if handler.signer, err = note.NewSigner(secret); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	tokenFile := filepath.Join(t.TempDir(), "token")
	writeTestFile(t, tokenFile, "mzs_x\n")
	const asset = `{"account":"A:bank","asset":{"currency":"EUR","network":"","env":"prod"},`
	wrongHash := strings.Repeat("0", len(emptyOctoberHash))
	october := closedPeriodJSON("2026-10", emptyOctoberHash, "1", "0")
	run := func(args []string, out, problems *strings.Builder) int {
		r := testkit.Run(t, nil, args...)
		out.WriteString(r.Stdout)
		problems.WriteString(r.Stderr)
		return r.Exit
	}
	for name, c := range map[string]struct {
		balance, months, hash string
		exit                  int
		message               string
	}{
		"as it was closed":                      {"", october, emptyOctoberHash, 0, "2026-10 " + emptyOctoberHash + " ok\n"},
		"no month is closed":                    {"", "", emptyOctoberHash, 0, "no month is closed\n"},
		"another trial balance":                 {asset + `"debits_posted":"1","credits_posted":"0","debits_pending":"0","credits_pending":"0","balance":"1"}`, october, emptyOctoberHash, 4, "differs: its trial balance is hashed as "},
		"more rows than there are":              {"", closedPeriodJSON("2026-10", emptyOctoberHash, "1", "1"), emptyOctoberHash, 4, "differs: its trial balance has 0 rows, not 1"},
		"closed with another hash":              {"", october, wrongHash, 4, "differs: event 1 does not close it with that hash"},
		"closed by an event beyond the journal": {"", closedPeriodJSON("2026-10", emptyOctoberHash, "2", "0"), emptyOctoberHash, 4, "differs: event 2 is not in the journal of 1"},
		"closed by no event":                    {"", closedPeriodJSON("2026-10", emptyOctoberHash, "0", "0"), emptyOctoberHash, 4, "differs: event 0 is not in the journal of 1"},
		"a month that is left out":              {"", closedPeriodJSON("2026-12", wrongHash, "1", "0") + "," + october, emptyOctoberHash, 4, "months are closed without a gap"},
	} {
		handler.balance, handler.months, handler.hash = c.balance, c.months, c.hash
		var out, problems strings.Builder
		exit := run([]string{"audit", "periods", "verify", "--url", server.URL, "--organization", falseServerOrganization, "--session-token-file", tokenFile}, &out, &problems)
		if exit != c.exit || !strings.Contains(out.String()+problems.String(), c.message) {
			t.Errorf("%s: exit %d: %s%s", name, exit, out.String(), problems.String())
		}
	}
	handler.months, handler.hash = october, emptyOctoberHash
	args := []string{"audit", "periods", "verify", "--url", server.URL, "--organization", falseServerOrganization, "--session-token-file", tokenFile, "--key"}
	var out, problems strings.Builder
	if exit := run(append(args, otherKey), &out, &problems); exit != exitRefused || !strings.Contains(problems.String(), "signed with another key") {
		t.Errorf("exit %d: %s%s", exit, out.String(), problems.String())
	}
	handler.months = ""
	if exit := run(append(args, otherKey), &out, &problems); exit != exitRefused {
		t.Errorf("another key where no month is closed: exit %d", exit)
	}
	if exit := run(append(args, ""), &out, &problems); exit != cli.ExitConfiguration {
		t.Errorf("an empty key: exit %d", exit)
	}
}

// emptyOctoberHash is the SHA-256 of "mizan period 1\norganization
// 7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01\nmonth 2026-10\n", by sha256sum.
const emptyOctoberHash = "f83cb79d7095e4d5d0dba58562d1dc62ce86cad7350d1439ebc15ccba5f6a2d6"
