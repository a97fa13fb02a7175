package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// foundBy returns the kind, id and field of each record that a search finds.
func foundBy(c caller, text string) string {
	c.fixture.t.Helper()
	answer := c.get("/api/v1/search?q="+strings.ReplaceAll(text, " ", "+")).want(200, "")
	var rows []string
	for i := 0; ; i++ {
		row := fmt.Sprintf("data.hits.%d.", i)
		kind := answer.at(row + "kind")
		if kind == "(absent)" {
			return strings.Join(rows, "; ")
		}
		rows = append(rows, kind+" "+answer.at(row+"id")+" "+answer.at(row+"field"))
	}
}

func TestSearchFindsRecordsByWhatIdentifiesThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	operator := f.admin()
	partner := operator.post("/api/v1/partners", `{"name":"Samovar Shop","login":"samovar","pass":"nine-Lions-paint","email":"Tea@samovar.example"}`).want(201, "").at("data.id")
	key := operator.post("/api/v1/api_keys", `{"name":"kettle","partner_id":`+partner+`}`).want(201, "")
	user := operator.post("/api/v1/users", `{"login":"amina","name":"Amina Karim","pass":"correct-horse-battery-9","roles":["auditor"]}`).want(201, "").at("data.id")
	terminal := operator.post("/api/v1/terminal", `{"name":"Teapot cards","provider":"simulator","type":"payment","env":"test","partner_id":`+partner+`}`).want(201, "").at("data.id")
	limit := operator.post("/api/v1/limits", `{"partner_id":1,"kind":"velocity","max_count":100000,"window":"minute","env":"test"}`).want(201, "").at("data.id")
	payment := f.partner().post("/api/v1/transactions", paymentBody(`"txid":"order-search-1","amount":"1000","currency":"USD"`)).want(201, "").at("id")
	for text, want := range map[string]string{
		partner: "partner " + partner + " id", "SAMOVAR": "partner " + partner + " login", "tea@samovar.example": "partner " + partner + " email", "mov": "partner " + partner + " name",
		"amina": "user " + user + " login", user: "user " + user + " id", "Karim": "user " + user + " name", terminal: "terminal " + terminal + " id", "teapot": "terminal " + terminal + " name",
		key.at("key"): "api_key " + key.at("id") + " prefix", key.at("id"): "api_key " + key.at("id") + " id", limit: "limit " + limit + " id",
		payment: "transaction " + payment + " id", "order-search-1": "transaction " + payment + " txid", "4242": "transaction " + payment + " last4",
		"mo": "", "no such thing": "", "00000000-0000-4000-8000-000000000001": "",
	} {
		if got := foundBy(operator, text); got != want {
			t.Errorf("%q finds %q, want %q", text, got, want)
		}
	}
	if got := foundBy(f.bearer(string(f.seed.AdminToken), f.seed.Second.Org), payment); got != "" {
		t.Errorf("another organization finds %q", got)
	}
}

// A payment is found by each of its values at once, after it is in the index, and after a restart.
func TestSearchFindsAPaymentByEachOfItsValues(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	answer := f.partner().post("/api/v1/transactions", paymentBody(`"txid":"Order-search-2","amount":"1000","currency":"USD","customer":{"email":"Amina@Shop.example"}`)).want(201, "")
	payment, rrn := answer.at("id"), answer.at("rrn")
	for _, step := range []func(){
		func() {},
		func() { must(t, f.follower.Follow()) },
		f.restart,
	} {
		step()
		for text, field := range map[string]string{"order-SEARCH-2": "txid", rrn: "rrn", "amina@shop.example": "email", "4242": "last4"} {
			if got, want := foundBy(f.admin(), text), "transaction "+payment+" "+field; got != want {
				t.Errorf("%q finds %q, want %q", text, got, want)
			}
			if got := foundBy(f.bearer(string(f.seed.AdminToken), f.seed.Second.Org), text); got != "" {
				t.Errorf("another organization finds %q", got)
			}
		}
	}
}

func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	operator := f.admin()
	for i := range 55 {
		operator.post("/api/v1/api_keys", fmt.Sprintf(`{"name":"many %d","partner_id":1}`, i)).want(201, "")
	}
	answer := operator.get("/api/v1/search?q=many").want(200, "")
	if answer.at("data.hits.49.kind") != "api_key" || answer.at("data.hits.50.kind") != "(absent)" || answer.at("data.complete") != "false" {
		t.Errorf("55 keys: %s", answer.body)
	}
	for range 51 {
		f.partner().post("/api/v1/transactions", paymentBody(`"amount":"1000","currency":"USD"`)).want(201, "")
	}
	answer = operator.get("/api/v1/search?q=4242").want(200, "")
	if answer.at("data.hits.49.kind") != "transaction" || answer.at("data.hits.50.kind") != "(absent)" || answer.at("data.complete") != "false" {
		t.Errorf("51 payments: %s", answer.body)
	}
	operator.get("/api/v1/search").want(422, "")
	operator.get("/api/v1/search?q=+").want(422, "")
	operator.get("/api/v1/search?q="+strings.Repeat("x", 201)).want(422, "")
	operator.get("/api/v1/search?q=x&p=1").want(422, "")
}
