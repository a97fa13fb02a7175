package stripe_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mizan/internal/clock"
	"mizan/internal/stripestub"
	"mizan/internal/testkit"
)

const (
	v1           = "/api/v1"
	transactions = v1 + "/transactions"
	shop         = "https://shop.example"
)

// serverFixture is a server of ours, whose partner charges through a stub of Stripe's API.
type serverFixture struct {
	*testkit.Server
	t        *testing.T
	stub     *stripestub.Stub
	clock    *clock.Manual // the stub's
	terminal string        // id of the last terminal
}

// startServer starts a server with one active terminal, which has the parameters besides the account's keys.
func startServer(t *testing.T, with params) *serverFixture {
	t.Helper()
	f := &serverFixture{Server: testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}}), t: t}
	var now struct{ Now time.Time }
	if err := json.Unmarshal([]byte(f.want(200)(f.Admin().Get(v1+"/sandbox/clock"))), &now); err != nil {
		t.Fatal(err)
	}
	f.clock = clock.NewManual(now.Now)
	f.stub = stripestub.New(t, stripestub.Options{Clock: f.clock, SecretKey: secretKey, PublishableKey: publishableKey, RawCards: true})
	var list struct{ Data []struct{ ID string } }
	if err := json.Unmarshal([]byte(f.want(200)(f.admin().Get(v1+"/terminals?limit=100"))), &list); err != nil {
		t.Fatal(err)
	}
	for _, terminal := range list.Data {
		f.want(200)(f.admin().Do("PATCH", v1+"/terminal/"+terminal.ID, `{"is_active":false}`))
	}
	f.addTerminal(with)
	return f
}

func (f *serverFixture) admin() *testkit.Client {
	return f.Admin().With("x-organization-id", f.Sandbox.OrganizationID)
}

func (f *serverFixture) addTerminal(with params) {
	f.t.Helper()
	all := params{"secret_key": secretKey, "webhook_secret": webhookSecret, "api_base": f.stub.URL, "raw_cards": true}
	for name, value := range with {
		all[name] = value
	}
	body := f.want(201)(f.admin().Post(v1+"/terminal", map[string]any{
		"partner_id": f.Sandbox.PartnerID, "name": "an account at Stripe", "provider": "stripe", "type": "payment", "env": "test", "provider_params": all,
	}))
	f.terminal = member(f.t, body, "data.id")
}

// want returns a function that returns the body of a response, which must have the status.
func (f *serverFixture) want(status int) func(*testkit.Answer, error) string {
	return func(a *testkit.Answer, err error) string {
		f.t.Helper()
		if err != nil {
			f.t.Fatalf("%v\n%s", err, f.Stderr())
		}
		if a.Status != status {
			f.t.Fatalf("answered %d %s, want %d\n%s", a.Status, a.Body, status, f.Stderr())
		}
		return string(a.Body)
	}
}

// member returns the text at a path of names with dots between them; it is empty if there is none.
func member(t *testing.T, body, path string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(path, ".") {
		members, _ := value.(map[string]any)
		value = members[name]
	}
	text, _ := value.(string)
	return text
}

// body returns a request that creates a payment; without a card it is hosted.
func body(card, amount, txid string) map[string]any {
	inner := map[string]any{"type": "payment", "amount": amount, "currency": "USD", "env": "test", "txid": txid}
	if card != "" {
		inner["returnUrl"], inner["failUrl"] = shop+"/ok", shop+"/no"
		inner["money_storage"] = map[string]any{"type": "bank_card", "cardnumber": card, "cardholder": "A Payer", "exp_month": "12", "exp_year": "2031", "cvv": partnerCVV}
	} else {
		inner["hosted"] = true
	}
	return map[string]any{"params": inner}
}

func (f *serverFixture) create(card, amount, txid string) (id string) {
	f.t.Helper()
	return member(f.t, f.want(201)(f.Partner().Post(transactions, body(card, amount, txid))), "id")
}

