package testkit

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// maxWait is the maximum time that WaitUntil waits.
const maxWait = 2 * time.Minute

// CardPayment returns the body of a card payment that the simulator charges immediately.
func CardPayment(txid string) string {
	return `{"params":{"type":"payment","txid":"` + txid + `","amount":"1000","currency":"USD","env":"test",` +
		`"returnUrl":"https://shop.example/ok","failUrl":"https://shop.example/failed","money_storage":{"type":"bank_card",` +
		`"cardnumber":"4242424242424242","cardholder":"JANE DOE","exp_month":"12","exp_year":"2030","cvv":"123"}}}`
}

// Pay makes a payment and returns its id. If the payment is not charged, the test fails.
func Pay(tb testing.TB, c *Client, txid string) string {
	tb.Helper()
	answer, err := c.Post("/api/v1/transactions", CardPayment(txid))
	if err != nil {
		tb.Fatal(err)
	}
	var tx struct{ ID, Status string }
	if err := answer.JSON(&tx); err != nil || answer.Status != http.StatusCreated || tx.Status != "charged" {
		tb.Fatalf("payment answered %d %s, want 201 charged", answer.Status, answer.Body)
	}
	return tx.ID
}

// WantStatus fails the test if the request failed or if the response does not have the status want.
func WantStatus(tb testing.TB, answer *Answer, err error, want int) *Answer {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	if answer.Status != want {
		tb.Fatalf("answered %d %s, want %d", answer.Status, answer.Body, want)
	}
	return answer
}

// WaitUntil calls the function holds until holds returns true. If the time maxWait passes first, the test fails with a message
// that names the condition.
func WaitUntil(tb testing.TB, condition string, holds func() bool) {
	tb.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(maxWait); !holds(); <-tick.C {
		if time.Now().After(end) {
			tb.Fatalf("%s: not within %v", condition, maxWait)
		}
	}
}

// MustRun runs the binary with the arguments and returns its stdout. If the exit code is not 0, the test fails.
func MustRun(tb testing.TB, args ...string) string {
	tb.Helper()
	r := Run(tb, nil, args...)
	if r.Exit != 0 {
		tb.Fatalf("mizan %s: exit %d: %s%s", strings.Join(args, " "), r.Exit, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// WantQuietSuccess checks that a run of the binary ended with exit code 0 and wrote nothing to stderr. It returns what the run
// wrote to stdout.
func WantQuietSuccess(tb testing.TB, r Result) string {
	tb.Helper()
	if r.Exit != 0 || r.Stderr != "" {
		tb.Fatalf("exit %d: %s", r.Exit, r.Stderr)
	}
	return r.Stdout
}

// WantOneLine checks that stderr is a single line that begins with the prefix.
func WantOneLine(tb testing.TB, stderr, prefix string) {
	tb.Helper()
	if got := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n"); len(got) != 1 || !strings.HasPrefix(got[0], prefix) {
		tb.Errorf("stderr is %q, want one line that begins with %q", stderr, prefix)
	}
}

// WriteFile writes a file into a new directory and returns its path.
func WriteFile(tb testing.TB, name, content string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// ReadDoc returns the content of the file with the given name in the directory docs.
func ReadDoc(tb testing.TB, name string) string {
	tb.Helper()
	root, err := moduleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "docs", name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}
