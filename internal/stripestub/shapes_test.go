package stripestub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mizan/internal/testkit"
)

// schema is a part of Stripe's OpenAPI description.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       string             `json:"type"`
	Nullable   bool               `json:"nullable"`
	Enum       []any              `json:"enum"`
	AnyOf      []*schema          `json:"anyOf"`
	Items      *schema            `json:"items"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Additional json.RawMessage    `json:"additionalProperties"`
}

type operation struct {
	Parameters []struct {
		Name, In string
		Schema   *schema
	}
	RequestBody struct {
		Content map[string]struct{ Schema *schema }
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema *schema }
	}
}

// description is Stripe's OpenAPI description, which stripe-mock embeds.
type description struct {
	Components struct{ Schemas map[string]*schema }
	Paths      map[string]map[string]*operation
}

// mockModule is where stripe-mock's module is, or why it can't be had.
var mockModule = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "list", "-modfile="+filepath.Join("tools", "go.mod"), "-m", "-f", "{{.Dir}}", "github.com/stripe/stripe-mock")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
})

func readDescription(t *testing.T) *description {
	t.Helper()
	testkit.Tool(t, "stripe-mock") // skips the test where it can't be built, and downloads the module
	dir, err := mockModule()
	if err != nil {
		t.Skipf("skipped, because the module of stripe-mock can't be found: %v", err)
	}
	content, err := os.ReadFile(filepath.Join(dir, "embedded", "openapi", "spec3.json"))
	if err != nil {
		t.Fatal(err)
	}
	d := new(description)
	if err := json.Unmarshal(content, d); err != nil {
		t.Fatal(err)
	}
	return d
}

// faults lists where a value of JSON does not have the form of the schema: a member that Stripe does not know, a required one
// that is missing, a wrong type, null where there is none, a value that is not in the list.
func (d *description) faults(place string, s *schema, value any) []string {
	if s.Ref != "" {
		s = d.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
	}
	fault := func(format string, args ...any) []string {
		return []string{place + ": " + fmt.Sprintf(format, args...)}
	}
	switch {
	case value == nil && s.Nullable:
		return nil
	case value == nil:
		return fault("null")
	case len(s.AnyOf) > 0:
		var best []string
		for i, alternative := range s.AnyOf {
			found := d.faults(place, alternative, value)
			if len(found) == 0 {
				return nil
			}
			if i == 0 || len(found) < len(best) {
				best = found
			}
		}
		return best
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, value):
		return fault("%v is not in the list", value)
	}
	switch v := value.(type) {
	case map[string]any:
		if s.Type != "object" {
			return fault("an object, want %s", s.Type)
		}
		return d.memberFaults(place, s, v)
	case []any:
		if s.Type != "array" {
			return fault("a list, want %s", s.Type)
		}
		var all []string
		for i, row := range v {
			all = append(all, d.faults(fmt.Sprintf("%s.%d", place, i), s.Items, row)...)
		}
		return all
	case string:
		if s.Type != "string" {
			return fault("a text, want %s", s.Type)
		}
	case bool:
		if s.Type != "boolean" {
			return fault("a boolean, want %s", s.Type)
		}
	case float64:
		if s.Type != "number" && (s.Type != "integer" || v != float64(int64(v))) {
			return fault("a number, want %s", s.Type)
		}
	}
	return nil
}

func (d *description) memberFaults(place string, s *schema, value map[string]any) (all []string) {
	for _, name := range s.Required {
		if _, has := value[name]; !has {
			all = append(all, place+"."+name+": missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if member, isKnown := s.Properties[name]; isKnown {
			all = append(all, d.faults(place+"."+name, member, value[name])...)
		} else if s.Properties != nil && len(s.Additional) == 0 {
			all = append(all, place+"."+name+": unknown to Stripe")
		}
	}
	return all
}

// answerFaults compares an answer of the stub with the description of its call.
func (d *description) answerFaults(r reply) []string {
	found, _ := findRoute(r.method, r.path)
	code := "default"
	if r.status == 200 {
		code = "200"
	}
	if found == nil {
		return d.faults("error", d.Components.Schemas["error"], r.json)
	}
	op := d.Paths[found.path][strings.ToLower(found.method)]
	if op == nil {
		return []string{found.path + ": unknown to Stripe"}
	}
	place := fmt.Sprintf("%s %s %d", found.method, found.path, r.status)
	all := d.faults(place, op.Responses[code].Content["application/json"].Schema, r.json)
	return append(all, d.eventFaults(place, r.json)...)
}

// eventFaults compares the objects in events, which the description of events leaves open.
func (d *description) eventFaults(place string, value any) (all []string) {
	switch v := value.(type) {
	case []any:
		for _, row := range v {
			all = append(all, d.eventFaults(place, row)...)
		}
	case map[string]any:
		if v["object"] == "list" {
			return d.eventFaults(place, v["data"])
		}
		if v["object"] == "event" {
			inner := v["data"].(map[string]any)["object"].(map[string]any)
			return d.faults(fmt.Sprintf("%s %v", place, v["type"]), d.Components.Schemas[inner["object"].(string)], inner)
		}
	}
	return all
}

// scenario makes every call of the stub at least once with status 200, in as many states of objects as there are, and calls
// with each kind of error.
func scenario(f *fixture) {
	const intents, card = "/v1/payment_intents", "payment_method_types[]=card&confirm=true&payment_method="
	customer := f.post("/v1/customers", "name=A Payer&email=payer@shop.example&metadata[reference]=c1").id()
	f.get("/v1/customers/"+customer, "")
	raw := f.post("/v1/payment_methods", "type=card&card[number]=4242424242424242&card[exp_month]=12&card[exp_year]=2030&card[cvc]=123&billing_details[name]=A Payer&billing_details[address][country]=DE")
	f.post("/v1/payment_methods/"+raw.id()+"/attach", "customer="+customer)
	f.get("/v1/payment_methods/"+raw.id(), "expand[]=customer")
	f.post(intents, "amount=1000&currency=usd&setup_future_usage=off_session&customer="+customer+"&statement_descriptor_suffix=ORDER 7&"+card+raw.id())
	f.post(intents, "amount=1000&currency=usd&off_session=true&customer="+customer+"&"+card+raw.id())
	f.post("/v1/payment_methods/"+raw.id()+"/detach", "")
	bare := f.post(intents, "amount=700&currency=jpy&automatic_payment_methods[enabled]=true").id()
	f.post(intents+"/"+bare, "description=changed&metadata[k]=v")
	f.post(intents+"/"+bare+"/cancel", "cancellation_reason=abandoned")
	held := f.post(intents, "amount=1000&currency=usd&capture_method=manual&"+card+"pm_card_visa").id()
	f.get("/v1/charges", "payment_intent="+held+"&expand[]=data.payment_intent")
	f.post(intents+"/"+held+"/capture", "amount_to_capture=600&expand[]=latest_charge.balance_transaction")
	f.post(intents, "amount=1000&currency=usd&"+card+"pm_card_visa_chargeDeclinedInsufficientFunds")
	challenged := f.post(intents, "amount=1000&currency=usd&return_url=https://shop.example/back&"+card+"pm_card_authenticationRequired").id()
	_, _ = f.Authenticate(challenged, false)
	f.get(intents+"/"+challenged, "expand[]=last_payment_error.payment_method")
	f.post(intents+"/"+challenged+"/confirm", "payment_method=pm_card_authenticationRequired")
	_, _ = f.Authenticate(challenged, true)
	f.post(intents, "amount=1000&currency=usd&use_stripe_sdk=true&"+card+"pm_card_authenticationRequired")
	f.SlowProcessing(true)
	f.post(intents, "amount=1000&currency=usd&"+card+"pm_card_visa")
	f.SlowProcessing(false)
	for _, method := range []string{"pm_card_refundFail", "pm_card_pendingRefund", "pm_card_visa"} {
		paid := f.pay(method, "1000", "usd", "r-"+method).id()
		f.Settle()
		f.post("/v1/refunds", "amount=400&reason=requested_by_customer&metadata[reference]=x&payment_intent="+paid)
		f.get("/v1/charges/"+f.get(intents+"/"+paid, "").text("latest_charge"), "")
	}
	f.Settle()
	f.get("/v1/refunds", "")
	f.get("/v1/refunds/"+f.get("/v1/refunds", "limit=1").text("data.0.id"), "expand[]=charge.balance_transaction")
	f.pay("pm_card_createDispute", "1000", "usd", "d1")
	f.pay("pm_card_createDisputeInquiry", "1000", "usd", "d2")
	f.Settle()
	dispute := f.get("/v1/disputes", "").text("data.1.id")
	f.post("/v1/disputes/"+dispute, "evidence[uncategorized_text]=winning_evidence&submit=true")
	f.Settle()
	f.get("/v1/disputes/"+dispute, "expand[]=charge")
	f.post("/v1/disputes/"+f.get("/v1/disputes", "").text("data.0.id")+"/close", "")
	f.pay("pm_card_bypassPending", "9000", "usd", "p0")
	f.Settle()
	payout := f.post("/v1/payouts", "amount=500&currency=usd&metadata[reference]=p1").id()
	f.post("/v1/payouts/"+payout+"/cancel", "")
	failed := f.post("/v1/payouts", "amount=500&currency=usd").id()
	_ = f.FailPayout(failed, "account_closed")
	f.post("/v1/payouts", "amount=500&currency=usd")
	f.Settle()
	f.get("/v1/payouts/"+failed, "")
	f.get("/v1/payouts", "expand[]=data.balance_transaction")
	f.get("/v1/balance", "")
	f.get("/v1/balance_transactions", "limit=100&expand[]=data.source")
	f.get("/v1/balance_transactions/"+f.get("/v1/balance_transactions", "").text("data.0.id"), "")
	f.advance(DefaultSearchDelay)
	f.get(intents+"/search", "query=status:'succeeded'&limit=2")
	f.get("/v1/events", "limit=100")
	f.get("/v1/events/"+f.get("/v1/events", "").text("data.0.id"), "")
	// Errors.
	f.get("/v1/nowhere", "")
	f.get(intents+"/pi_none", "")
	f.post(intents, "amount=x&currency=usd")
	f.post(intents, "amount=1&currency=usd")
	f.post(intents+"/"+held+"/capture", "")
	f.send(http.MethodGet, intents+"/"+held, "", []string{"Authorization: Bearer wrong"})
	f.Plan(Fault{Effect: Fail, Status: 429, Code: "rate_limit"})
	f.get(intents+"/"+held, "")
	f.Plan(Fault{Effect: Fail, Status: 500})
	f.get(intents+"/"+held, "")
}

// Every answer and event has the shape that Stripe describes, and every call is among those that are compared.
func TestAnswersHaveStripesShapes(t *testing.T) {
	d := readDescription(t)
	f := start(t, Options{RawCards: true})
	scenario(f)
	seen := make(map[string]bool)
	for _, r := range f.answered {
		for _, fault := range d.answerFaults(r) {
			t.Error(fault)
		}
		if found, _ := findRoute(r.method, r.path); found != nil && r.status == 200 {
			seen[found.method+found.path] = true
		}
	}
	for _, r := range routes {
		if !seen[r.method+r.path] {
			t.Errorf("the scenario has no successful %s %s", r.method, r.path)
		}
	}
	for _, e := range f.Events() {
		var value any
		if err := json.Unmarshal(e.Body, &value); err != nil {
			t.Fatal(err)
		}
		for _, fault := range append(d.faults("event", d.Components.Schemas["event"], value), d.eventFaults("event", value)...) {
			t.Error(fault)
		}
	}
}

// The comparison finds a shape that is not Stripe's.
func TestWrongShapesAreFound(t *testing.T) {
	d := readDescription(t)
	f := start(t, Options{})
	sound := f.pay("pm_card_visa", "1000", "usd", "r1")
	for name, spoil := range map[string]func(object){
		"status: missing":              func(o object) { delete(o, "status") },
		"secret: unknown to Stripe":    func(o object) { o["secret"] = "x" },
		"amount: a text, want integer": func(o object) { o["amount"] = "1000" },
		"amount: a number, want integer": func(o object) {
			o["amount"] = 10.5
		},
		"status: paid is not in the list": func(o object) { o["status"] = "paid" },
		"currency: null":                  func(o object) { o["currency"] = nil },
		"payment_method_types: a text":    func(o object) { o["payment_method_types"] = "card" },
		"card.network: x is not":          func(o object) { o["payment_method_options"].(object)["card"].(object)["network"] = "x" },
	} {
		spoiled := sound
		spoiled.json = clone(sound.json)
		spoil(spoiled.json)
		if found := strings.Join(d.answerFaults(spoiled), "\n"); !strings.Contains(found, name) {
			t.Errorf("found %q, want %q", found, name)
		}
	}
	if found := d.answerFaults(sound); len(found) != 0 {
		t.Errorf("sound: %v", found)
	}
}

// value returns a value for a parameter that satisfies its type.
func (p param) value() (name, value string) {
	switch p.kind {
	case integer, timestamp:
		return p.name, "1"
	case boolean:
		return p.name, "true"
	case anyKey:
		return p.name + "[reference]", "r1"
	case texts:
		if p.name == "payment_method_types" {
			return p.name + "[]", "card"
		}
		return p.name + "[]", "id"
	}
	if len(p.oneOf) > 0 {
		return p.name, p.oneOf[len(p.oneOf)-1]
	}
	if p.name == "currency" {
		return p.name, "usd"
	}
	return p.name, "text"
}

// companions are the parameters that Stripe requires beside an optional one.
var companions = map[string][]string{
	"automatic_payment_methods[allow_redirects]": {"automatic_payment_methods[enabled]"},
	"card[number]":    {"card[exp_month]", "card[exp_year]"},
	"card[cvc]":       {"card[number]", "card[exp_month]", "card[exp_year]"},
	"card[exp_month]": {"card[number]", "card[exp_year]"},
	"card[exp_year]":  {"card[number]", "card[exp_month]"},
}

// Every path and parameter that the stub accepts is one that Stripe accepts: stripe-mock refuses others.
func TestParametersAreStripes(t *testing.T) {
	d := readDescription(t)
	address := testkit.StartStripeMock(t)
	ask := func(r route, values url.Values) (int, string) {
		t.Helper()
		target, body := address+strings.NewReplacer("{", "", "}", "").Replace(r.path), ""
		if r.method == http.MethodGet {
			target += "?" + values.Encode()
		} else {
			body = values.Encode()
		}
		request, err := http.NewRequest(r.method, target, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer sk_test_123")
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		answered, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(bytes.TrimSpace(answered))
	}
	for _, r := range routes {
		if d.Paths[r.path][strings.ToLower(r.method)] == nil {
			t.Errorf("%s %s: unknown to Stripe", r.method, r.path)
			continue
		}
		base := make(url.Values)
		for _, p := range r.params {
			if name, value := p.value(); p.isRequired {
				base.Set(name, value)
			}
		}
		if status, body := ask(r, base); status != 200 {
			t.Errorf("%s %s with its required parameters: stripe-mock answered %d %s", r.method, r.path, status, body)
		}
		for _, p := range r.params {
			values := maps.Clone(base)
			for _, other := range r.params {
				if slices.Contains(companions[p.name], other.name) {
					name, value := other.value()
					values.Set(name, value)
				}
			}
			name, value := p.value()
			values.Set(name, value)
			if p.name == "expand" { // stripe-mock expands, so the name must be one that can be expanded; the scenario has those
				continue
			}
			if status, body := ask(r, values); status != 200 {
				t.Errorf("%s %s?%s: stripe-mock answered %d %s", r.method, r.path, values.Encode(), status, body)
			}
		}
		base.Set("no_parameter_of_stripe", "1")
		if status, _ := ask(r, base); status == 200 {
			t.Errorf("%s %s: stripe-mock accepts every parameter, so this test proves nothing", r.method, r.path)
		}
	}
}
