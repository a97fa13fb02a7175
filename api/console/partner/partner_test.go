package partner_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mizan/api/console/consoletest"
	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestPartnerArea runs against one server, because a start takes longer than the tests. The tests make different records.
func TestPartnerArea(t *testing.T) {
	t.Parallel()
	s := testkit.Start(t, testkit.Options{Flags: []string{"--allow-private-webhooks"}})
	for name, test := range map[string]func(*testing.T, *testkit.Server){
		"HomeShowsWhatHappened":            testHomeShowsWhatHappened,
		"HomeWithoutPaymentsTeaches":       testHomeWithoutPaymentsTeaches,
		"PaymentsAreFilteredAndPaged":      testPaymentsAreFilteredAndPaged,
		"PaymentHasATimeline":              testPaymentHasATimeline,
		"RefundIsCheckedAgainstWhatIsLeft": testRefundIsCheckedAgainstWhatIsLeft,
		"HoldIsCapturedOrCancelled":        testHoldIsCapturedOrCancelled,
		"ForeignPaymentIsNotFound":         testForeignPaymentIsNotFound,
		"LinkHasItsAddressAndQRCode":       testLinkHasItsAddressAndQRCode,
		"PictureIsUploaded":                testPictureIsUploaded,
		"SubscriptionIsPausedAndCancelled": testSubscriptionIsPausedAndCancelled,
		"StatementHasRunningBalances":      testStatementHasRunningBalances,
		"SecretIsShownOnce":                testSecretIsShownOnce,
		"NotificationIsSentAgain":          testNotificationIsSentAgain,
		"KeyIsShownOnceAndRevoked":         testKeyIsShownOnceAndRevoked,
		"BrandingIsChanged":                testBrandingIsChanged,
		"AdministratorsSeePayments":        testAdministratorsSeePayments,
		"OtherRolesDoNotOpenThePages":      testOtherRolesDoNotOpenThePages,
		"EveryPageIsInEveryLanguage":       testEveryPageIsInEveryLanguage,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

const (
	payments    = "/console/payments"
	goodCard    = "4242424242424242"
	refusedCard = "4000000000000002"
)

// partner is the browser of the sandbox's first partner.
func partner(t *testing.T, s *testkit.Server) *consoletest.Browser {
	t.Helper()
	return consoletest.As(t, s, "partner").With("Accept-Language", "en")
}

// newPartner makes a partner with a terminal for payments, and returns its browser, a client with its key, and its number.
func newPartner(t *testing.T, s *testkit.Server, login string) (*consoletest.Browser, *testkit.Client, string) {
	t.Helper()
	const pass = "nine-Lions-paint"
	number := fmt.Sprint(created(t, s.Admin(), "/partners", `{"name":"`+login+`","login":"`+login+`","pass":"`+pass+`"}`)["id"])
	key := fmt.Sprint(created(t, s.Admin(), "/api_keys", `{"partner_id":`+number+`,"name":"shop"}`)["key"])
	created(t, s.Admin(), "/terminal", `{"name":"Cards","provider":"simulator","type":"payment","env":"test","partner_id":`+number+`}`)
	b := consoletest.Open(t, s).With("Accept-Language", "en")
	b.LogIn(login, pass).Want(200)
	return b, s.Partner().With("x-api-key", key), number
}

// created makes a record and returns its fields.
func created(t *testing.T, c *testkit.Client, path, body string) map[string]any {
	t.Helper()
	answer, err := c.Post("/api/v1"+path, body)
	testkit.WantStatus(t, answer, err, 201)
	var record map[string]any
	if err := answer.JSON(&record); err != nil {
		t.Fatal(err)
	}
	if data, ok := record["data"].(map[string]any); ok {
		return data
	}
	return record
}

// pay makes a card payment in env test, and returns its id.
func pay(t *testing.T, c *testkit.Client, card, amount, currency string) string {
	t.Helper()
	return fmt.Sprint(created(t, c, "/transactions", `{"params":{"type":"payment","env":"test","amount":"`+amount+`","currency":"`+currency+`","returnUrl":"https://shop.example/ok","failUrl":"https://shop.example/no",`+
		`"money_storage":{"type":"bank_card","cardnumber":"`+card+`","cardholder":"J D","exp_month":"12","exp_year":"2030","cvv":"123"}}}`)["id"])
}

// read returns the API's response to the operator.
func read(t *testing.T, s *testkit.Server, path string) string {
	t.Helper()
	answer, err := s.Admin().Get("/api/v1" + path)
	testkit.WantStatus(t, answer, err, 200)
	return string(answer.Body)
}

func wantInBody(t *testing.T, body string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(body, part) {
			t.Errorf("%s is not in %s", part, body)
		}
	}
}

func testHomeShowsWhatHappened(t *testing.T, s *testkit.Server) {
	b, client, _ := newPartner(t, s, "home")
	for range 3 {
		pay(t, client, goodCard, "1250", "USD")
	}
	pay(t, client, refusedCard, "999", "USD")
	pay(t, client, goodCard, "700", "EUR")
	page := b.Get("/console/?env=test").Want(200, "Home", "Test environment", "Today", "$37.50", "€7.00", "75%", "100%", "Card declined", "Counted up to")
	rows := page.Rows()
	if len(rows) != 30+30+1+2 { // a row for each of 30 days in two currencies, one for the only reason of failure, two for the balances
		t.Errorf("%d rows", len(rows))
	}
	if got := strings.Join(rows[0][1:], "|"); got != "37.50|3|75%|" {
		t.Errorf("today is %q", got)
	}
	b.Get("/console/").Want(200, "No payments in the last 30 days").WantNone("$37.50")
}

func testHomeWithoutPaymentsTeaches(t *testing.T, s *testkit.Server) {
	b, _, _ := newPartner(t, s, "beginner")
	page := b.Get("/console/").Want(200, "No payments in the last 30 days", "Make a payment link")
	if !slices.Contains(page.Links(), "/console/links/new") || !slices.Contains(page.Links(), "/console/keys") {
		t.Errorf("it leads to %q", page.Links())
	}
}

func testPaymentsAreFilteredAndPaged(t *testing.T, s *testkit.Server) {
	b, client, _ := newPartner(t, s, "lists")
	b.Get(payments).Want(200, "There are no payments yet")
	for _, amount := range []string{"100", "200", "300"} {
		pay(t, client, goodCard, amount, "USD")
	}
	pay(t, client, refusedCard, "400", "USD")
	b.Get(payments).Want(200, "There are no payments yet") // in prod
	page := b.Get(payments+"?env=test&limit=2").Want(200, "$4.00", "Rejected", "Card declined", "$3.00").WantNone("$2.00")
	next := page.Links()[slices.IndexFunc(page.Links(), func(link string) bool { return strings.Contains(link, "cursor=") })]
	page = b.Get(next).Want(200, "$2.00", "$1.00").WantNone("$3.00")
	if first := payments + "?env=test&limit=2"; !slices.Contains(page.Links(), first) {
		t.Errorf("the second page does not lead to the first one: %q", page.Links())
	}
	form := b.Get(payments).Form(payments)
	form.Set("env", "test").Set("status", "rejected").Submit("").Want(200, "$4.00").WantNone("$3.00")
	b.Get(payments+"?env=test&status=refunded").Want(200, "Nothing matches")
	b.Get(payments + "?env=test&started_to=2020-01-01").WantNone("$4.00")
	b.Get(payments + "?env=test&amount_from=x").Want(422)
	b.Get(payments+"?unheard=1").Want(422, "unheard")
	b.Get(payments + "?cursor=x").Want(422)
	b.Get(payments + "?partner_id=1").Want(422)
}

func testPaymentHasATimeline(t *testing.T, s *testkit.Server) {
	b, client, _ := newPartner(t, s, "timeline")
	id := pay(t, client, goodCard, "1250", "USD")
	page := b.Get(payments+"/"+id).Want(200, "Payment of $12.50", "Charged", "Left to refund", "Visa •••• 4242", "Timeline", "Terminal found", "Accepted by the provider", "Ledger entry", "Terminals tried", "Cards", "Accepted")
	for _, name := range []string{"refund"} {
		if !slices.Contains(page.Links(), payments+"/"+id+"/"+name) {
			t.Errorf("no link to %s: %q", name, page.Links())
		}
	}
	page.WantNone("A:provider") // accounts of the institution are not shown to partners
	declined := pay(t, client, refusedCard, "1250", "USD")
	page = b.Get(payments+"/"+declined).Want(200, "Card declined", "Declined", "Refused").WantNone("Left to refund")
	if slices.ContainsFunc(page.Links(), func(link string) bool { return strings.HasPrefix(link, payments+"/"+declined+"/") }) {
		t.Errorf("a declined payment has operations: %q", page.Links())
	}
	b.Get(payments + "/" + id + "?cursor=x").Want(404)
}

func testRefundIsCheckedAgainstWhatIsLeft(t *testing.T, s *testkit.Server) {
	b, client, _ := newPartner(t, s, "refunds")
	id := pay(t, client, goodCard, "123456", "USD")
	path := payments + "/" + id + "/refund"
	form := func(b *consoletest.Browser) *consoletest.Form { return b.Get(path).Form(path) }
	b.Get(path).Want(200, "At most $1,234.56")
	form(b).Set("amount", "1234.57").Submit("").Want(422, "At most $1,234.56.")
	form(b).Set("amount", "0").Submit("").Want(422, "above zero")
	form(b).Set("amount", "1.005").Submit("").Want(422, "at most 2 decimals")
	form(b).Set("amount", "much").Submit("").Want(422)
	wantInBody(t, read(t, s, "/transactions/"+id), `"status":"charged"`)
	form(b).Set("amount", "1,000.50").Submit("").Want(200, "Done.", "Refunded", "$1,000.50", "$234.06")
	form(b.With("Accept-Language", "ru")).Set("amount", "34,06").Submit("").Want(200, "Возвращено")
	form(b).Submit("").Want(200, "$200.00")
	wantInBody(t, read(t, s, "/transactions/"+id), `"amount":"100050"`, `"amount":"3406"`, `"amount":"20000"`)
	b.Get(path).Want(409)

	twice := formAt(b, payments+"/"+pay(t, client, goodCard, "1000", "USD")+"/refund").Set("amount", "4")
	first, second := twice.Submit("").Want(200, "$4.00"), twice.Submit("").Want(200, "$4.00")
	if strings.Count(first.Body, "Refund requested") != 1 || strings.Count(second.Body, "Refund requested") != 1 {
		t.Error("a form that was sent twice refunded twice")
	}
}

func formAt(b *consoletest.Browser, path string) *consoletest.Form { return b.Get(path).Form(path) }

func testHoldIsCapturedOrCancelled(t *testing.T, s *testkit.Server) {
	b, client, number := newPartner(t, s, "holds")
	created(t, s.Admin(), "/terminal", `{"name":"Holds","provider":"simulator","type":"payment","env":"test","partner_id":`+number+`,"provider_params":{"two_phase":true,"priority":-1}}`)
	captured, cancelled := pay(t, client, goodCard, "5000", "USD"), pay(t, client, goodCard, "6000", "USD")
	path := payments + "/" + captured + "/capture"
	formAt(b, path).Set("amount", "50.01").Submit("").Want(422, "At most $50.00.")
	formAt(b, path).Set("amount", "20").Submit("").Want(200, "Captured", "$20.00", "Left to refund")
	b.Get(payments + "/" + captured + "/cancel").Want(409)
	path = payments + "/" + cancelled + "/cancel"
	formAt(b, path).Submit("").Want(200, "Voided", "Failed")
	wantInBody(t, read(t, s, "/transactions/"+captured), `"captured_amount":"2000"`)
	wantInBody(t, read(t, s, "/transactions/"+cancelled), `"error_code":"cancelled"`)
}

// changingIDs matches the ids in a page, which differ between two pages: the id of the request and the id of the record.
var changingIDs = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func testForeignPaymentIsNotFound(t *testing.T, s *testkit.Server) {
	b, client, _ := newPartner(t, s, "curious")
	pay(t, client, goodCard, "1000", "USD")
	foreign := []string{testkit.Pay(t, s.Partner(), "of another partner"), testkit.Pay(t, s.SecondPartner(), "of another organization")}
	const unknown = "0d1f2a3b-0000-4000-8000-000000000001"
	for _, below := range []string{"", "/refund", "/capture", "/cancel"} {
		want := changingIDs.ReplaceAllString(b.Get(payments+"/"+unknown+below).Want(404).Body, "")
		for _, id := range append(foreign, "x", "%2e%2e") {
			page := b.Get(payments + "/" + id + below).Want(404)
			if got := changingIDs.ReplaceAllString(page.Body, ""); got != want && id != "x" && id != "%2e%2e" {
				t.Errorf("%s%s is another page than an unknown payment's", id, below)
			}
		}
	}
	for _, id := range foreign {
		b.Get("/console/webhooks/deliveries?transaction_id=" + id).Want(422)
	}
	link := created(t, s.Partner(), "/links", `{"amount":{"default":100,"currency":"USD"},"amount_type":"fixed","pay_config":{"methods":[]},"env":"test"}`)["id"]
	for _, below := range []string{"", "/edit", "/delete"} {
		b.Get(fmt.Sprint("/console/links/", link, below)).Want(404)
	}
}

func testLinkHasItsAddressAndQRCode(t *testing.T, s *testkit.Server) {
	b, _, number := newPartner(t, s, "links")
	form := formAt(b, "/console/links/new").Set("name", "Tea for two").Set("env", "test").Set("amount_type", "fixed").Set("amount.currency", "USD").Set("amount.default", "15.50")
	page := form.Submit("").Want(200, "Tea for two", "$15.50", "Public address", "/pay/l/")
	path, _, _ := strings.Cut(page.Path, "?")
	id := strings.TrimPrefix(path, "/console/links/")
	if !strings.Contains(page.Body, `src="/pay/l/`+id+`/qr.svg"`) {
		t.Errorf("there is no QR code: %s", page.Body)
	}
	wantInBody(t, read(t, s, "/links/"+id+"?partner_id="+number), `"default":1550`, `"partner_id":`+number)
	formAt(b, path+"/edit").Set("amount.default", "16").Submit("").Want(200, "$16.00")
	formAt(b, path+"/edit").Set("amount.default", "x").Submit("").Want(422)
	b.Get("/console/links?env=test").Want(200, "Tea for two")
	formAt(b, path+"/delete").Submit("").Want(200)
	wantInBody(t, read(t, s, "/links/"+id+"?partner_id="+number), `"active":false`)

	page = formAt(b, "/console/products/new").Set("header", "Tea pot").Set("text", "A pot").Set("price", "25").Set("currency", "USD").Set("env", "test").Submit("").Want(200, "Tea pot", "$25.00", "/pay/p/")
	if !strings.Contains(page.Body, "/qr.svg") {
		t.Error("a product has no QR code")
	}
}

func testPictureIsUploaded(t *testing.T, s *testkit.Server) {
	b, client, number := newPartner(t, s, "pictures")
	var content bytes.Buffer
	if err := png.Encode(&content, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	id := created(t, client, "/products", `{"header":"Pot","text":"A pot","price":100,"currency":"USD","env":"test"}`)["id"]
	path := fmt.Sprint("/console/products/", id)
	upload := func() *consoletest.Form { return b.Get(path).Form(path + "/picture") }
	upload().SubmitFile("image", []byte("no picture")).Want(422, "must be a PNG or JPEG image")
	upload().SubmitFile("image", nil).Want(422, "Choose a file.")
	page := upload().SubmitFile("image", content.Bytes()).Want(200, "Done.")
	if !regexp.MustCompile(`src="/images/[^"]+\.png"`).MatchString(page.Body) {
		t.Error("the product shows no picture")
	}
	wantInBody(t, read(t, s, fmt.Sprint("/products/", id, "?partner_id=", number)), "/images/")
	upload().Force("csrf", "wrong").SubmitFile("image", content.Bytes()).Want(403)
	b.Post(path+"/picture", map[string][]string{"csrf": {"x"}}).Want(415)
	b.Get("/console/settings/branding").Form("/console/settings/branding/logo").SubmitFile("image", content.Bytes()).Want(200, "Done.")
	wantInBody(t, read(t, s, "/partners/"+number), `"logo":"`)
}

func testSubscriptionIsPausedAndCancelled(t *testing.T, s *testkit.Server) {
	b, client, _ := newPartner(t, s, "subscriptions")
	initial := pay(t, client, goodCard, "900", "USD")
	id := created(t, client, "/subscriptions", `{"params":{"initial_payment_id":"`+initial+`","amount":"900","period_days":30}}`)["id"]
	b.Get("/console/subscriptions?env=test").Want(200, "Active", "$9.00")
	path := fmt.Sprint("/console/subscriptions/", id)
	page := b.Get(path).Want(200, "Active", "$9.00")
	if !slices.Contains(page.Links(), payments+"/"+initial) {
		t.Errorf("it does not lead to its first payment: %q", page.Links())
	}
	formAt(b, path+"/pause").Submit("").Want(200, "Paused")
	formAt(b, path+"/resume").Submit("").Want(200, "Active")
	formAt(b, path+"/cancel").Submit("").Want(200, "Cancelled")
}

func testStatementHasRunningBalances(t *testing.T, s *testkit.Server) {
	b, client, number := newPartner(t, s, "statements")
	b.Get("/console/balances").Want(200, "There is no balance yet")
	pay(t, client, goodCard, "1000", "USD")
	last := pay(t, client, goodCard, "250", "USD")
	page := b.Get("/console/balances").Want(200, "12.50")
	statement := "/console/balances/statement?currency=USD&network=&env=test"
	if !slices.Contains(page.Links(), statement) {
		t.Fatalf("the balances do not lead to their statements: %q", page.Links())
	}
	page = b.Get(statement).Want(200, "Statement in USD")
	rows := page.Rows()
	if len(rows) != 2 || strings.Join(rows[0][1:], "|") != "Charged||2.50|12.50" || strings.Join(rows[1][1:], "|") != "Charged||10.00|10.00" {
		t.Errorf("the statement is %q", rows)
	}
	b.Get(statement+"&limit=1").Want(200, "12.50", "Next page").WantNone("10.00")
	b.Get("/console/balances/statement?currency=EUR&env=test").Want(200, "Nothing was booked")
	b.Get("/console/balances/statement?currency=USD&env=test&from=x").Want(422).WantNone("Statement in USD") // the value of a refused filter is not in the title
	file := b.Get("/console/balances/statement.csv?currency=USD&env=test")
	lines := strings.Split(strings.TrimSpace(file.Body), "\n")
	if file.Status != 200 || len(lines) != 3 || lines[0] != "seq,booked_at,event,source,phase,debit,credit,balance,currency,network" || !strings.HasSuffix(lines[1], "posted,,250,1250,USD,") {
		t.Errorf("the file is %q", file.Body)
	}
	if got := file.Header.Get("Content-Disposition"); got != `attachment; filename="statement.csv"` || !strings.HasPrefix(file.Header.Get("Content-Type"), "text/csv") {
		t.Errorf("the file is sent as %q", got)
	}
	b.Get("/console/balances/statement.csv?currency=USD&from=x").Want(400)
	if empty := b.Get("/console/balances/statement.csv?currency=EUR&env=test"); empty.Status != 200 || strings.TrimSpace(empty.Body) != lines[0] {
		t.Errorf("the file of a currency in which nothing was booked is %d %q", empty.Status, empty.Body)
	}
	created(t, s.Admin(), "/partners/"+number+"/settlements", `{"direction":"out","amount":"50","currency":"USD","env":"test","reference":"wire"}`)
	page = b.Get(statement)
	if rows := page.Rows(); len(rows) != 3 || strings.Join(rows[0][1:], "|") != "Settlement booked|0.50||12.00" {
		t.Errorf("after a settlement the statement is %q", rows)
	}
	isPayment := func(address string) bool { return strings.HasPrefix(address, payments+"/") }
	if links := slices.DeleteFunc(page.Links(), func(address string) bool { return !isPayment(address) }); len(links) != 2 || !strings.HasPrefix(links[0], payments+"/"+last+"#e") {
		t.Errorf("the lines lead to the payments %q", links)
	}
}

func testSecretIsShownOnce(t *testing.T, s *testkit.Server) {
	b, _, number := newPartner(t, s, "secrets")
	const path = "/console/webhooks"
	page := b.Get(path).Want(200, "No secret is set", "Cards")
	page.Form(path).Set("notify_url", "nonsense").Submit("").Want(422)
	b.Get(path).Form(path).Set("notify_url", "https://shop.example/hook").Submit("").Want(200, "Done.")
	wantInBody(t, read(t, s, "/partners/"+number), `"notify_url":"https://shop.example/hook"`)
	secret := func() string {
		page := b.Get(path).Form(path+"/secret").Submit("").Want(201, "never shown again")
		found := regexp.MustCompile(`whsec_[A-Z0-9]{26}`).FindString(page.Text())
		if found == "" || strings.Contains(page.Path, found) {
			t.Fatalf("no secret is shown: %s", page.Text())
		}
		return found
	}
	first, second := secret(), secret()
	if first == second {
		t.Error("the secret was not replaced")
	}
	b.Get(path).Want(200, "A secret is set").WantNone(first, second)
	if body := read(t, s, "/partners/"+number); strings.Contains(body, second) {
		t.Error("the API shows the secret")
	}
}

func testNotificationIsSentAgain(t *testing.T, s *testkit.Server) {
	b, client, _ := newPartner(t, s, "notified")
	received := make(chan string, 16)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { received <- r.Header.Get("x-webhook-event") }))
	t.Cleanup(receiver.Close)
	const path = "/console/webhooks"
	b.Get(path).Form(path).Set("notify_url", receiver.URL).Submit("").Want(200)
	terminals := b.Get(path)
	test := regexp.MustCompile(`action="(/console/webhooks/terminals/[^"]+/test-delivery)"`).FindStringSubmatch(terminals.Body)
	terminals.Form(test[1]).Submit("").Want(200, "200")
	<-received
	id := pay(t, client, goodCard, "100", "USD")
	<-received
	delivered := func() *consoletest.Page { return b.Get(payments + "/" + id) }
	testkit.WaitUntil(t, "the delivery is stored", func() bool { return strings.Contains(delivered().Text(), "HTTP 200") })
	page := delivered().Want(200, "Webhook", "Delivered")
	replay := regexp.MustCompile(`action="(/console/webhooks/deliveries/[^"]+/replay)"`).FindStringSubmatch(page.Body)
	page.Form(replay[1]).Submit("").Want(200)
	<-received
	testkit.WaitUntil(t, "the second delivery is stored", func() bool { return strings.Count(delivered().Text(), "HTTP 200") == 2 })
	b.Get(path+"/deliveries").Want(200, "Delivered", "Cards")
	b.Get(strings.TrimSuffix(replay[1], "/replay")).Want(200, "Delivered")
	_, otherClient, _ := newPartner(t, s, "unnotified")
	pay(t, otherClient, goodCard, "100", "USD")
	other := consoletest.As(t, s, "partner")
	other.Get(strings.TrimSuffix(replay[1], "/replay")).Want(404)
	other.Get(strings.TrimSuffix(test[1], "/test-delivery")).Want(404)
}