func (f *serverFixture) wantMember(id, path, want string) {
	f.t.Helper()
	shown := f.want(200)(f.Partner().Get(transactions + "/" + id))
	if got := member(f.t, shown, path); got != want {
		f.t.Errorf("%s is %q, want %q: %s\n%s", path, got, want, shown, f.Stderr())
	}
}

// advance moves both clocks.
func (f *serverFixture) advance(d time.Duration) {
	f.t.Helper()
	if err := f.clock.Set(f.clock.Now().Add(d)); err != nil {
		f.t.Fatal(err)
	}
	f.want(200)(f.Admin().Put(v1+"/sandbox/clock", map[string]int{"advance_seconds": int(d / time.Second)}))
}

// client returns a payer's browser, or Stripe's sender of webhooks, which trusts the server.
func (f *serverFixture) client() *http.Client {
	f.t.Helper()
	ca, err := os.ReadFile(filepath.Join(f.Dir, "tls", "ca.pem"))
	if err != nil {
		f.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}
}

// page returns where a browser has landed, and the page there.
func (f *serverFixture) page(answer *http.Response, err error) (address, content string) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 200 {
		f.t.Fatalf("%s answered %d %s %v", answer.Request.URL, answer.StatusCode, text, err)
	}
	return answer.Request.URL.String(), string(text)
}

