package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

// maxErrorResponse bounds the response to bad input, in bytes.
const maxErrorResponse = 64 << 10

// However many faults a body or a query has, and however long it is, the response is short and has one of the specification's
// error formats.
func TestResponsesToBadInputAreBounded(t *testing.T) {
	t.Parallel()
	testkit.NotUnderRace(t, "large bodies are refused on the goroutine of their request")
	f := newFixture(t)
	const textSize = 1_000_000
	repeatElement := func(element string, size int) string {
		return strings.Repeat(element+",", size/(len(element)+1)) + element
	}
	list := func(element string) string { return repeatElement(element, textSize) }
	longText := strings.Repeat("x", textSize)
	for name, c := range map[string]struct{ method, path, body string }{
		"empty overdrafts":      {"PATCH", "/api/v1/partners/1", `{"overdraft_limit":[` + list(`{}`) + `]}`},
		"wrong overdrafts":      {"PATCH", "/api/v1/partners/1", `{"overdraft_limit":[` + list(`{"currency":"`+strings.Repeat("Ä", 20)+`","env":1,"network":2,"amount":3}`) + `]}`},
		"numbers as overdrafts": {"POST", "/api/v1/partners", `{"login":"a","name":"N","pass":"p","overdraft_limit":[` + list(`1`) + `]}`},
		"addresses":             {"PATCH", "/api/v1/partners/1", `{"source_addresses":[` + list(`"x"`) + `]}`},
		"a long address":        {"PATCH", "/api/v1/partners/1", `{"source_addresses":["` + longText + `"]}`},
		"a long currency":       {"POST", "/api/v1/limits", `{"partner_id":1,"kind":"` + longText[:textSize/3] + `","currency":"` + longText[:textSize/3] + `","env":"` + longText[:textSize/3] + `"}`},
		"modules":               {"POST", "/api/v1/organizations", `{"name":"N","type":"bank","modules":[` + repeatElement(`"m"`, textSize/2) + `],"allowed_regions":[` + repeatElement(`"r"`, textSize/2) + `]}`},
		"a long module":         {"POST", "/api/v1/organizations", `{"name":"N","type":"bank","modules":["` + longText + `"]}`},
		"roles":                 {"POST", users, `{"login":"x","name":"N","pass":"p","roles":[` + list(`"r"`) + `]}`},
		"unknown parameters":    {"POST", "/api/v1/terminal", `{"partner_id":1,"provider_params":{` + unknownMembers(textSize) + `}}`},
		"methods":               {"POST", "/api/v1/terminal", `{"partner_id":1,"provider_params":{"methods":[` + list(`"m"`) + `],"priority":"` + longText[:1000] + `"}}`},
		"chats":                 {"POST", "/api/v1/terminal", `{"partner_id":1,"merchant_params":{"tg_ids_to_notify":[` + list(`"m"`) + `],"emails_to_notify":[` + list(`"e"`)[:1000] + `"e"]}}`},
		"unknown fields":        {"POST", "/api/v1/partners", `{` + unknownMembers(textSize) + `}`},
		"a long login":          {"POST", sessions, `{"login":"` + longText[:60_000] + `","pass":"` + longText[:100] + `"}`},
		"query parameters":      {"GET", "/api/v1/ledger/entries?" + strings.Repeat("a&", 3_500), ""},
		"long query parameters": {"GET", "/api/v1/ledger/entries?" + strings.Repeat("%00%ff", 1_100), ""},
	} {
		sender := f.admin()
		if c.method == "GET" {
			sender = f.auditor()
		}
		r := sender.do(c.method, c.path, c.body)
		if r.status != 422 || len(r.body) > maxErrorResponse || !json.Valid([]byte(r.body)) {
			t.Errorf("%s: %d with %d bytes: %.200s", name, r.status, len(r.body), r.body)
		}
	}
	r := f.admin().patch("/api/v1/partners/1", `{"overdraft_limit":[{},{"amount":1}]}`).want(422, "")
	if !strings.Contains(r.body, `"overdraft_limit.0.amount"`) || !strings.Contains(r.body, `"overdraft_limit.1.currency"`) {
		t.Errorf("few problems are not all listed: %s", r.body)
	}
}

// unknownMembers returns about size bytes of JSON members that no request has.
func unknownMembers(size int) string {
	var text strings.Builder
	for i := 0; text.Len() < size-40; i++ {
		fmt.Fprintf(&text, `"unknown %d":{"a":[]},`, i)
	}
	return text.String() + `"last":1`
}
