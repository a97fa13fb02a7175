package directory

import (
	"bytes"
	"crypto/rand"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Parameters of a terminal and its partner. Each canary is a secret that must not be found in a stored row.
const (
	terminalCanary = "canary-of-the-terminal"
	previousCanary = "canary-of-its-former"
	partnerCanary  = "canary-of-the-partner"
	providerCanary = "canary-of-another-provider"

	merchantParams = `{"notify_url":"https://shop.example/hook","secret":"` + terminalCanary + `","secret_previous":"` + previousCanary + `","emails_to_notify":["a@shop.example"]}`
	providerParams = `{"priority":4,"api_key":"` + providerCanary + `"}`
	partnerAddress = "https://shop.example/partner"
)

// newSigningPair creates a partner and its terminal, each with a notification address and a signing secret.
func (f *fixture) newSigningPair() (*directory.Partner, *directory.Terminal) {
	f.t.Helper()
	p := must(f.CreatePartner(f.t.Context(), f.newOrganization("A").ID, directory.Partner{
		Name: "a", Login: "a", NotifyURL: partnerAddress, Secret: partnerCanary, Active: true,
	}, []byte("nine-Lions-paint")))
	return p, must(f.CreateTerminal(f.t.Context(), p.Org, directory.Terminal{
		Partner: p.Number, Name: "T", Provider: directory.Simulator, Type: directory.PaymentTerminal,
		ProviderParams: []byte(providerParams), MerchantParams: []byte(merchantParams), Env: money.Prod, Active: true,
	}))
}

// wantAddresses checks the notification addresses and signing secrets of the partner and its terminal.
func (f *fixture) wantAddresses(p *directory.Partner, t *directory.Terminal, terminalSecret, previousSecret, partnerSecret string) {
	f.t.Helper()
	for _, c := range []struct {
		to   ledger.ID
		want actors.Address
	}{
		{t.ID, actors.Address{URL: "https://shop.example/hook", Secret: terminalSecret, PreviousSecret: previousSecret}},
		{p.ID, actors.Address{URL: partnerAddress, Secret: partnerSecret}},
	} {
		if got, hasAddress := f.Address(p.Org, c.to); !hasAddress || got != c.want {
			f.t.Errorf("notifications go to %s, signed with %q and %q, want %+v", got.URL, got.Secret, got.PreviousSecret, c.want)
		}
	}
}

// stored returns a record as it is stored.
func (f *fixture) stored(org ledger.ID, source ledger.Source) []byte {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	r, found, err := v.Record(org, source)
	if err != nil || !found {
		f.t.Fatal(found, err)
	}
	return bytes.Clone(r.Payload)
}

// countPlaintext counts the organization's rows that contain the text unencrypted.
func (f *fixture) countPlaintext(org ledger.ID, text string) (n int) {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	for s := posting.Blocks; s <= posting.SealedRows; s++ {
		err := v.Rows(org, s, func(_, row []byte) (bool, error) {
			if bytes.Contains(row, []byte(text)) {
				n++
			}
			return true, nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return n
}

func TestSigningSecretsAreSealed(t *testing.T) {
	f := open(t)
	p, terminal := f.newSigningPair()
	name := "renamed"
	for range 2 {
		for _, canary := range []string{terminalCanary, previousCanary, partnerCanary, providerCanary} {
			if n := f.countPlaintext(p.Org, canary); n != 0 {
				t.Errorf("%d rows have %s", n, canary)
			}
		}
		if f.countPlaintext(p.Org, partnerAddress) == 0 || f.countPlaintext(p.Org, "https://shop.example/hook") == 0 {
			t.Error("a text that is not sealed is not found either: the test reads no rows")
		}
		f.restart()
		f.wantAddresses(p, terminal, terminalCanary, previousCanary, partnerCanary)
		found, _ := f.Terminal(p.Org, terminal.ID)
		if string(found.MerchantParams) != merchantParams || string(found.ProviderParams) != providerParams || found.Settings.Priority != 4 {
			t.Error("what was sealed is not what is opened")
		}
		must(f.PatchTerminal(t.Context(), p.Org, terminal.ID, func(r *directory.Terminal, _ *schema.Faults) { r.Name = name }))
		must(f.PatchPartner(t.Context(), p.Org, p.Number, func(r *directory.Partner, _ *schema.Faults) { r.Name = name }))
	}
}

// The cached reply to a write with an idempotency key is sealed as a whole.
func TestStoredReplyIsSealed(t *testing.T) {
	f := open(t)
	p, _ := f.newSigningPair()
	next := "canary-of-the-next"
	ctx := WithCachedReply(t.Context(), adminKey("k"), func(made any) CachedReply {
		return CachedReply{Status: 200, Body: []byte(made.(*directory.Partner).Secret)}
	})
	must(f.PatchPartner(ctx, p.Org, p.Number, func(r *directory.Partner, _ *schema.Faults) { r.Secret = next }))
	for _, org := range []ledger.ID{p.Org, directory.PlatformOrg} {
		if n := f.countPlaintext(org, next); n != 0 {
			t.Errorf("%d rows have the secret", n)
		}
	}
	if a, found, err := f.FindCachedReply(adminKey("k")); err != nil || !found || string(a.Body) != next {
		t.Errorf("the answer is not kept: %v %v", found, err)
	}
}

// If a row was moved to another record, its secrets cannot be decrypted, and the row is read without them.
func TestSealedSecretOpensInItsRecordOnly(t *testing.T) {
	f := open(t)
	p, terminal := f.newSigningPair()
	for what, at := range map[string][2]ledger.ID{"another record": {p.Org, uuid.New()}, "another organization": {uuid.New(), terminal.ID}} {
		moved, err := readAt(f.Service, terminals, at[0], at[1], f.payload(terminal))
		if err != nil || moved.Notification.Secret != "" || moved.Notification.SecretPrevious != "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, at := range map[string][2]ledger.ID{"another record": {p.Org, uuid.New()}, "another organization": {uuid.New(), p.ID}} {
		moved, err := readAt(f.Service, partners, at[0], at[1], f.stored(p.Org, ledger.Source{Kind: ledger.Partner, ID: p.ID}))
		if err != nil || moved.Secret != "" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// After the loss of the keyring only the secrets are unreadable.
func TestSecretsThatDoNotOpenCanBeSetAgain(t *testing.T) {
	f := open(t)
	p, terminal := f.newSigningPair()
	f.sealer = must(secret.CreateKeyring(filepath.Join(t.TempDir(), "another"), rand.Reader))
	f.restart()
	f.wantAddresses(p, terminal, "", "", "")
	found, _ := f.Terminal(p.Org, terminal.ID)
	masked := bytes.Clone(found.MerchantParams)
	_, err := f.PatchTerminal(t.Context(), p.Org, terminal.ID, func(r *directory.Terminal, _ *schema.Faults) { r.MerchantParams = masked })
	wantCode(t, "a mask of what does not open", err, ledger.Invalid, "merchant_params.secret")
	name := "renamed"
	must(f.PatchTerminal(t.Context(), p.Org, terminal.ID, func(r *directory.Terminal, _ *schema.Faults) { r.Name = name }))
	must(f.PatchPartner(t.Context(), p.Org, p.Number, func(r *directory.Partner, _ *schema.Faults) { r.Name = name }))
	f.restart()
	f.wantAddresses(p, terminal, "", "", "")
	params, newSecret := []byte(merchantParams), partnerCanary
	must(f.PatchTerminal(t.Context(), p.Org, terminal.ID, func(r *directory.Terminal, _ *schema.Faults) { r.MerchantParams = params }))
	must(f.PatchPartner(t.Context(), p.Org, p.Number, func(r *directory.Partner, _ *schema.Faults) { r.Secret = newSecret }))
	f.restart()
	f.wantAddresses(p, terminal, terminalCanary, previousCanary, partnerCanary)
}

func TestSecretsAreRefusedWithoutAKeyring(t *testing.T) {
	f := open(t)
	p, terminal := f.newSigningPair()
	f.sealer = NoKeys
	f.restart()
	params, next := []byte(merchantParams), "next"
	_, err := f.PatchTerminal(t.Context(), p.Org, terminal.ID, func(r *directory.Terminal, _ *schema.Faults) { r.MerchantParams = params })
	wantCode(t, "a terminal's secret", err, ledger.Unavailable, "")
	_, err = f.PatchPartner(t.Context(), p.Org, p.Number, func(r *directory.Partner, _ *schema.Faults) { r.Secret = next })
	wantCode(t, "a partner's secret", err, ledger.Unavailable, "")
}
