package browser_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"

	"mizan/internal/clock"
	"mizan/internal/stripestub"
)

// stripesScript stands for Stripe's script: its fields are in a frame of Stripe's site, which sends the card to Stripe's API.
const stripesScript = `
window.Stripe = (key, options) => ({
	elements: ({clientSecret}) => ({clientSecret, create: () => {
		const handlers = {};
		return {on: (name, act) => { handlers[name] = act; }, mount: selector => {
			const frame = document.createElement("iframe");
			frame.src = "https://js.stripe.com/fields?key=" + key + "&secret=" + clientSecret;
			frame.style.width = "100%";
			frame.title = "Secure payment input frame";
			frame.onload = () => handlers.ready();
			document.querySelector(selector).append(frame);
		}};
	}}),
	confirmPayment: ({confirmParams}) => new Promise(resolve => {
		addEventListener("message", event => {
			if (event.data.error) resolve({error: event.data.error});
			else location.href = confirmParams.return_url;
		}, {once: true});
		document.querySelector("iframe").contentWindow.postMessage(confirmParams.return_url, "*");
	}),
});`

// stripesFields is the page in the frame.
const stripesFields = `<!DOCTYPE html><title>Fields</title><input id="number" aria-label="Card number"><script>
const query = new URLSearchParams(location.search);
const post = async (path, fields) => (await fetch("https://api.stripe.com/v1/" + path, {method: "POST", body: new URLSearchParams({key: query.get("key"), ...fields})})).json();
addEventListener("message", async event => {
	const secret = query.get("secret");
	const method = await post("payment_methods", {type: "card", "card[number]": number.value, "card[exp_month]": "12", "card[exp_year]": "2031", "card[cvc]": "123"});
	number.value = "";
	const intent = await post("payment_intents/" + secret.split("_secret_")[0] + "/confirm", {payment_method: method.id, client_secret: secret, return_url: event.data});
	event.source.postMessage({error: intent.error}, "*");
});
</script>`

// answerStripe answers the tab's requests to Stripe: with the script and the fields above, and with what the stub of the API answers.
func (tb *tab) answerStripe(stub *stripestub.Stub) {
	tb.t.Helper()
	requests := make(chan *fetch.EventRequestPaused, 16)
	if err := chromedp.Listen(tb.base, func(event any) {
		if paused, ok := event.(*fetch.EventRequestPaused); ok {
			requests <- paused
		}
	}); err != nil {
		tb.fatal(err)
	}
	go func() {
		for {
			select {
			case <-tb.ctx.Done():
				return
			case paused := <-requests:
				kind, content := "text/html", []byte(stripesFields)
				switch {
				case paused.Request.Method == http.MethodOptions: // the browser asks first, because of the headers that the tab adds
				case paused.Request.URL == "https://js.stripe.com/v3/":
					kind, content = "text/javascript", []byte(stripesScript)
				case strings.HasPrefix(paused.Request.URL, "https://api.stripe.com/"):
					kind, content = "application/json", askStub(tb.t, stub, paused)
				}
				_, err := chromedp.Call(tb.ctx, fetch.FulfillRequest, fetch.FulfillRequestParams{
					RequestID: paused.RequestID, ResponseCode: http.StatusOK, Body: content,
					ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: kind}, {Name: "Access-Control-Allow-Origin", Value: "*"}, {Name: "Access-Control-Allow-Headers", Value: "*"}},
				})
				if err != nil && tb.ctx.Err() == nil {
					tb.t.Error(err)
				}
			}
		}
	}()
	call(tb, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "https://*.stripe.com/*"}}})
}