func testKeyIsShownOnceAndRevoked(t *testing.T, s *testkit.Server) {
	b, _, number := newPartner(t, s, "keys")
	page := formAt(b, "/console/keys/new").Set("name", "second server").Submit("").Want(201, "mzk_", "never shown again")
	key := regexp.MustCompile(`mzk_[A-Za-z0-9_-]+`).FindString(page.Text())
	answer, err := s.Partner().With("x-api-key", key).Get("/api/v1/balances")
	testkit.WantStatus(t, answer, err, 200)
	links := page.Links()
	path := links[len(links)-1]
	b.Get(path).Want(200, "second server").WantNone(key)
	b.Get("/console/keys").Want(200, "second server", "shop").WantNone(key)
	formAt(b, path+"/delete").Submit("").Want(200)
	answer, err = s.Partner().With("x-api-key", key).Get("/api/v1/balances")
	testkit.WantStatus(t, answer, err, 401)
	wantInBody(t, read(t, s, "/api_keys?partner_id="+number), `"name":"second server"`)
	formAt(b, "/console/keys/new").Set("name", "of another").Force("partner_id", "1").Submit("")
	if strings.Contains(read(t, s, "/api_keys?partner_id=1"), "of another") {
		t.Error("a partner has made a key of another one")
	}
}

