package stripestub

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestKeysOfTheAPI(t *testing.T) {
	f := start(t, Options{SecretKey: "sk_test_a"})
	basic := func(key string) string {
		return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(key+":"))
	}
	for header, want := range map[string]int{
		"Authorization: Bearer sk_test_a": 200, basic("sk_test_a"): 200, "Authorization: Bearer sk_test_b": 401, basic("sk_test_b"): 401,
		"Authorization: ": 401,
	} {
		r := f.send(http.MethodGet, "/v1/balance", "", []string{header})
		if r.expect(want); r.header.Get("Request-Id") == "" {
			t.Errorf("%s: no Request-Id", header)
		}
	}
	ok := "Authorization: Bearer sk_test_a"
	f.send(http.MethodGet, "/v1/balance", "", []string{ok, "Stripe-Version: 2026-03-25.dahlia"}).expect(200)
	f.send(http.MethodGet, "/v1/balance", "", []string{ok, "Stripe-Version: newest"}).expect(400)
	f.send(http.MethodGet, "/v1/nothing", "", []string{ok}).expect(404, "error.type", "invalid_request_error")
	f.send(http.MethodDelete, "/v1/balance", "", []string{ok}).expect(404)
}

func TestWrongParameters(t *testing.T) {
	f := start(t, Options{})
	const base = "amount=1000&currency=usd"
	for form, want := range map[string][2]string{
		"currency=usd":                  {"parameter_missing", "amount"},
		"amount=1000":                   {"parameter_missing", "currency"},
		"amount=1000&currency=":         {"parameter_invalid_empty", "currency"},
		base + "&amuont=1":              {"parameter_unknown", "amuont"},
		base + "&customer=cus_none":     {"resource_missing", "customer"},
		base + "&payment_method=pm_no":  {"resource_missing", "payment_method"},
		base + "&payment_method=pm_no&": {"resource_missing", "payment_method"},
	} {
		f.post("/v1/payment_intents", form).expect(400, "error.type", "invalid_request_error", "error.code", want[0], "error.param", want[1])
	}
	for _, more := range []string{
		"capture_method=sometimes", "confirm=yes", "payment_method_types[]=bitcoin", "off_session=true", "return_url=https://shop.example",
		"metadata[" + strings.Repeat("k", 41) + "]=v", "metadata[k]=" + strings.Repeat("v", 501), many(51),
	} {
		f.post("/v1/payment_intents", base+"&"+more).expect(400, "error.type", "invalid_request_error")
	}
	f.post("/v1/payment_intents", base+"&metadata["+strings.Repeat("k", 40)+"]="+strings.Repeat("v", 500)).expect(200)
	f.post("/v1/payment_intents", base+"&"+many(50)).expect(200)
}

func many(n int) string {
	pairs := make([]string, n)
	for i := range pairs {
		pairs[i] = fmt.Sprintf("metadata[k%d]=v", i)
	}
	return strings.Join(pairs, "&")
}

// docs.stripe.com/api/pagination: newest first, cursors are ids, created has a range.
func TestPagesOfLists(t *testing.T) {
	f := start(t, Options{})
	id := f.pay("pm_card_visa", "1000", "usd", "r1").id()
	var ids []string // newest first
	for range 12 {
		f.advance(time.Second)
		ids = append([]string{f.post("/v1/refunds", "amount=10&payment_intent="+id).expect(200).id()}, ids...)
	}
	f.get("/v1/refunds", "").expect(200, "object", "list", "url", "/v1/refunds", "has_more", true, "data.0.id", ids[0], "data.9.id", ids[9])
	f.get("/v1/refunds", "starting_after="+ids[9]).expect(200, "has_more", false, "data.0.id", ids[10], "data.1.id", ids[11], "data.2", nil)
	f.get("/v1/refunds", "limit=2&ending_before="+ids[5]).expect(200, "has_more", true, "data.0.id", ids[3], "data.1.id", ids[4], "data.2", nil)
	f.get("/v1/refunds", "starting_after=re_none").expect(400, "error.code", "resource_missing", "error.param", "starting_after")
	for limit, want := range map[string]int{"0": 400, "1": 200, "100": 200, "101": 400} {
		f.get("/v1/refunds", "limit="+limit).expect(want)
	}
	at := func(second int) string { return fmt.Sprint(startTime.Add(time.Duration(second) * time.Second).Unix()) }
	f.get("/v1/refunds", "created[gte]="+at(3)+"&created[lt]="+at(5)).expect(200, "data.0.id", ids[12-4], "data.1.id", ids[12-3], "data.2", nil)
	f.get("/v1/refunds", "created[gt]="+at(11)).expect(200, "data.0.id", ids[0], "data.1", nil)
	f.get("/v1/refunds", "created="+at(1)).expect(200, "data.0.id", ids[11], "data.1", nil)
	f.get("/v1/refunds", "payment_intent=pi_none").expect(200, "data.0", nil)
	f.get("/v1/refunds/"+id, "").expect(404) // an id of another type
}