// askStub passes a request of Stripe's script on to the stub. The script sends its key in the body.
func askStub(t testing.TB, stub *stripestub.Stub, paused *fetch.EventRequestPaused) []byte {
	var body []byte
	for _, part := range paused.Request.PostDataEntries {
		body = append(body, part.Bytes...)
	}
	key, rest, _ := strings.Cut(strings.TrimPrefix(string(body), "key="), "&")
	request, err := http.NewRequest(paused.Request.Method, stub.URL+strings.TrimPrefix(paused.Request.URL, "https://api.stripe.com"), bytes.NewReader([]byte(rest)))
	if err != nil {
		t.Error(err)
		return nil
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	return content
}

// useStripe makes Stripe the only provider of the first partner's payments, without the permission to send cards.
func (s *site) useStripe(t *testing.T) *stripestub.Stub {
	t.Helper()
	stub := stripestub.New(t, stripestub.Options{Clock: clock.Real{}})
	admin := s.Admin().With("x-organization-id", s.Sandbox.OrganizationID)
	list := s.send(t, admin, "GET", "/terminals?limit=100", nil, http.StatusOK)
	terminals, _ := list["data"].([]any)
	for _, terminal := range terminals {
		id := object(terminal.(map[string]any)).at("id")
		s.send(t, admin, "PATCH", "/terminal/"+id, `{"is_active":false}`, http.StatusOK)
	}
	params, err := json.Marshal(map[string]any{
		"secret_key": stripestub.DefaultSecretKey, "publishable_key": stripestub.DefaultPublishableKey, "api_base": stub.URL, "poll_seconds": 86400,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.send(t, admin, "POST", "/terminal", `{"partner_id":`+object{"n": s.Sandbox.PartnerID}.at("n")+`,"name":"Stripe","provider":"stripe","type":"payment","env":"test","provider_params":`+string(params)+`}`, http.StatusCreated)
	return stub
}

// The payer gives the card to Stripe, in fields that Stripe's script shows on our page. The page's policy allows no more than that
// needs, so the browser logs no violation.
func TestPayerGivesTheCardToStripe(t *testing.T) {
	s := newSite(t)
	stub := s.useStripe(t)
	for _, v := range []view{desktop, {lang: "ar", width: 320, scripts: true, isDark: true}} {
		t.Run(v.lang, func(t *testing.T) {
			tb := s.open(t, v)
			tb.answerStripe(stub)
			id, address := s.hosted(t, "payment", `"amount":"1250","currency":"USD"`)
			tb.visit(address)
			if tb.has("input[name=cardnumber]") {
				tb.fatal("our page asks for the card")
			}
			tb.press(submitButton)
			tb.waitUntilReady()
			tb.keepScreenshot("elements-" + v.lang)
			tb.payStripe("4000000000000002")
			tb.waitForText("Your card was declined.")
			if got := s.status(t, id); got != "action_required" {
				t.Errorf("after a declined card the payment is %s", got)
			}
			tb.payStripe("4242424242424242")
			tb.waitFor("the way back", func(d document) bool {
				return d.isLoaded && strings.Contains(d.url, "/pay/") && s.status(t, id) == "charged"
			})
			problems, urls := tb.events.take()
			for _, url := range urls {
				if !strings.HasPrefix(url, s.BaseURL) && !strings.HasPrefix(url, s.merchant.address("")) && !strings.HasPrefix(url, "https://js.stripe.com/") && !strings.HasPrefix(url, "https://api.stripe.com/") {
					problems = append(problems, "a request to "+url)
				}
			}
			if len(problems) > 0 {
				t.Errorf("the browser says %q", problems)
			}
		})
	}
	t.Run("Stripe is not reached", func(t *testing.T) {
		tb := s.open(t, desktop)
		_, address := s.hosted(t, "payment", `"amount":"1250","currency":"USD"`)
		tb.visit(address)
		tb.press(submitButton)
		tb.waitForText("The fields for the card could not be shown.")
		tb.press(cancelButton)
	})
	t.Run("without scripts", func(t *testing.T) {
		v := desktop
		v.scripts = false
		tb := s.open(t, v)
		_, address := s.hosted(t, "payment", `"amount":"1250","currency":"USD"`)
		tb.visit(address)
		tb.press(submitButton)
		tb.waitForText("This step needs JavaScript.")
	})
}

// waitUntilReady waits until the payer can confirm.
func (tb *tab) waitUntilReady() {
	tb.t.Helper()
	evaluate[bool](tb, `new Promise(resolve => {
		const look = () => document.querySelector("[data-elements] button")?.disabled === false ? resolve(true) : setTimeout(look, 20);
		look();
	})`)
}

// payStripe types a card into Stripe's frame, and presses our button.
func (tb *tab) payStripe(number string) {
	tb.t.Helper()
	tb.waitUntilReady()
	frames, err := chromedp.Run(tb.ctx, chromedp.Nodes(chromedp.CSS("iframe")))
	if err != nil || len(frames) != 1 {
		tb.fatal(fmt.Sprintf("%d frames: %v", len(frames), err))
	}
	field := chromedp.CSS("#number")
	tb.do(chromedp.SendKeys(field, number, chromedp.FromNode(frames[0])))
	tb.do(click("[data-elements] button"))
}

func (tb *tab) waitForText(text string) {
	tb.t.Helper()
	evaluate[bool](tb, `new Promise(resolve => {
		const look = () => document.body.innerText.includes("`+text+`") ? resolve(true) : setTimeout(look, 20);
		look();
	})`)
}
