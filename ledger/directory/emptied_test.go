package directory

import (
	"testing"

	"mizan/ledger/money"
	"mizan/ledger/schema"
)

func TestAnEmptyAddressOrSecretOfATerminalIsRefused(t *testing.T) {
	base := Terminal{Org: testID(2), Partner: 3, Name: "T", Provider: Simulator, Type: PaymentTerminal, Env: money.Prod, Active: true}
	stored, _, err := NewTerminal(base, false)
	if err != nil {
		t.Fatal(err)
	}
	for text, field := range map[string]string{
		`{"notify_url":""}`:         "merchant_params.notify_url",
		`{"secret": "" }`:           "merchant_params.secret",
		`{"secret_previous":""}`:    "merchant_params.secret_previous",
		`{"notify_url":null}`:       "",
		`{"secret":null}`:           "",
		`{"secret_previous":null}`:  "",
		`{"secret":"s","other":""}`: "",
	} {
		params, draft := []byte(text), base
		draft.MerchantParams = params
		_, _, err := NewTerminal(draft, false)
		wantField(t, "create with "+text, err, field)
		_, _, err = stored.Patch(func(r *Terminal, _ *schema.Faults) { r.MerchantParams = params }, false)
		wantField(t, "patch to "+text, err, field)
	}
}

func TestStoredMaskIsNotUsedAsASecret(t *testing.T) {
	masked := &Terminal{Provider: Simulator, MerchantParams: []byte(`{"notify_url":"https://shop.example/","secret":"` + Mask + `","secret_previous":"` + Mask + `"}`)}
	if err := masked.Reparse(); err != nil {
		t.Fatal(err)
	}
	if n := masked.Notification; n.Secret != "" || n.SecretPrevious != "" || n.NotifyURL != "https://shop.example/" {
		t.Errorf("notifications to %s are signed with %q and %q", n.NotifyURL, n.Secret, n.SecretPrevious)
	}
}
