package directory

import "testing"

func TestAnEmptyAddressOrSecretOfATerminalIsRefused(t *testing.T) {
	base := TerminalDraft{Name: "T", Provider: Simulator, Type: PaymentTerminal}
	plain, _, err := NewTerminal(testID(1), owner, base)
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
		_, _, err := NewTerminal(testID(2), owner, draft)
		wantField(t, "create with "+text, err, field)
		_, _, err = plain.Patch(TerminalPatch{MerchantParams: &params})
		wantField(t, "patch to "+text, err, field)
	}
}

// Each is stored as an earlier release took it.
func TestAnEmptyAddressOrSecretThatIsStoredMayBeSentBack(t *testing.T) {
	for _, key := range []string{"notify_url", "secret", "secret_previous"} {
		stored := &Terminal{ID: testID(1), Type: MerchantTerminal, Name: "T", Env: 1, MerchantParams: []byte(`{"` + key + `":"","emails_to_notify":[]}`)}
		if err := stored.Reparse(); err != nil {
			t.Fatal(err)
		}
		same := append([]byte(nil), stored.MerchantParams...)
		if next, event, err := stored.Patch(TerminalPatch{MerchantParams: &same}); err != nil || next != stored || event.Name != "" {
			t.Errorf("%s: what is stored is not taken back: %v", key, err)
		}
		more := []byte(`{"` + key + `":"","emails_to_notify":["a@shop.example"]}`)
		if _, _, err := stored.Patch(TerminalPatch{MerchantParams: &more}); err != nil {
			t.Errorf("%s: another field can't be changed: %v", key, err)
		}
		name := "U"
		if _, _, err := stored.Patch(TerminalPatch{Name: &name}); err != nil {
			t.Errorf("%s: the name can't be changed: %v", key, err)
		}
		gone := []byte(`{"` + key + `":null}`)
		cleared, _, err := stored.Patch(TerminalPatch{MerchantParams: &gone})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = cleared.Patch(TerminalPatch{MerchantParams: &same})
		wantField(t, key+" once it is gone", err, "merchant_params."+key)
	}
}

func TestAMaskInThePlaceOfASecretSignsNothing(t *testing.T) {
	shut := &Terminal{Provider: Simulator, MerchantParams: []byte(`{"notify_url":"https://shop.example/","secret":"` + Mask + `","secret_previous":"` + Mask + `"}`)}
	if err := shut.Reparse(); err != nil {
		t.Fatal(err)
	}
	if n := shut.Notification; n.Secret != "" || n.SecretPrevious != "" || n.NotifyURL != "https://shop.example/" {
		t.Errorf("%q and %q sign what goes to %s", n.Secret, n.SecretPrevious, n.NotifyURL)
	}
}
