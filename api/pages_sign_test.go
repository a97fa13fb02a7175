package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
	"time"
)

// chain creates a payment whose payer has to sign.
func (h *house) chain() *answer {
	h.t.Helper()
	return h.create(`"type":"payment","amount":"1250","currency":"ETH","money_storage":{"type":"native_gas"}`).is("action_required", "")
}

// signed is the signature of a text (DECISIONS: lower-case hex SHA-256).
func signed(payload string) string {
	digest := sha256.Sum256([]byte(payload))
	return hex.EncodeToString(digest[:])
}

const toSign = "additional_params_for_auth.payload"

func TestWhatIsToBeSignedIsShownAndSigned(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, c := range []struct {
		typed               func(payload string) string
		status, reason, end string
	}{
		{signed, "charged", "", "Paid"},
		{func(p string) string { return "  " + signed(p) + "\n" }, "charged", "", "Paid"},
		{func(p string) string { return strings.ToUpper(signed(p)) }, "rejected", "authentication_failed", "Not paid"},
	} {
		made := h.chain()
		payload := made.at(toSign)
		page := h.browse(made.at("simple_auth_redirect_url")).
			shows(200, "Sign the transfer", "<bdi>"+payload+"</bdi>", "<dt>Sequence number</dt><dd><bdi>1</bdi></dd>", "<dd>1 min 00 s</dd>", `content="61; url=/pay/`)
		action, _ := page.form()
		for _, wrong := range []url.Values{nil, {"signature": {" "}}, {"signature": {strings.Repeat("x", 8<<10+1)}}} {
			h.send(action, wrong).shows(422, "Sign the transfer", "Paste the signature.", payload)
		}
		h.stands(made.at("id")).is("action_required", "")
		h.send(action, url.Values{"signature": {c.typed(payload)}}).shows(200, c.end)
		h.stands(made.at("id")).is(c.status, c.reason)
	}
}

func TestAnExpiredPayloadIsShownAnewOnThePage(t *testing.T) {
	t.Parallel()
	h := open(t)
	made := h.chain()
	door, old := made.at("simple_auth_redirect_url"), made.at(toSign)
	action, _ := h.browse(door).form()
	h.pass(59 * time.Second)
	h.browse(door).shows(200, "Sign the transfer", old, "<dd>0 min 01 s</dd>", `content="2; url=/pay/`)
	h.pass(2 * time.Second)
	// A signature that comes too late leads to what is to be signed now.
	page := h.send(action, url.Values{"signature": {signed(old)}}).shows(200, "Sign the transfer", "<dd><bdi>2</bdi></dd>", "<dd>1 min 00 s</dd>")
	if strings.Contains(page.body, old) {
		t.Errorf("the page still shows %s: %s", old, page.body)
	}
	stands := h.stands(made.at("id")).is("action_required", "")
	if stands.at("additional_params_for_auth.sequence") != "2" || !strings.Contains(page.body, stands.at(toSign)) {
		t.Errorf("%s", stands.body)
	}
	h.send(action, url.Values{"signature": {signed(stands.at(toSign))}}).shows(200, "Paid")
	h.stands(made.at("id")).is("charged", "")
}

// The last sequence number lasts no longer than the payer's time.
func TestThePayersTimeEndsWhatIsToBeSigned(t *testing.T) {
	t.Parallel()
	h := open(t)
	made := h.chain()
	h.pass(actionTTL - 30*time.Second)
	door := h.stands(made.at("id")).at("simple_auth_redirect_url")
	h.browse(door).shows(200, "Sign the transfer", "<dd>0 min 30 s</dd>", `content="31; url=/pay/`)
	h.pass(30 * time.Second)
	h.browse(door).shows(200, "Not paid", "The time was over before you acted.")
}
