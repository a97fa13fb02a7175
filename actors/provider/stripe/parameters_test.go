package stripe_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/actors/provider/stripe"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

func makeTerminal(env money.Env, text string) (*directory.Terminal, error) {
	made, _, err := directory.NewTerminal(directory.Terminal{
		ID: uuid.New(), Org: org, Partner: 1, Name: "T", Provider: stripe.Name, Type: directory.PaymentTerminal, Env: env, ProviderParams: []byte(text), Active: true,
	}, false)
	return made, err
}

func TestParametersOfATerminalAreChecked(t *testing.T) {
	const testKey, liveKey = `"secret_key":"sk_test_a"`, `"secret_key":"sk_live_a"`
	for _, test := range []struct {
		env  money.Env
		text string
		want string // the field that is refused; empty: none
	}{
		{money.Test, `{` + testKey + `}`, ""},
		{money.Test, `{"secret_key":"rk_test_a"}`, ""},
		{money.Test, `{` + testKey + `,"publishable_key":"pk_test_b","webhook_secret":"whsec_c","raw_cards":true,"save_cards":false,"poll_seconds":5,"statement_descriptor":"SHOP 7"}`, ""},
		{money.Prod, `{` + liveKey + `,"publishable_key":"pk_live_b"}`, ""},
		{money.Prod, `{"secret_key":"rk_live_a","api_base":"https://api.stripe.com/"}`, ""},
		{money.Prod, `{` + testKey + `,"api_base":"https://proxy.example"}`, ""},
		{money.Prod, `{` + testKey + `,"api_base":"http://127.0.0.1:12111"}`, ""},
		{money.Prod, `{"secret_key":"sk_other","api_base":"http://[::1]:12111"}`, ""},

		{money.Test, `{}`, "secret_key"},
		{money.Test, `{"secret_key":"pk_test_a"}`, "secret_key"},
		{money.Test, `{"secret_key":"sk_"}`, "secret_key"},
		{money.Test, `{"secret_key":"sk_test_a b"}`, "secret_key"},
		{money.Test, `{"secret_key":"sk_a"}`, "secret_key"},
		{money.Test, `{` + liveKey + `}`, "secret_key"},
		{money.Prod, `{` + testKey + `}`, "secret_key"},
		{money.Test, `{` + liveKey + `,"api_base":"https://api.stripe.com"}`, "secret_key"},
		{money.Test, `{` + liveKey + `,"api_base":"https://API.stripe.com"}`, "secret_key"},
		{money.Test, `{` + liveKey + `,"api_base":"https://api.stripe.com:443"}`, "secret_key"},
		{money.Test, `{` + testKey + `,"publishable_key":"pk_live_b"}`, "publishable_key"},
		{money.Prod, `{` + liveKey + `,"publishable_key":"pk_test_b"}`, "publishable_key"},
		{money.Test, `{` + testKey + `,"publishable_key":"sk_test_b"}`, "publishable_key"},
		{money.Test, `{` + testKey + `,"webhook_secret":"secret"}`, "webhook_secret"},
		{money.Test, `{` + testKey + `,"raw_cards":"yes"}`, "raw_cards"},
		{money.Test, `{` + testKey + `,"save_cards":1}`, "save_cards"},
		{money.Test, `{` + testKey + `,"poll_seconds":0}`, "poll_seconds"},
		{money.Test, `{` + testKey + `,"poll_seconds":86401}`, "poll_seconds"},
		{money.Test, `{` + testKey + `,"api_base":"http://api.stripe.com"}`, "api_base"},
		{money.Test, `{` + testKey + `,"api_base":"https://a.example/v1"}`, "api_base"},
		{money.Test, `{` + testKey + `,"api_base":"https://u:p@a.example"}`, "api_base"},
		{money.Test, `{` + testKey + `,"api_base":"a.example"}`, "api_base"},
		{money.Test, `{` + testKey + `,"statement_descriptor":"1234"}`, "statement_descriptor"},
		{money.Test, `{` + testKey + `,"statement_descriptor":"A*B"}`, "statement_descriptor"},
		{money.Test, `{` + testKey + `,"statement_descriptor":"МАГАЗИН A"}`, "statement_descriptor"},
		{money.Test, `{` + testKey + `,"statement_descriptor":"ABCDEFGHIJKLMNOPQRSTUVW"}`, "statement_descriptor"},
	} {
		_, err := makeTerminal(test.env, test.text)
		var refusal *ledger.Refusal
		field := ""
		if errors.As(err, &refusal) {
			field = strings.TrimPrefix(refusal.Field, "provider_params.")
		}
		if field != test.want || (err == nil) != (test.want == "") {
			t.Errorf("%v %s: %v, want a refusal of %q", test.env, test.text, err, test.want)
		}
	}
}

func TestDefaultsOfParameters(t *testing.T) {
	made, err := makeTerminal(money.Test, `{"secret_key":"sk_test_a"}`)
	if err != nil {
		t.Fatal(err)
	}
	if c := *made.Parameters.(*stripe.Connection); c != (stripe.Connection{SecretKey: "sk_test_a", SavesCards: true, PollSeconds: 60}) {
		t.Errorf("read %#v", struct{ stripe.Connection }{c})
	}
	if !made.IsRemote() {
		t.Error("it calls no server")
	}
}

func TestConnectionIsRedactedWhenPrinted(t *testing.T) {
	c := stripe.Connection{SecretKey: secretKey, WebhookSecret: webhookSecret}
	log := new(testkit.Output)
	slog.New(slog.NewTextHandler(log, nil)).Info("x", "c", c, "p", &c)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		fmt.Fprintf(log, verb, c)
		fmt.Fprintf(log, verb, &c)
	}
	if strings.Contains(log.String(), "canary") || strings.Contains(log.String(), fmt.Sprintf("%x", "canary")) {
		t.Errorf("printed %s", log)
	}
}
