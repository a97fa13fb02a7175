package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/tink-crypto/tink-go/v2/aead/xchacha20poly1305"
	"github.com/tink-crypto/tink-go/v2/insecuresecretdataaccess"
)

// canary is the secret of these tests, a card number. No output may contain it.
const canary = "4000000000000002"

func printInEveryWay(value any) string {
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%T: %v", "%08.3f", "%c", "%U"} {
		if strings.Count(verb, "%") == 2 {
			fmt.Fprintf(&out, verb+"\n", value, value)
			continue
		}
		fmt.Fprintf(&out, verb+"\n", value)
	}
	fmt.Fprintln(&out, value, []any{value}, map[string]any{"k": value}, struct{ V any }{value})
	slog.New(slog.NewTextHandler(&out, nil)).Info("m", "k", value, slog.Group("g", "k", value))
	slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "k", value, "list", []any{value})
	encoded, err := json.Marshal(map[string]any{"k": value})
	fmt.Fprintln(&out, string(encoded), err)
	return out.String()
}

// leaks tells whether the output contains the secret, as text, as hex, or as a list of byte values.
func leaks(output, secret string) bool {
	numbers := strings.Trim(fmt.Sprint([]byte(secret)), "[]")
	for _, form := range []string{secret, fmt.Sprintf("%x", secret), numbers, strings.ReplaceAll(numbers, " ", ",")} {
		if strings.Contains(strings.ToLower(output), form) {
			return true
		}
	}
	return false
}

func TestSecretsPrintRedactedWithEveryVerb(t *testing.T) {
	card := Card{Number: []byte(canary), Holder: []byte(canary), ExpMonth: []byte("12"), ExpYear: []byte("2030"), CVV: []byte(canary)}
	keyring := createKeyring(t)
	signingKey := keyringField(t, keyring, fieldSigningKey)
	primary, err := keyring.sealingKeys.Primary()
	if err != nil {
		t.Fatal(err)
	}
	sealingKey := string(primary.Key().(*xchacha20poly1305.Key).KeyBytes().Data(insecuresecretdataaccess.Token{}))
	pageTokens := keyring.PageTokens()
	for _, c := range []struct {
		name   string
		value  any
		secret string
	}{
		{"card", card, canary},
		{"card pointer", &card, canary},
		{"text", Text(canary), canary},
		{"text in an exported field", struct{ Key Text }{Text(canary)}, canary},
		{"keyring", keyring, signingKey},
		{"keyring value", *keyring, signingKey},
		{"keyring's fingerprint key", *keyring, string(keyring.fingerprintKey)},
		{"keyring's sealing key", keyring, sealingKey},
		{"keyring value's sealing key", *keyring, sealingKey},
		{"page tokens", pageTokens, string(pageTokens.key)},
		{"page tokens' value", *pageTokens, string(pageTokens.key)},
	} {
		t.Run(c.name, func(t *testing.T) {
			output := printInEveryWay(c.value)
			if leaks(output, c.secret) {
				t.Errorf("the secret shows in\n%s", output)
			}
			if !strings.Contains(output, Redacted) {
				t.Errorf("no %s in\n%s", Redacted, output)
			}
		})
	}
}

func TestLeaksFindsAPrintedSecret(t *testing.T) {
	for _, output := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprint([]byte(canary)), fmt.Sprintf("%X", canary)} {
		if !leaks("x"+output+"y", canary) {
			t.Errorf("leaks misses %q", output)
		}
	}
}

func TestWipeOverwritesTheBytesInPlace(t *testing.T) {
	number, cvv := []byte(canary), []byte("123")
	card := &Card{Number: number, CVV: cvv}
	card.Wipe()
	if !bytes.Equal(number, make([]byte, len(canary))) || !bytes.Equal(cvv, make([]byte, 3)) {
		t.Errorf("the bytes are still there: %q %q", number, cvv)
	}
	if card.Number != nil || card.CVV != nil {
		t.Error("a wiped card is not empty")
	}
	(*Card)(nil).Wipe()
}

func TestTextIsRevealedOnlyByConversion(t *testing.T) {
	if got := string(Text("hunter2")); got != "hunter2" {
		t.Errorf("string(Text) = %q", got)
	}
	var decoded struct{ Pass Text }
	if err := json.Unmarshal([]byte(`{"Pass":"hunter2"}`), &decoded); err != nil || string(decoded.Pass) != "hunter2" {
		t.Errorf("decoded %q, %v", string(decoded.Pass), err)
	}
}
