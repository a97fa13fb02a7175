package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger/directory"
)

const blocklistPath = "/api/v1/blocklist"

func (f *fixture) addToBlocklist(kind, value string) *response {
	f.t.Helper()
	return f.admin().post(blocklistPath, `{"kind":"`+kind+`","value":"`+value+`"}`).want(201, "")
}

func TestBlocklistEntryIsAddedAndRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	entry := f.addToBlocklist("email", "Anna@Example.com")
	entry.wantFields(map[string]string{
		"data.kind": "email", "data.value": "anna@example.com", "data.active": "true", "data.updated_at": entry.at("data.created_at"),
	})
	if !strings.HasPrefix(entry.at("data.created_at"), "2026-09-03T10:15:30.") {
		t.Errorf("%s", entry.body)
	}
	path := blocklistPath + "/" + entry.at("data.id")
	f.admin().get(path).want(200, entry.body)
	payer := directory.Payer{Email: "anna@example.com"}
	if kind, blocked := f.directory.Blocked(f.seed.First.Org, &payer); kind != "email" || !blocked {
		t.Errorf("blocked by %q %v", kind, blocked)
	}
	if _, blocked := f.directory.Blocked(f.seed.Second.Org, &payer); blocked {
		t.Error("blocked by another organization's list")
	}
	if r := f.admin().post(blocklistPath, `{"kind":"email","value":"ANNA@example.com"}`).want(409, ""); r.at("error") != "conflict" {
		t.Errorf("%s", r.body)
	}
	f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":60}`).want(200, "")
	deleted := f.admin().do("DELETE", path, "").want(200, "")
	deleted.wantFields(map[string]string{
		"data.active": "false", "data.created_at": entry.at("data.created_at"), "data.updated_at": "2026-09-03T10:16:30.123456+00:00",
	})
	f.admin().do("DELETE", path, "").want(200, deleted.body)
	f.admin().get(path).want(200, deleted.body)
	if f.directory.HasBlocks(f.seed.First.Org) {
		t.Error("what was taken off is in force")
	}
	reactivated := f.addToBlocklist("email", "anna@example.com")
	reactivated.wantFields(map[string]string{"data.id": entry.at("data.id"), "data.active": "true", "data.created_at": entry.at("data.created_at")})
	f.admin().do("DELETE", blocklistPath+"/"+uuid.NewString(), "").want(404, "")
	f.admin().do("DELETE", blocklistPath+"/x", "").want(404, "")
	f.admin().get(blocklistPath+"/"+uuid.NewString()).want(404, "")
	events := f.auditor().get(ledgerPath+"/events?limit=3").want(200, "")
	events.wantFields(map[string]string{"data.2.event": "create", "data.1.event": "deactivate", "data.0.event": "activate", "data.0.source": entry.at("data.id")})
}

func TestBlocklistIsListedByKind(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	binID, russiaID, kazakhstanID := f.addToBlocklist("bin", "424242").at("data.id"), f.addToBlocklist("country", "ru").at("data.id"), f.addToBlocklist("country", "KZ").at("data.id")
	emiratesID := f.addToBlocklist("country", "AE").at("data.id")
	f.admin().do("DELETE", blocklistPath+"/"+emiratesID, "").want(200, "")
	for query, want := range map[string]string{"": kazakhstanID + " " + russiaID + " " + binID, "?kind=country": kazakhstanID + " " + russiaID, "?kind=bin": binID, "?kind=card": ""} {
		if ids := columnOfPages(t, f.admin(), blocklistPath+query, 1, "id"); strings.Join(ids, " ") != want {
			t.Errorf("%s: %v, want %s", query, ids, want)
		}
	}
	if list := f.admin().with("x-organization-id", f.seed.Second.Org.String()).get(blocklistPath).want(200, ""); list.rows() != 0 {
		t.Errorf("%s", list.body)
	}
	for query, field := range map[string]string{"page=1": "page", "limit=0": "limit", "cursor=x": "cursor", "kind=name": "kind", "kind=": "kind", "value=RU": "value"} {
		if r := f.admin().get(blocklistPath+"?"+query).want(422, ""); r.at("errors.0.field") != field {
			t.Errorf("%s: %s", query, r.body)
		}
	}
}