func testBrandingIsChanged(t *testing.T, s *testkit.Server) {
	b, _, number := newPartner(t, s, "branded")
	const path = "/console/settings/branding"
	b.Get(path).Form(path).Set("branding.color", "green").Submit("").Want(422, "#rrggbb")
	b.Get(path).Form(path).Set("branding.color", "#12744a").Set("branding.display_name", "Tea Room").Set("lang", "ru").Submit("").Want(200)
	wantInBody(t, read(t, s, "/partners/"+number), `"color":"#12744a"`, `"display_name":"Tea Room"`, `"lang":"ru"`)
	b.Get(path).Form(path).Force("name", "Another name").Set("branding.color", "#000000").Submit("")
	wantInBody(t, read(t, s, "/partners/"+number), `"name":"branded"`, `"color":"#000000"`, `"display_name":"Tea Room"`)
}

func testAdministratorsSeePayments(t *testing.T, s *testkit.Server) {
	_, client, number := newPartner(t, s, "administered")
	id := pay(t, client, goodCard, "4200", "USD")
	b := consoletest.As(t, s, "admin").With("Accept-Language", "en")
	b.Get(payments).Want(200, "Enter the number of a partner")
	b.Get(payments+"?partner_id="+number+"&env=test").Want(200, "$42.00")
	b.Get(payments + "?partner_id=999999&env=test").Want(404)
	page := b.Get(payments+"/"+id).Want(200, "Payment of $42.00", "A:provider")
	if slices.Contains(page.Links(), payments+"/"+id+"/refund") {
		t.Error("an administrator may refund")
	}
	for _, below := range []string{"/refund", "/cancel", "/capture"} {
		b.Get(payments + "/" + id + below).Want(403)
	}
	b.Get(payments + "/" + testkit.Pay(t, s.SecondPartner(), "foreign to the administrator")).Want(404)
}

