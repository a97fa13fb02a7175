package stripe_test

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"mizan/internal/stripestub"
)

const publishableKey = "pk_test_elements"

var elementsData = regexp.MustCompile(`data-(key|secret|return)="([^"]*)"`)

// elements is what Stripe's script knows on our page.
type elements struct {
	f                   *serverFixture
	key, secret, intent string
	returnURL           string
}

// startElements starts a server whose terminal may send no cards.
func startElements(t *testing.T, with params) *serverFixture {
	t.Helper()
	all := params{"raw_cards": false, "publishable_key": publishableKey}
	for name, value := range with {
		all[name] = value
	}
	return startServer(t, all)
}

// openElements creates a hosted payment, chooses the card on our page, and returns what the next page tells Stripe's script.
func (f *serverFixture) openElements(browser *http.Client, txid string) (id string, e elements) {
	f.t.Helper()
	created := f.want(201)(f.Partner().Post(transactions, body("", "1250", txid)))
	id = member(f.t, created, "id")
	address, content := f.page(browser.Get(member(f.t, created, "widget_url")))
	if strings.Contains(content, `name="cardnumber"`) {
		f.t.Fatalf("our page asks for the card: %s", content)
	}
	base, _ := url.Parse(address)
	action, err := base.Parse(html.UnescapeString(formAction.FindStringSubmatch(content)[1]))
	if err != nil {
		f.t.Fatal(err)
	}
	answer, err := browser.PostForm(action.String(), url.Values{"method": {"bank_card"}})
	policy := ""
	if err == nil {
		policy = answer.Header.Get("Content-Security-Policy")
	}
	_, content = f.page(answer, err)
	values := make(map[string]string)
	for _, found := range elementsData.FindAllStringSubmatch(content, -1) {
		values[found[1]] = html.UnescapeString(found[2])
	}
	e = elements{f: f, key: values["key"], secret: values["secret"], returnURL: values["return"]}
	e.intent, _, _ = strings.Cut(e.secret, "_secret_")
	if e.key != publishableKey || !strings.HasPrefix(e.intent, "pi_") || !strings.HasPrefix(e.returnURL, f.BaseURL) || !strings.Contains(policy, "https://js.stripe.com") {
		f.t.Fatalf("%+v with policy %s in %s", e, policy, content)
	}
	f.wantMember(id, "status", "action_required")
	return id, e
}

// confirm does what Stripe's script does with a card: it makes a payment method, and confirms the intent.
func (e *elements) confirm(card string) (status string, answer map[string]any) {
	e.f.t.Helper()
	method := e.post("/v1/payment_methods", url.Values{
		"type": {"card"}, "card[number]": {card}, "card[exp_month]": {"12"}, "card[exp_year]": {"2031"}, "card[cvc]": {partnerCVV},
	})
	id, _ := method["id"].(string)
	answer = e.post("/v1/payment_intents/"+e.intent+"/confirm", url.Values{"payment_method": {id}, "client_secret": {e.secret}, "return_url": {e.returnURL}})
	status, _ = answer["status"].(string)
	return status, answer
}

func (e *elements) post(path string, form url.Values) (answer map[string]any) {
	e.f.t.Helper()
	request, err := http.NewRequest(http.MethodPost, e.f.stub.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		e.f.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Authorization", "Bearer "+e.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		e.f.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil || json.Unmarshal(content, &answer) != nil {
		e.f.t.Fatalf("%v %s", err, content)
	}
	return answer
}

// The payer gives the card to Stripe. Its number never reaches our server: verify searches all files and the log for it.
func TestPayerGivesTheCardToStripe(t *testing.T) {
	f := startElements(t, nil)
	browser := f.client()
	t.Run("paid", func(t *testing.T) {
		id, e := f.openElements(browser, "paid")
		if status, answer := e.confirm(declinedCard); status != "" { // the script says so, and the payer tries again
			t.Errorf("a declined card is %s: %v", status, answer)
		}
		f.advance(2 * time.Minute)
		f.wantMember(id, "status", "action_required")
		if status, answer := e.confirm(goodCard); status != "succeeded" {
			t.Fatalf("%s: %v", status, answer)
		}
		if _, content := f.page(browser.Get(e.returnURL)); !strings.Contains(content, "Paid") {
			t.Errorf("the page says %s", content)
		}
		f.wantMember(id, "status", "charged")
		if got := total(f.stub.Movements(id).Charged); got != 1250 {
			t.Errorf("charged %d", got)
		}
		f.want(200)(f.Partner().Put(transactions+"/"+id, map[string]any{"params": map[string]any{"type": "refund", "amount": "250"}}))
		f.wantMember(id, "refunded_amount", "250")
	})
	t.Run("paid, and the payer does not return", func(t *testing.T) {
		id, e := f.openElements(browser, "no return")
		e.confirm(goodCard)
		f.advance(2 * time.Minute)
		f.wantMember(id, "status", "charged")
	})
	t.Run("refused authentication", func(t *testing.T) {
		id, e := f.openElements(browser, "refused")
		if status, answer := e.confirm(challengeCard); status != "requires_action" {
			t.Fatalf("%s: %v", status, answer)
		}
		f.advance(2 * time.Minute)
		f.wantMember(id, "status", "action_required")
		target, err := f.stub.Authenticate(e.intent, false)
		if err != nil {
			t.Fatal(err)
		}
		f.page(browser.Get(target))
		f.wantMember(id, "status", "created") // the payer may try again
		if _, answer := e.confirm(goodCard); answer["error"] == nil {
			t.Errorf("the intent of an attempt that is over can be confirmed: %v", answer)
		}
	})
	t.Run("refused authentication, and Stripe cancels nothing", func(t *testing.T) {
		id, e := f.openElements(browser, "not cancelled")
		e.confirm(challengeCard)
		target, err := f.stub.Authenticate(e.intent, false)
		if err != nil {
			t.Fatal(err)
		}
		fault := f.stub.Plan(stripestub.Fault{Method: "POST", Path: "/v1/payment_intents/*/cancel", Times: 5, Effect: stripestub.Fail, Status: 409})
		f.page(browser.Get(target))
		if fault.Hits() != 1 {
			t.Errorf("%d attempts to cancel without a wait", fault.Hits())
		}
		f.wantMember(id, "status", "charging") // the outcome is unknown
		f.advance(2 * time.Hour)
		f.wantMember(id, "status", "rejected")
		if _, answer := e.confirm(goodCard); answer["error"] == nil || total(f.stub.Movements(id).Charged) != 0 {
			t.Errorf("an intent can be confirmed after the payer's time: %v", answer)
		}
	})
	t.Run("too late", func(t *testing.T) {
		id, e := f.openElements(browser, "late")
		f.advance(2 * time.Hour)
		f.wantMember(id, "status", "rejected")
		f.wantMember(id, "error_code", "payer_action_expired")
		if _, answer := e.confirm(goodCard); answer["error"] == nil {
			t.Errorf("an intent can be confirmed after the payer's time: %v", answer)
		}
		if got := total(f.stub.Movements(id).Charged); got != 0 {
			t.Errorf("charged %d", got)
		}
	})
	t.Run("a card in a request", func(t *testing.T) {
		id := f.create(goodCard, "100", "raw")
		f.wantMember(id, "status", "rejected")
		f.wantMember(id, "error_code", "raw_cards_not_allowed")
	})
	f.verify()
}
