package conformance_test

import (
	"strings"
	"testing"
)

// The canaries are secrets of a terminal and of a partner, which must not be found in the store. openText is not secret and is
// stored in plaintext. The search must find it, which shows that the search works.
const (
	terminalCanary = "whsec-canary-of-the-terminal"
	formerCanary   = "whsec-canary-of-its-former"
	partnerCanary  = "whsec-canary-of-the-partner"
	openText       = "canary-that-is-no-secret"
)

// wantSealed searches the files in the server's folder and the server's log for the secrets, which must not be there.
func wantSealed(t *testing.T, when, folder, printed string) {
	t.Helper()
	if fileContaining(t, folder, openText) == "" {
		t.Errorf("%s: what is no secret is not found either", when)
	}
	for _, canary := range []string{terminalCanary, formerCanary, partnerCanary} {
		if found := fileContaining(t, folder, canary); found != "" {
			t.Errorf("%s: %s has %s", when, found, canary)
		}
		if strings.Contains(printed, canary) {
			t.Errorf("%s: the log has %s", when, canary)
		}
	}
}

func TestWebhookSecretsAreSealedOnTheDisk(t *testing.T) {
	server, merchant, ad := startOwnServer(t)
	h := newHook(t)
	h.respond(500) // so that deliveries fail, wait and are stored
	step := func(seconds int) { ad.put(v1+"/sandbox/clock", params{"advance_seconds": seconds}).want(200) }
	withKey := func(key string) caller { return ad.with("idempotency-key", key) }
	withKey("partner").patch(v1+"/partners/"+merchant.number, params{"notify_url": h.server.URL + "/" + openText, "secret": partnerCanary}).want(200)
	terminal := withKey("terminal").post(v1+"/terminal", params{
		"name": "T", "partner_id": server.Sandbox.PartnerID, "provider": "simulator", "type": "payment", "env": "test", "provider_params": params{"priority": -1},
		"merchant_params": params{"notify_url": h.server.URL + "/" + openText, "secret": terminalCanary, "secret_previous": formerCanary},
	}).want(201)
	ad.post(v1+"/terminal/"+terminal.at("data.id")+"/test-delivery", nil).want(200)
	merchant.create(payment(good, "txid", "a"))
	step(1)
	wantSealed(t, "at work", server.Dir, server.Stdout()+server.Stderr())
	server.Kill()
	wantSealed(t, "after a kill", server.Dir, server.Stdout()+server.Stderr())
	server.Restart()
	merchant.client, ad.client = server.Partner(), server.Admin()
	withKey("partner").patch(v1+"/partners/"+merchant.number, params{"notify_url": h.server.URL + "/" + openText, "secret": partnerCanary}).want(200)
	h.respond(200)
	step(30)
	seen := h.received()
	last := seen[len(seen)-1]
	want := last.signatureHeaders(terminalCanary)
	want["x-webhook-signature-previous"] = last.signed(formerCanary)
	last.hasHeaders(want)
	if len(seen) != 3 {
		t.Errorf("%d attempts", len(seen))
	}
	if code := server.Stop(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	wantSealed(t, "after a clean stop", server.Dir, server.Stdout()+server.Stderr())
}