func testOtherRolesDoNotOpenThePages(t *testing.T, s *testkit.Server) {
	own := []string{"/console/links", "/console/products", "/console/subscriptions", "/console/balances", "/console/balances/statement", "/console/webhooks", "/console/webhooks/deliveries", "/console/keys", "/console/settings/branding"}
	for _, role := range []string{"auditor", "client", "admin"} {
		b := consoletest.As(t, s, role)
		for _, path := range own {
			b.Get(path).Want(403)
		}
		if role != "admin" {
			b.Get(payments).Want(403)
		}
	}
	if page := consoletest.Open(t, s).Get(payments); !strings.HasPrefix(page.Path, "/console/login") {
		t.Errorf("a person without a session sees %s", page.Path)
	}
}

func testEveryPageIsInEveryLanguage(t *testing.T, s *testkit.Server) {
	id := testkit.Pay(t, s.Partner(), "in every language")
	for lang, want := range map[string]string{"en": "Payments", "ru": "Платежи", "ar": "المدفوعات"} {
		b := partner(t, s).With("Accept-Language", lang)
		b.Get(payments).Want(200, want)
		for _, path := range []string{
			"/console/", "/console/?env=test", payments + "?env=test", payments + "/" + id, payments + "/" + id + "/refund", "/console/links", "/console/links/new", "/console/products/new", "/console/subscriptions",
			"/console/balances", "/console/balances/statement?currency=USD&env=test", "/console/webhooks", "/console/webhooks/deliveries", "/console/webhooks/terminals", "/console/keys", "/console/keys/new", "/console/settings/branding",
		} {
			page := b.Get(path).Want(200)
			if got, dir := page.Lang(); got != lang || (dir == "rtl") != (lang == "ar") {
				t.Errorf("%s is in %s, %s", path, got, dir)
			}
		}
	}
}
