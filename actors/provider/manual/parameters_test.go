package manual_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/actors/provider/manual"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// draft is a request for a terminal of this provider.
func draft(params string) directory.Terminal {
	return directory.Terminal{
		ID: uuid.New(), Partner: 3, Name: "T", Provider: manual.Name, Type: directory.PayoutTerminal, Env: money.Prod, ProviderParams: []byte(params), Active: true,
	}
}

func TestTheTimeOfATerminalIsRequiredAndBounded(t *testing.T) {
	for params, field := range map[string]string{
		`{"settle_after_seconds":1}`:                       "",
		`{"settle_after_seconds":604800,"bank_token":"t"}`: "",
		`{"settle_after_seconds":60,"bank_token":null}`:    "",
		`{}`:                                                         "settle_after_seconds",
		`{"bank_token":"t"}`:                                         "settle_after_seconds",
		`{"settle_after_seconds":null}`:                              "settle_after_seconds",
		`{"settle_after_seconds":0}`:                                 "settle_after_seconds",
		`{"settle_after_seconds":-1}`:                                "settle_after_seconds",
		`{"settle_after_seconds":604801}`:                            "settle_after_seconds",
		`{"settle_after_seconds":1.5}`:                               "settle_after_seconds",
		`{"settle_after_seconds":"60"}`:                              "settle_after_seconds",
		`{"settle_after_seconds":60,"bank_token":7}`:                 "bank_token",
		`{"settle_after_seconds":60,"bank_token":"•••"}`:             "bank_token",
		`{"settle_after_seconds":60,"bank_token":"` + tooLong + `"}`: "bank_token",
	} {
		want := field
		if want != "" {
			want = "provider_params." + want
		}
		_, _, err := directory.NewTerminal(draft(params), false)
		wantField(t, params+", created", err, want)
		old, _, err := directory.NewTerminal(draft(`{"settle_after_seconds":60}`), false)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = old.Patch(func(r *directory.Terminal, _ *schema.Faults) { r.ProviderParams = []byte(params) }, false)
		wantField(t, params+", patched", err, want)
	}
}

var tooLong = strings.Repeat("t", directory.MaxSecret+1)

// wantField requires that an error names a field, or that there is none if the field is empty.
func wantField(t *testing.T, what string, err error, field string) {
	t.Helper()
	var refusal *ledger.Refusal
	refused := ""
	if errors.As(err, &refusal) {
		refused = refusal.Field
	}
	if refused != field || (err != nil) != (field != "") {
		t.Errorf("%s: refused is %q, want %q: %v", what, refused, field, err)
	}
}

func TestTheBanksTokenIsNotPrinted(t *testing.T) {
	p := manual.Params{SettleAfter: 60, BankToken: "canary"}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "p", p, "pointer", &p)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		fmt.Fprintf(&log, verb, p)
		fmt.Fprintf(&log, verb, &p)
	}
	if strings.Contains(log.String(), "canary") || strings.Contains(log.String(), fmt.Sprintf("%x", "canary")) {
		t.Errorf("printed %s", &log)
	}
}
