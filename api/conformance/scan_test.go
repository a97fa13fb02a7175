package conformance_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Tests of the payer's page for sbp, qr_code and crypto.

var (
	codeBox   = regexp.MustCompile(`<svg class="qr" viewBox="0 0 (\d+) (\d+)"`)
	codePath  = regexp.MustCompile(`<path d="([^"]+)"`)
	shownSum  = regexp.MustCompile(`<p class="sum[^"]*"><bdi[^>]*>([^<]*)</bdi></p>`)
	shownTime = regexp.MustCompile(`role="timer"[^>]*>([^<]*)<`)
	shownText = regexp.MustCompile(`<dt>([^<]*)</dt><dd[^>]*>(?:<bdi[^>]*>)?([^<]*)`)
)

// decodeQRCode returns the content of the page's QR code. It uses the program zbarimg to decode the code; without this
// program it returns ifMissing.
func decodeQRCode(t testing.TB, body, ifMissing string) string {
	t.Helper()
	zbarimg, err := exec.LookPath("zbarimg")
	if err != nil {
		t.Log("NOT TRIED: no zbarimg here (Debian's zbar-tools), the QR code is not read back")
		return ifMissing
	}
	box, path := codeBox.FindStringSubmatch(body), codePath.FindStringSubmatch(body)
	if box == nil || path == nil || box[1] != box[2] {
		t.Fatalf("no QR code in %s", body)
	}
	var side int
	if _, err := fmt.Sscan(box[1], &side); err != nil {
		t.Fatal(err)
	}
	const scale = 4
	picture := image.NewGray(image.Rect(0, 0, side*scale, side*scale))
	for i := range picture.Pix {
		picture.Pix[i] = 0xff
	}
	for run := range strings.SplitSeq(strings.TrimPrefix(path[1], "M"), "M") {
		var x, y, n, back int
		if _, err := fmt.Sscanf(run, "%d %dh%dv1h-%dz", &x, &y, &n, &back); err != nil || n != back {
			t.Fatalf("%q is no run of dark modules: %v", run, err)
		}
		for px := x * scale; px < (x+n)*scale; px++ {
			for py := y * scale; py < (y+1)*scale; py++ {
				picture.SetGray(px, py, color.Gray{})
			}
		}
	}
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, picture); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "code.png")
	if err := os.WriteFile(file, encoded.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := exec.Command(zbarimg, "--quiet", "--raw", "-Sdisable", "-Sqrcode.enable", file).Output()
	if err != nil {
		t.Fatalf("zbarimg: %v", err)
	}
	return strings.TrimSuffix(string(read), "\n")
}

// parseTerms returns the terms in a page's description lists with their values. It adds the page's amount as "Sum" and the
// remaining time as "Time left".
func parseTerms(body string) map[string]string {
	text := make(map[string]string)
	for _, pair := range shownText.FindAllStringSubmatch(body, -1) {
		text[pair[1]] = unescape(pair[2])
	}
	for name, pattern := range map[string]*regexp.Regexp{"Sum": shownSum, "Time left": shownTime} {
		if found := pattern.FindStringSubmatch(body); found != nil {
			text[name] = unescape(found[1])
		}
	}
	return text
}

func TestPageShowsAScannableQRCode(t *testing.T) {
	merchant, p := sandboxMerchant(t), payer{t}
	for _, kind := range []string{"sbp", "qr_code"} {
		for _, create := range []params{paymentWith(params{"type": kind}), payout(good, "money_storage", params{"type": kind})} {
			r := merchant.create(create).has("status", "action_required")
			page := p.open(r.at("simple_auth_redirect_url")).want(200)
			if text := parseTerms(page.body); text["Sum"] != "$10.00" || text["Time left"] != "30 minutes left" || text["Address"] != "" {
				t.Errorf("%s: the page says %v", kind, text)
			}
			// The payer approves on a phone, which has opened the address in the code. Then the first page shows the
			// new state.
			phone := p.open(decodeQRCode(t, page.body, page.address)).want(200)
			done := p.send(phone, "decision", "approve")
			if address, _ := create["returnUrl"].(string); address != "" {
				done.wantRedirectedTo(address)
			} else {
				done.want(200) // the recipient of a payout stays on the page
			}
			merchant.read(r.at("id")).has("status", "charged")
			if end := p.open(r.at("simple_auth_redirect_url")); strings.Contains(end.body, `class="qr"`) || end.status != 200 {
				t.Errorf("%s: once it is paid the page is %d %s", kind, end.status, end.body)
			}
		}
	}
}

func TestCryptoPaymentPageShowsAddressAmountAndTimeLeft(t *testing.T) {
	merchant, p := newMerchantWithTerminals(t, `{}`), payer{t}
	seen := make(map[string]bool)
	for network, amount := range map[string]string{"tron": "1.234567", "bsc": "0.000000000001234567"} {
		r := merchant.create(paymentWith(params{"type": "crypto"}, "currency", "USDT", "network", network, "amount", "1234567"))
		page := p.open(r.at("simple_auth_redirect_url")).want(200)
		text := parseTerms(page.body)
		if text["Amount"] != amount || text["Sum"] != "USDT "+amount+" ("+network+")" || text["Time left"] != "30 minutes left" || text["Address"] == "" || seen[text["Address"]] {
			t.Errorf("%s: the page says %v", network, text)
		}
		seen[text["Address"]] = true
		if read := decodeQRCode(t, page.body, text["Address"]); read != text["Address"] {
			t.Errorf("the code is of %q, and the address %q", read, text["Address"])
		}
		advance(t, 7*60+5)
		if later := parseTerms(p.open(r.at("simple_auth_redirect_url")).body); later["Time left"] != "22 minutes left" || later["Address"] != text["Address"] {
			t.Errorf("7 minutes and 5 seconds later the page says %v", later)
		}
		p.send(p.open(r.at("simple_auth_redirect_url")), "decision", "refuse").wantRedirectedTo(failURL)
		merchant.read(r.at("id")).has("status", "rejected", "error_code", "authentication_failed")
	}
	r := merchant.create(paymentWith(params{"type": "crypto"}, "currency", "USDT", "network", "tron"))
	advance(t, 20*60)
	page := p.open(merchant.read(r.at("id")).at("simple_auth_redirect_url"))
	if text := parseTerms(page.body); text["Time left"] != "10 minutes left" {
		t.Errorf("the page says %v", text)
	}
	advance(t, 10*60)
	merchant.read(r.at("id")).has("status", "rejected", "error_code", "payer_action_expired", "simple_auth_redirect_url", absent)
	if over := p.open(page.address); strings.Contains(over.body, `class="qr"`) || strings.Contains(over.body, "simulated-") {
		t.Errorf("past the payer's time the page shows %s", over.body)
	}
}

// The page loads nothing and runs only its own script: the code is an inline picture.
func TestQRCodePageLoadsNothingElse(t *testing.T) {
	m, p := sandboxMerchant(t), payer{t}
	for _, kind := range []string{"sbp", "crypto"} {
		page := p.open(m.create(paymentWith(params{"type": kind})).at("simple_auth_redirect_url")).want(200)
		if policy := page.header.Get("content-security-policy"); !strings.HasPrefix(policy, "default-src 'none'; base-uri 'none'; require-trusted-types-for 'script'; script-src 'sha256-") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("its policy is %s", policy)
		}
		for _, needs := range []string{"<script>", "<script src", "<img", " src=", " style=", "<link", "@import"} {
			if strings.Contains(page.body, needs) {
				t.Errorf("%s: the page has %s", kind, needs)
			}
		}
	}
}