// verify stops the server and checks its books, its files and its log.
func (f *serverFixture) verify() {
	f.t.Helper()
	if err := f.stub.Check(); err != nil {
		f.t.Error(err)
	}
	canaries := filepath.Join(f.t.TempDir(), "canaries")
	secrets := append([]string{secretKey, webhookSecret}, testCards...)
	if err := os.WriteFile(canaries, []byte(strings.Join(secrets, "\n")+"\n"), 0o600); err != nil {
		f.t.Fatal(err)
	}
	for _, secret := range secrets {
		if strings.Contains(f.Stderr(), secret) {
			f.t.Errorf("the log has %q", secret)
		}
	}
	if code := f.Stop(); code != 0 {
		f.t.Errorf("the server stopped with %d\n%s", code, f.Stderr())
	}
	if r := testkit.Run(f.t, nil, "audit", "verify", "--data", f.Dir, "--canaries", canaries); r.Exit != 0 {
		f.t.Errorf("the books do not hold: %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
	}
}

var forwards = regexp.MustCompile(`http-equiv="refresh" content="0; url=([^"]+)"`)

var formAction = regexp.MustCompile(`<form[^>]*action="([^"]+)"`)

// The payer pays on our page, authenticates on the bank's page, and returns to our page.
func TestHostedPaymentWithAuthentication(t *testing.T) {
	f := startServer(t, nil)
	browser := f.client()
	for decision, want := range map[string]string{"approve": "charged", "refuse": "created"} { // the payer may try another card
		created := f.want(201)(f.Partner().Post(transactions, body("", "1250", "hosted "+decision)))
		id := member(t, created, "id")
		address, content := f.page(browser.Get(member(t, created, "widget_url")))
		found := formAction.FindStringSubmatch(content)
		if found == nil {
			t.Fatalf("no form in %s", content)
		}
		base, _ := url.Parse(address)
		action, err := base.Parse(strings.ReplaceAll(found[1], "&amp;", "&"))
		if err != nil {
			t.Fatal(err)
		}
		address, content = f.page(browser.PostForm(action.String(), url.Values{"cardnumber": {challengeCard}, "cardholder": {"A PAYER"}, "expiry": {"12/31"}, "cvv": {partnerCVV}}))
		next := forwards.FindStringSubmatch(content)
		if next == nil || !strings.HasPrefix(next[1], f.stub.URL) {
			t.Fatalf("the payer is at %s and goes to %q", address, next)
		}
		address, _ = f.page(browser.Get(next[1]))
		f.wantMember(id, "status", "action_required")
		address, content = f.page(browser.PostForm(address, url.Values{"decision": {decision}}))
		if !strings.HasPrefix(address, f.BaseURL) {
			t.Errorf("the payer has returned to %s", address)
		}
		f.wantMember(id, "status", want)
		if decision == "approve" && !strings.Contains(content, "Paid") {
			t.Errorf("the page says %s", content)
		}
		if got := total(f.stub.Movements(id).Charged); decision == "approve" && got != 1250 || decision == "refuse" && got != 0 {
			t.Errorf("charged %d", got)
		}
	}
	f.verify()
}

func TestHoldCaptureAndRefundsOverHTTP(t *testing.T) {
	f := startServer(t, params{"two_phase": true})
	id := f.create(goodCard, "1000", "hold")
	f.wantMember(id, "status", "payment_suspended")
	f.want(200)(f.Partner().Post(transactions+"/commit/"+id, `{"params":{"amount":"800"}}`))
	f.wantMember(id, "status", "charged")
	for _, amount := range []string{"300", "500"} {
		f.want(200)(f.Partner().Put(transactions+"/"+id, `{"params":{"type":"refund","amount":"`+amount+`"}}`))
	}
	f.wantMember(id, "refunded_amount", "800")
	released := f.create(goodCard, "1000", "release")
	f.want(200)(f.Partner().Put(transactions+"/"+released, `{"params":{"type":"cancel"}}`))
	f.wantMember(released, "status", "failed")
	if m := f.stub.Movements(released); len(m.Charged)+len(m.Authorized) != 0 {
		t.Errorf("%+v", m)
	}
	if m := f.stub.Movements(id); total(m.Charged) != 800 {
		t.Errorf("%+v", m)
	}
	f.verify()
}

func TestSubscriptionIsRenewedFromTheSavedCard(t *testing.T) {
	f := startServer(t, params{"poll_seconds": 86400}) // a manual clock that jumps makes every poll on its way
	id := f.create(goodCard, "1000", "first")
	created := f.want(201)(f.Partner().Post(v1+"/subscriptions", `{"params":{"initial_payment_id":"`+id+`","amount":"990","period_days":30}}`))
	subscription := member(t, created, "data.id")
	for range 3 {
		f.advance(30*24*time.Hour + time.Minute)
		shown := f.want(200)(f.Partner().Get(v1 + "/subscriptions/" + subscription))
		renewal := member(t, shown, "data.last_transaction_id")
		f.wantMember(renewal, "status", "charged")
		if got := total(f.stub.Movements(renewal).Charged); got != 990 {
			t.Errorf("charged %d", got)
		}
	}
	f.verify()
}

// Stripe's events arrive doubled and in any order, and change only what Stripe confirms when it is asked.
func TestEventsOfStripe(t *testing.T) {
	f := startServer(t, params{"poll_seconds": 86400})
	hook := f.stub.AddWebhook(f.BaseURL+v1+"/providers/stripe/"+f.terminal, webhookSecret, f.client())
	accept := func(list []stripestub.Delivery) {
		t.Helper()
		for _, d := range list {
			if d.Err != nil || d.Status != 200 {
				t.Errorf("%s: %d %s %v", d.Event.Type, d.Status, d.Body, d.Err)
			}
		}
	}
	id := f.create(challengeCard, "1000", "authenticated later")
	f.wantMember(id, "status", "action_required")
	if _, err := f.stub.Authenticate(member(t, f.want(200)(f.Partner().Get(transactions+"/"+id)), "merchant_meta.stripe_payment_intent"), true); err != nil {
		t.Fatal(err)
	}
	accept(hook.DeliverReversed())
	testkit.WaitUntil(t, "charged", func() bool { return f.status(id) == "charged" })
	charge := f.stub.Movements(id).Charged[0].ID
	f.want(200)(f.Partner().Put(transactions+"/"+id, `{"params":{"type":"refund","amount":"250"}}`))
	dispute, err := f.stub.OpenDispute(charge, "fraudulent")
	if err != nil {
		t.Fatal(err)
	}
	accept(hook.Deliver())
	if got := f.status(id); got != "refunded" {
		t.Errorf("an open dispute has made it %s", got)
	}
	if err := f.stub.CloseDispute(dispute, false); err != nil {
		t.Fatal(err)
	}
	for _, e := range hook.Pending() {
		for range 2 {
			accept([]stripestub.Delivery{hook.Send(e, stripestub.Signing{})})
		}
	}
	testkit.WaitUntil(t, "reversed", func() bool { return f.status(id) == "reversed" })

	// An event that claims what is not so changes nothing.
	declined := f.create(declinedCard, "1000", "declined")
	forged := stripestub.Event{Body: fmt.Appendf(nil, `{"id":"evt_forged","type":"payment_intent.succeeded","data":{"object":{"status":"succeeded","metadata":{"reference":%q,"terminal":%q}}}}`, declined, f.terminal)}
	accept([]stripestub.Delivery{hook.Send(forged, stripestub.Signing{})})

	// Every event that is not verified gets the same answer.
	const refusal = `{"error":"bad_request","message":"the event is not signed with the terminal's secret"}`
	e := f.stub.Events()[0]
	other := *hook
	for path, secret := range map[string]string{f.terminal: "whsec_other", "x": webhookSecret, "3e0a2c58-61f8-4b53-8a0a-0f2f3a9c1d01": webhookSecret} {
		other.URL, other.Secret = f.BaseURL+v1+"/providers/stripe/"+path, secret
		if d := other.Send(e, stripestub.Signing{}); d.Status != 400 || string(d.Body) != refusal {
			t.Errorf("%s: %d %s %v", path, d.Status, d.Body, d.Err)
		}
	}
	if d := hook.Send(e, stripestub.Signing{At: time.Now().Add(-6 * time.Minute)}); d.Status != 400 || string(d.Body) != refusal {
		t.Errorf("too old: %d %s", d.Status, d.Body)
	}
	if d := hook.Send(stripestub.Event{Body: []byte(strings.Repeat(" ", 300<<10))}, stripestub.Signing{}); d.Status != 413 {
		t.Errorf("too long: %d %s %v", d.Status, d.Body, d.Err)
	}
	f.wantMember(declined, "status", "rejected")
	f.wantMember(id, "status", "reversed")
	f.verify()
}

func (f *serverFixture) status(id string) string {
	f.t.Helper()
	return member(f.t, f.want(200)(f.Partner().Get(transactions+"/"+id)), "status")
}

// The server is killed during each request to Stripe, before and after Stripe has executed it.
func TestKillDuringEveryRequest(t *testing.T) {
	f := startServer(t, params{"save_cards": true})
	for _, call := range []string{createsMethod, createsCustomer, createsIntent, confirms, refunds} {
		for _, isExecuted := range []bool{false, true} {
			name := fmt.Sprint(call, isExecuted)
			method, path, _ := strings.Cut(call, " ")
			id := ""
			if call == refunds {
				id = f.create(goodCard, "1000", name)
			}
			held := f.stub.Plan(stripestub.Fault{Method: method, Path: path, Hold: true, After: isExecuted, Effect: stripestub.Close})
			ended, client := make(chan struct{}), f.Partner()
			go func() { // the answers are lost
				defer close(ended)
				if call == refunds {
					_, _ = client.Put(transactions+"/"+id, `{"params":{"type":"refund","amount":"400"}}`)
				} else {
					_, _ = client.Post(transactions, body(goodCard, "1000", name))
				}
			}()
			<-held.Arrived()
			f.Kill()
			held.Release()
			<-ended
			f.Restart("--clock", "manual")
			f.advance(10 * time.Minute)
			if call != refunds {
				id = f.create(goodCard, "1000", name) // the txid is the same, so this is no other payment
			}
			want := "failed"
			switch {
			case call == refunds:
				want = "refunded"
			case call == confirms && isExecuted:
				want = "charged"
			}
			if got := f.status(id); got != want {
				t.Errorf("%s: it is %s, want %s\n%s", name, got, want, f.Stderr())
			}
			charged := int64(0)
			if want != "failed" {
				charged = 1000
			}
			if got := total(f.stub.Movements(id).Charged); got != charged {
				t.Errorf("%s: %d charged, want %d", name, got, charged)
			}
			if err := f.stub.Check(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	f.verify()
}
