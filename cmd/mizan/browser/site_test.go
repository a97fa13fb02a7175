package browser_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mizan/internal/testkit"
)

// site is a sandbox server, a merchant's web server and a browser, which a test uses together.
type site struct {
	*testkit.Server
	browser  context.Context
	merchant *merchant
	picture  string          // URL of an uploaded picture
	methods  *testkit.Client // API client of the partner with a fee for each method; nil unless prepareMethods has run
	expired  string          // URL of a checkout that has expired; empty unless prepareExpired has run

	payerIPs atomic.Uint32 // number of payers' IP addresses that are in use
	txids    atomic.Uint32

	mu       sync.Mutex
	headings map[string]string // guarded by mu: the headings of pages, by page and language
}

// newSite starts a server with a merchant who has a brand. The server's business clock moves only when the test moves it.
func newSite(t *testing.T) *site {
	t.Helper()
	browser := startBrowser(t)
	s := &site{browser: browser, merchant: newMerchant(t), headings: make(map[string]string)}
	s.Server = testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual", "--trusted-proxies", trustedProxies}})
	s.picture = s.upload(t, s.Partner(), picturePNG(t))
	s.brand(t, s.Admin(), s.Sandbox.PartnerID, `{"display_name":"Tea & Co","logo":"`+s.picture+`","color":"#0b5cad","support_email":"help@shop.example","terms_url":"https://shop.example/terms"}`)
	return s
}

func (s *site) brand(t *testing.T, c *testkit.Client, partner int64, branding string) {
	t.Helper()
	s.send(t, c, "PATCH", "/partners/"+strconv.FormatInt(partner, 10), `{"branding":`+branding+`}`, http.StatusOK)
}

// newPayerIP returns a new IP address for a payer. The server bounds what one address may do in a minute.
func (s *site) newPayerIP() string {
	n := s.payerIPs.Add(1)
	return fmt.Sprintf("203.0.%d.%d", n>>8, n&255)
}

// advance moves the business clock. When it returns, the server has done all work that became due.
func (s *site) advance(t *testing.T, d time.Duration) {
	t.Helper()
	s.send(t, s.Admin(), "PUT", "/sandbox/clock", fmt.Sprintf(`{"advance_seconds":%d}`, int(d.Seconds())), http.StatusOK)
}

// object is a JSON object.
type object map[string]any

// at returns a member's value as text. path is the names and indices that lead to the member, such as data.0.id. If there is no
// such member, the text is empty.
func (o object) at(path string) string {
	var value any = map[string]any(o)
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(v) {
				return ""
			}
			value = v[i]
		default:
			return ""
		}
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// send sends a request to the API and checks that the response has this status. path is relative to the prefix of the API's
// paths.
func (s *site) send(t testing.TB, c *testkit.Client, method, path string, body any, status int) object {
	t.Helper()
	answer, err := c.Do(method, "/api/v1"+path, body)
	testkit.WantStatus(t, answer, err, status)
	var o object
	decoder := json.NewDecoder(bytes.NewReader(answer.Body))
	decoder.UseNumber()
	if err := decoder.Decode(&o); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return o
}

// link creates a payment link for the first partner, and returns the link's id and URL.
func (s *site) link(t testing.TB, fields, amount, kind string) (id, address string) {
	t.Helper()
	created := s.send(t, s.Partner(), "POST", "/links", `{`+fields+`"env":"test","amount":{`+amount+`},"amount_type":"`+kind+`","pay_config":{},`+
		`"return_url":"`+s.merchant.address("/ok")+`","fail_url":"`+s.merchant.address("/failed")+`"}`, http.StatusCreated)
	return created.at("data.id"), created.at("data.url")
}

// product creates a product for the first partner, and returns the product's id and URL.
func (s *site) product(t testing.TB, fields string) (id, address string) {
	t.Helper()
	created := s.send(t, s.Partner(), "POST", "/products", `{`+fields+`"header":"Green tea","text":"Picked by hand, dried in the shade.","image":"`+s.picture+`","env":"test"}`, http.StatusCreated)
	return created.at("data.id"), created.at("data.url")
}

// hosted creates a transaction with a checkout page, and returns the transaction's id and the URL of the page.
func (s *site) hosted(t testing.TB, kind, fields string) (id, address string) {
	t.Helper()
	created := s.create(t, s.Partner(), kind, `"hosted":true,`+fields)
	return created.at("id"), created.at("widget_url")
}

// create creates a transaction with a new txid and with the merchant's return URLs.
func (s *site) create(t testing.TB, c *testkit.Client, kind, fields string) object {
	t.Helper()
	return s.send(t, c, "POST", "/transactions", `{"params":{"env":"test","type":"`+kind+`","txid":"order-`+strconv.Itoa(int(s.txids.Add(1)))+`",`+fields+
		`,"returnUrl":"`+s.merchant.address("/ok")+`","failUrl":"`+s.merchant.address("/failed")+`"}}`, http.StatusCreated)
}

// status returns a transaction's status.
func (s *site) status(t testing.TB, id string) string {
	t.Helper()
	return s.send(t, s.Partner(), "GET", "/transactions/"+id, nil, http.StatusOK).at("status")
}

// available returns the first partner's available balance in a currency, in minor units.
func (s *site) available(t testing.TB, currency string) int64 {
	t.Helper()
	text := s.send(t, s.Partner(), "GET", "/balances?env=test&currency="+currency, nil, http.StatusOK).at("data.0.available")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("balance of %s: %v", currency, err)
	}
	return n
}

// upload uploads a picture and returns its URL.
func (s *site) upload(t testing.TB, c *testkit.Client, content []byte) string {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("image", "picture.png")
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.send(t, c.With("content-type", form.FormDataContentType()), "POST", "/images", body.Bytes(), http.StatusCreated).at("data.url")
}

// picturePNG returns a picture of a leaf on a plain background.
func picturePNG(t testing.TB) []byte {
	t.Helper()
	const side = 160
	picture := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{color.RGBA{0xdd, 0xee, 0xdd, 0xff}, color.RGBA{0x2e, 0x7d, 0x32, 0xff}})
	for y := range side {
		for x := range side {
			if nearTop, nearBottom := x*x+y*y, (side-x)*(side-x)+(side-y)*(side-y); nearTop < side*side && nearBottom < side*side {
				picture.SetColorIndex(x, y, 1)
			}
		}
	}
	var content bytes.Buffer
	if err := png.Encode(&content, picture); err != nil {
		t.Fatal(err)
	}
	return content.Bytes()
}