func TestExpansions(t *testing.T) {
	f := start(t, Options{})
	id := f.pay("pm_card_visa", "1000", "usd", "r1").id()
	f.Settle()
	path := "/v1/payment_intents/" + id
	f.get(path, "expand[]=latest_charge.balance_transaction.source&expand[]=payment_method").expect(200, "latest_charge.balance_transaction.source.object", "charge", "payment_method.object", "payment_method")
	f.get("/v1/charges", "expand[0]=data.payment_intent").expect(200, "data.0.payment_intent.id", id)
	f.get(path, "expand[]=amount").expect(400)
	f.get(path, "expand[]=nothing").expect(400)
	f.get(path, "expand[]=latest_charge.payment_intent.latest_charge.payment_intent.latest_charge").expect(400)
	f.get(path, "expand[]=customer").expect(200, "customer", nil)
	f.get(path, "").expect(200) // nothing of this is remembered
	f.advance(DefaultSearchDelay)
	event := f.id("/v1/events", "type=payment_intent.succeeded")
	for _, c := range []struct{ path, query, expand, member string }{
		{path, "", "latest_charge", "latest_charge"},
		{"/v1/payment_intents/search", "query=currency:'usd'", "data.latest_charge", "data.0.latest_charge"},
		{"/v1/events/" + event, "", "data.object.latest_charge", "data.object.latest_charge"},
	} {
		f.get(c.path, c.query+"&expand[]="+c.expand).expect(200, c.member+".object", "charge")
		if r := f.get(c.path, c.query); r.text(c.member) == "" {
			t.Errorf("an expansion has changed the object: %s", r.body)
		}
	}
}

// docs.stripe.com/search: an object and its changes are found only after a while.
func TestSearchIsLate(t *testing.T) {
	f := start(t, Options{})
	id := f.post("/v1/payment_intents", "amount=1000&currency=usd&metadata[reference]=r1").id()
	search := func(query string) reply { return f.get("/v1/payment_intents/search", "query="+query) }
	search("metadata['reference']:'r1'").expect(200, "object", "search_result", "data.0", nil)
	f.advance(DefaultSearchDelay)
	search(`metadata["reference"]:"r1"`).expect(200, "data.0.id", id, "data.1", nil)
	f.post("/v1/payment_intents/"+id+"/cancel", "")
	search("status:'canceled'").expect(200, "data.0", nil)
	search("status:'requires_payment_method'").expect(200, "data.0.id", id)
	f.advance(DefaultSearchDelay)
	for query, want := range map[string]any{
		"status:'canceled' AND amount>999": id, "status:'canceled' AND amount>1000": nil, "status:'succeeded' OR currency:'usd'": id,
		"-metadata['reference']:'r1'": nil, "created>=0 AND metadata['reference']:'r1'": id,
	} {
		search(query).expect(200, "data.0.id", want)
	}
	for _, query := range []string{"", "status", "color:'red'", "amount>x", "status:'a' AND status:'b' OR status:'c'"} {
		search(query).expect(400)
	}
	f.post("/v1/payment_intents", "amount=1000&currency=usd")
	f.advance(DefaultSearchDelay)
	page := f.get("/v1/payment_intents/search", "limit=1&query=currency:'usd'").expect(200, "has_more", true)
	f.get("/v1/payment_intents/search", "limit=1&query=currency:'usd'&page="+page.text("next_page")).expect(200, "data.0.id", id, "has_more", false, "next_page", nil)
}
