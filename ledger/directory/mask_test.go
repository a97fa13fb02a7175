package directory

import (
	"errors"
	"slices"
	"testing"

	"mizan/ledger"
)

func TestOnlyMasksAreReplacedByStoredSecrets(t *testing.T) {
	const stored = `{"api_key":"k1","webhook_secret":"s1","base_url":"b1","description":"d1"}`
	for sent, want := range map[string]string{
		`{"api_key":"•••"}`: `{"api_key":"k1"}`,
		`{ "webhook_secret" : "\u2022\u2022\u2022", "x": [1, {"api_key":"•••"}] }`: `{"webhook_secret":"s1","x":[1, {"api_key":"•••"}]}`,
		`{"description":"•••","base_url":"•••"}`:                                   `{"description":"•••","base_url":"•••"}`,
		`{"api_key":"k2","webhook_secret":null}`:                                   `{"api_key":"k2","webhook_secret":null}`,
		`{"api_key":"••••"}`:                                                       `{"api_key":"••••"}`,
		`["•••"]`:                                                                  `["•••"]`,
	} {
		if got := string(restoreMasked([]byte(sent), []byte(stored))); got != want {
			t.Errorf("%s becomes %s, want %s", sent, got, want)
		}
	}
	if got := string(restoreMasked([]byte(`{"api_key":"•••"}`), nil)); got != `{"api_key":"•••"}` {
		t.Errorf("a mask without a stored secret becomes %s", got)
	}
}

// A member with the name of a secret is shown as a mask, whatever its depth and type, unless it is null or an empty text.
// If a request sends the mask back, the stored secret replaces it. A mask without a stored secret is refused.
func TestSecretsAreKnownByTheirNames(t *testing.T) {
	const stored = `{"api_secret":"a","API_TOKEN":["b"],"db":{"Password":{"c":1},"user":"u"},"list":[{"private_key":7},{"x":1}],"publishable_key":"pk","empty_secret":"","no_key":null}`
	const shown = `{"api_secret":"•••","API_TOKEN":"•••","db":{"Password":"•••","user":"u"},"list":[{"private_key":"•••"},{"x":1}],"publishable_key":"pk","empty_secret":"","no_key":null}`
	if got := string(Masked([]byte(stored))); got != shown {
		t.Errorf("shown as %s", got)
	}
	if got := string(restoreMasked([]byte(shown), []byte(stored))); got != stored {
		t.Errorf("with restored secrets the object is %s", got)
	}
	if err := checkMasks("op", providerParams, restoreMasked([]byte(shown), []byte(stored))); err != nil {
		t.Errorf("restored secrets are refused: %v", err)
	}
	for sent, want := range map[string]string{
		`{"api_secret":"•••"}`:                "provider_params.api_secret: is not known here: send the secret itself",
		`{"a":[1,{"b":{"token_2":"•••"}}]}`:   "provider_params.a.1.b.token_2: is not known here: send the secret itself",
		`{"publishable_key":"•••","x":"•••"}`: "",
	} {
		got := ""
		if err := checkMasks("op", providerParams, []byte(sent)); err != nil {
			var refusal *ledger.Refusal
			if !errors.As(err, &refusal) {
				t.Fatal(err)
			}
			got = refusal.Field + ": " + refusal.Detail
		}
		if got != want {
			t.Errorf("%s: %q, want %q", sent, got, want)
		}
	}
}

// A parameter is known if the platform or the provider's adapter declares a column for it. There is no other list of known
// parameters.
func TestUnknownParametersAreThoseWithoutAColumn(t *testing.T) {
	params := []byte(`{"priority":1,"Priority":2,"fee_bps":"1","settlement_network":"x","colour":1,"server":"https://a.example","api_key":"k"}`)
	for provider, want := range map[string][]string{Simulator: {"Priority", "api_key", "colour", "server"}, remoteProvider: {"Priority", "colour"}} {
		if got := (&Terminal{Provider: provider, ProviderParams: params}).UnknownParams(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", provider, got, want)
		}
	}
	if got := new(Terminal).UnknownParams(); len(got) != 0 {
		t.Errorf("a terminal without parameters has unknown ones: %v", got)
	}
}
