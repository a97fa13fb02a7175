package serving

import (
	"path/filepath"
	"regexp"
	"testing"

	"mizan/internal/testkit"
)

// newPartnerWithHook creates a partner with a notification address and returns the status of the
// response.
func newPartnerWithHook(t *testing.T, admin *testkit.Client, login, address string) int {
	t.Helper()
	answer, err := admin.Post("/api/v1/partners", map[string]string{"name": "n", "login": login, "pass": "a-Heron-waits-7", "notify_url": address})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status
}

func TestOnlyASandboxNotifiesPrivateAddressesByDefault(t *testing.T) {
	const private = "http://127.0.0.1:9/hook"
	s := testkit.Start(t, testkit.Options{})
	if got := newPartnerWithHook(t, s.Admin(), "first", private); got != 201 {
		t.Errorf("in the sandbox: %d", got)
	}
	s.Stop()
	s.Restart("--allow-private-webhooks=false")
	if got := newPartnerWithHook(t, s.Admin(), "second", private); got != 422 {
		t.Errorf("in a sandbox that is told: %d", got)
	}

	keys := filepath.Join(t.TempDir(), "keyring")
	if r := testkit.Run(t, nil, "keyring", keys); r.Exit != 0 {
		t.Fatal(r.Stderr)
	}
	flags := []string{"--tls", "off", "--keyring", keys}
	bare := testkit.Start(t, testkit.Options{Bare: true, Flags: flags})
	token := regexp.MustCompile(`mza_\S+`).FindString(bare.Stdout())
	admin := bare.Anyone().With("authorization", "Bearer "+token)
	created, err := admin.Post("/api/v1/organizations", map[string]string{"name": "Shop"})
	testkit.WantStatus(t, created, err, 201)
	var organization struct {
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := created.JSON(&organization); err != nil {
		t.Fatal(err)
	}
	newClient := func() *testkit.Client {
		return bare.Anyone().With("authorization", "Bearer "+token, "x-organization-id", organization.Data.ID)
	}
	if got := newPartnerWithHook(t, newClient(), "first", private); got != 422 {
		t.Errorf("outside the sandbox: %d", got)
	}
	if got := newPartnerWithHook(t, newClient(), "first", "http://shop.example/hook"); got != 201 {
		t.Errorf("the internet: %d", got)
	}
	bare.Stop()
	bare.Restart(append(flags, "--allow-private-webhooks")...)
	if got := newPartnerWithHook(t, newClient(), "second", private); got != 201 {
		t.Errorf("outside the sandbox, where it is told: %d", got)
	}
}
