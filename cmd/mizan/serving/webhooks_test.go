package serving

import (
	"path/filepath"
	"regexp"
	"testing"

	"mizan/internal/testkit"
)

// createPartnerWithWebhook creates a partner whose notifications go to address. It returns the HTTP status of the response.
func createPartnerWithWebhook(t *testing.T, admin *testkit.Client, login, address string) int {
	t.Helper()
	answer, err := admin.Post("/api/v1/partners", map[string]string{"name": "n", "login": login, "pass": "a-Heron-waits-7", "notify_url": address})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status
}

func TestOnlyASandboxNotifiesPrivateAddressesByDefault(t *testing.T) {
	const privateAddress = "http://127.0.0.1:9/hook"
	s := testkit.Start(t, testkit.Options{})
	if got := createPartnerWithWebhook(t, s.Admin(), "first", privateAddress); got != 201 {
		t.Errorf("in the sandbox: %d", got)
	}
	s.Stop()
	s.Restart("--allow-private-webhooks=false")
	if got := createPartnerWithWebhook(t, s.Admin(), "second", privateAddress); got != 422 {
		t.Errorf("in a sandbox with --allow-private-webhooks=false: %d", got)
	}

	keyringFile := filepath.Join(t.TempDir(), "keyring")
	if r := testkit.Run(t, nil, "keyring", keyringFile); r.Exit != 0 {
		t.Fatal(r.Stderr)
	}
	flags := []string{"--tls", "off", "--keyring", keyringFile}
	plainServer := testkit.Start(t, testkit.Options{WithoutSandbox: true, Flags: flags})
	token := regexp.MustCompile(`mza_\S+`).FindString(plainServer.Stdout())
	admin := plainServer.Anyone().With("authorization", "Bearer "+token)
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
		return plainServer.Anyone().With("authorization", "Bearer "+token, "x-organization-id", organization.Data.ID)
	}
	if got := createPartnerWithWebhook(t, newClient(), "first", privateAddress); got != 422 {
		t.Errorf("outside the sandbox: %d", got)
	}
	if got := createPartnerWithWebhook(t, newClient(), "first", "http://shop.example/hook"); got != 201 {
		t.Errorf("the internet: %d", got)
	}
	plainServer.Stop()
	plainServer.Restart(append(flags, "--allow-private-webhooks")...)
	if got := createPartnerWithWebhook(t, newClient(), "second", privateAddress); got != 201 {
		t.Errorf("outside the sandbox, with --allow-private-webhooks: %d", got)
	}
}
