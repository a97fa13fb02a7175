package api_test

import (
	"net/url"
	"strings"
	"testing"

	"mizan/api"

	"github.com/google/uuid"
)

// The fixture checks the content security policy of every response that a test receives. This test requests the kinds of
// responses that are not pages.
func TestEveryResponseHasAStrictPolicy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	link := strings.TrimPrefix(f.testLink("", `"default":100`, "fixed").at("data.url"), f.base())
	picture := strings.TrimPrefix(f.partner().upload(grayPNG(t, 3, 2)).want(201, "").at("data.url"), f.base())
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/nowhere", 404}, {"DELETE", link, 405}, {"PUT", "/pay/" + uuid.NewString(), 405}, {"PUT", "/simulator/challenge", 405},
		{"GET", "/api/v1/health", 200}, {"GET", "/api/v1/transactions", 401}, {"HEAD", link, 200}, {"GET", link + "/qr.svg", 200}, {"GET", link + "/qr.png", 200},
		{"GET", picture, 200}, {"GET", "/favicon.ico", 200}, {"GET", "/images/x.png", 404}, {"TRACE", "/nowhere", 404},
	} {
		if r := f.anyone().do(c.method, c.path, ""); r.status != c.status {
			t.Errorf("%s %s: %d", c.method, c.path, r.status)
		}
	}
	f.visit("POST", f.base()+link, url.Values{}).wantStatusOf(303)
	f.raw("GET /api/v1/health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 1)
	f.raw("GET / HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("x", 9000)+"\r\n\r\n", 1)
	broken := newFixture(t, func(cfg *api.Config) { cfg.Payments = failingPayments{panic: "broken"} })
	broken.partner().post(transactions, paymentBody(`"amount":"1"`)).want(500, "")
}