func TestBlocklistRefusesInvalidValues(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for body, want := range map[string]string{
		`{}`:                                                         "kind: kind is required|value: value is required",
		`{"value":"RU"}`:                                             "kind: kind is required",
		`{"kind":1,"value":"RU"}`:                                    "kind: kind must be a string",
		`{"kind":"name","value":"RU"}`:                               "kind: must be bin, card, email, phone, ip or country",
		`{"kind":"country"}`:                                         "value: value is required",
		`{"kind":"country","value":7}`:                               "value: value must be a string",
		`{"kind":"country","value":"RUS"}`:                           "value: must be the two letters of a country (ISO 3166-1)",
		`{"kind":"country","value":"XX"}`:                            "value: must be the two letters of a country (ISO 3166-1)",
		`{"kind":"country","value":"UK"}`:                            "value: must be the two letters of a country (ISO 3166-1)",
		`{"kind":"bin","value":"42424"}`:                             "value: must be the first 6 to 8 digits of card numbers, which don't begin with 0",
		`{"kind":"bin","value":"424242424"}`:                         "value: must be the first 6 to 8 digits of card numbers, which don't begin with 0",
		`{"kind":"email","value":"anna"}`:                            "value: must be an e-mail address",
		`{"kind":"phone","value":"1234"}`:                            "value: must be a telephone number of 5 to 15 digits",
		`{"kind":"ip","value":"192.0.2.0/33"}`:                       "value: must be an IP address or a CIDR prefix",
		`{"kind":"ip","value":"192.0.2.0/x"}`:                        "value: must be an IP address or a CIDR prefix",
		`{"kind":"card"}`:                                            "value: value is required",
		`{"kind":"card","value":null}`:                               "value: value is required",
		`{"kind":"card","value":424242424242}`:                       "value: value must be a string",
		`{"kind":"card","value":"42424242424"}`:                      "value: invalid cardnumber",
		`{"kind":"card","value":"04242424242424242"}`:                "value: invalid cardnumber",
		`{"kind":"bin","value":"042424"}`:                            "value: must be the first 6 to 8 digits of card numbers, which don't begin with 0",
		`{"kind":"card","value":"4242424242424241"}`:                 "value: invalid cardnumber",
		`{"kind":"card","value":"4242 4242 4242 4242"}`:              "value: invalid cardnumber",
		`{"kind":"card","value":"0123456789abcdef0123456789abcdef"}`: "value: invalid cardnumber",
		`{"kind":"card","value":"42424242424242424242"}`:             "value: invalid cardnumber",
	} {
		if r := f.admin().post(blocklistPath, body); r.status != 422 || r.fieldProblems() != want {
			t.Errorf("%s: %d %s, want %s", body, r.status, r.body, want)
		}
	}
	f.admin().post(blocklistPath, `{"kind":"country","value":"RU","value":"KZ"}`).want(400, "")
	if list := f.admin().get(blocklistPath).want(200, ""); list.rows() != 0 {
		t.Errorf("what was refused is there: %s", list.body)
	}
}

// A listed card is identified by its keyed fingerprint, as the card of a transaction is. No response,
// log or file contains the card's number.
func TestBlocklistedCardNumberIsStoredNowhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const escapedNumber, number = `5105\u003105105105100`, "5105105105105100"
	created := f.admin().with("idempotency-key", "one").post(blocklistPath, `{"kind":"card","value":"`+escapedNumber+`"}`).want(201, "")
	created.wantFields(map[string]string{"data.kind": "card", "data.value": "510510******5100"})
	replay := f.admin().with("idempotency-key", "one").post(blocklistPath, `{"kind":"card","value":"`+escapedNumber+`"}`).want(201, created.body)
	if replay.header.Get("x-idempotent-replay") != "true" {
		t.Error("no replay")
	}
	f.admin().with("idempotency-key", "one").post(blocklistPath, `{"kind":"card","value":"`+number+`"}`).want(409, "")
	f.admin().post(blocklistPath, `{"kind":"card","value":"`+number+`"}`).want(409, "")
	payer := directory.Payer{Card: f.Keyring.Fingerprint([]byte(number))}
	if kind, blocked := f.directory.Blocked(f.seed.First.Org, &payer); kind != "card" || !blocked {
		t.Errorf("blocked by %q %v", kind, blocked)
	}
	if list := f.admin().get(blocklistPath); strings.Contains(list.body, number) || strings.Contains(list.body, payer.Card) {
		t.Errorf("%s", list.body)
	}
	f.stopServer()
	f.stopBackend()
	if strings.Contains(f.log.String(), number) {
		t.Error("the number is in the log")
	}
	fileCount := 0
	must(t, filepath.WalkDir(f.Dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		fileCount++
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), number) {
			t.Errorf("the number is in %s", path)
		}
		return err
	}))
	if fileCount == 0 {
		t.Error("there are no files")
	}
}

// With zeros in front a card number still passes the Luhn check, but matches no blocklist entry and
// no limit. Every request that takes a card number must therefore refuse it.
func TestCardNumberWithALeadingZeroIsRefusedEverywhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.admin().post(blocklistPath, `{"kind":"card","value":"4242424242424242"}`).want(201, "")
	f.admin().post(blocklistPath, `{"kind":"bin","value":"555555"}`).want(201, "")
	const invalid = `{"errors":[{"code":"invalid","detail":"invalid cardnumber","field":"%s"}]}`
	for _, number := range []string{"04242424242424242", "0004242424242424242", "005555555555554444"} {
		storage := `"money_storage":{"type":"bank_card","cardnumber":"` + number + `",` + cardRest + `}`
		for _, kind := range []string{"payment", "payout"} {
			f.partner().post(transactions, `{"params":{"env":"test","type":"`+kind+`","amount":"1250","currency":"USD","returnUrl":"`+returnURL+`","failUrl":"`+failURL+`",`+storage+`}}`).
				want(422, fmt.Sprintf(invalid, "money_storage.cardnumber"))
		}
		transaction := f.createHosted("")
		f.partner().post(transactions+"/continue/"+transaction.at("id"), `{`+storage+`}`).want(422, fmt.Sprintf(invalid, "money_storage.cardnumber"))
		action, _ := f.browse(transaction.at("widget_url")).form()
		f.send(action, card(number)).wantPage(422, checkoutTitle, "Check the card number")
		f.transaction(transaction.at("id")).wantStatus("created", "")
		f.admin().post(blocklistPath, `{"kind":"card","value":"`+number+`"}`).want(422, fmt.Sprintf(invalid, "value"))
	}
	f.admin().post(blocklistPath, `{"kind":"bin","value":"055555"}`).want(422, "")
}
