package api_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// write is an administration request that changes something. Its name is also its idempotency key.
type write struct{ name, method, path, body string }

// allWrites returns one write of each kind, on records that the fixture has or creates.
func (f *fixture) allWrites() []write {
	f.t.Helper()
	const terminal = `{"name":"T","partner_id":1,"provider":"simulator","type":"payment","env":"test"}`
	organizationID := f.admin().post("/api/v1/organizations", `{"name":"O"}`).want(201, "").at("data.id")
	partnerID := f.admin().post("/api/v1/partners", `{"name":"P","login":"p","pass":"nine-Lions-paint"}`).want(201, "").at("id")
	terminalID, terminalToDeleteID := f.admin().post("/api/v1/terminal", terminal).want(201, "").at("data.id"), f.admin().post("/api/v1/terminal", terminal).want(201, "").at("data.id")
	keyID := f.admin().post("/api/v1/api_keys", `{"name":"k","partner_id":1}`).want(201, "").at("id")
	f.admin().put(ratesPath, `{"from":"EUR","to":"RUB","rate":"100"}`).want(200, "")
	limitPath := limitsPath + "/" + f.createLimit(velocityBody).at("data.id")
	listedID, inactiveID := f.addToBlocklist("country", "RU").at("data.id"), f.addToBlocklist("country", "KZ").at("data.id")
	f.admin().do("DELETE", blocklistPath+"/"+inactiveID, "").want(200, "")
	reportTerminal := f.admin().post("/api/v1/terminal", terminal).want(201, "").at("data.id")
	f.admin().importReport("terminal_id", reportTerminal, "format", "csv", "mapping", csvMapping, "file", csvHeader+"k,2026-09-01,charge,1000,0,USD,unknown\n").want(201, "")
	differenceID := f.admin().get(differencesPath+"?limit=1").want(200, "").at("data.0.id")
	return []write{
		{"POST organizations", "POST", "/api/v1/organizations", `{"name":"New"}`},
		{"PATCH organizations", "PATCH", "/api/v1/organizations/" + organizationID, `{"name":"Newer"}`},
		{"POST partners", "POST", "/api/v1/partners", `{"name":"New","login":"new","pass":"nine-Lions-paint"}`},
		{"PATCH partners", "PATCH", "/api/v1/partners/" + partnerID, `{"name":"Newer"}`},
		{"DELETE partners", "DELETE", "/api/v1/partners/" + partnerID, ""},
		{"POST terminal", "POST", "/api/v1/terminal", terminal},
		{"PATCH terminal", "PATCH", "/api/v1/terminal/" + terminalID, `{"name":"Newer"}`},
		{"DELETE terminal", "DELETE", "/api/v1/terminal/" + terminalToDeleteID, ""},
		{"POST api_keys", "POST", "/api/v1/api_keys", `{"name":"new","partner_id":1,"expires_at":"2027-01-01T00:00:00Z"}`},
		{"DELETE api_keys", "DELETE", "/api/v1/api_keys/" + keyID, ""},
		{"PUT rates, a new one", "PUT", ratesPath, `{"from":"USD","to":"RUB","rate":"92.5"}`},
		{"PUT rates, another value", "PUT", ratesPath, `{"from":"EUR","to":"RUB","rate":"101"}`},
		{"POST limits", "POST", limitsPath, velocityBody},
		{"PATCH limits", "PATCH", limitPath, `{"max_count":6}`},
		{"DELETE limits", "DELETE", limitPath, ""},
		{"POST blocklist", "POST", blocklistPath, `{"kind":"bin","value":"424242"}`},
		{"POST blocklist, listed before", "POST", blocklistPath, `{"kind":"country","value":"KZ"}`},
		{"DELETE blocklist", "DELETE", blocklistPath + "/" + listedID, ""},
		{"POST partners/settlements", "POST", "/api/v1/partners/1/settlements", settlementBody},
		{"POST terminal/settlements", "POST", "/api/v1/terminal/" + f.paymentTerminal() + "/settlements", providerSettlementBody},
		{"POST differences/settle", "POST", differencesPath + "/" + differenceID + "/settle", `{"decision":"write_off","note":"n"}`},
		{"POST days/close", "POST", reconciliationPath + "/days/" + reportTerminal + "/2026-09-01/close", "{}"},
	}
}

func (w *write) sendAs(c caller) *response {
	c.fixture.t.Helper()
	return c.keyed(w.name).do(w.method, w.path, w.body)
}

// events returns the number of events in the first organization.
func (f *fixture) events() string {
	f.t.Helper()
	return f.auditor().get(ledgerPath + "/head").at("data.tree_size")
}

// wantReplay checks that a repeated write gets the first response again, and adds no event.
func (w *write) wantReplay(f *fixture, first *response) {
	f.t.Helper()
	before := f.events()
	repeated := w.sendAs(f.admin()).want(first.status, first.body)
	if !repeated.isReplay() || repeated.header.Get("content-type") != first.header.Get("content-type") {
		f.t.Errorf("%s: %v", w.name, repeated.header)
	}
	if after := f.events(); after != before {
		f.t.Errorf("%s: %s events, were %s", w.name, after, before)
	}
}

func TestEveryAdministrationWriteTakesAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	writes := f.allWrites()
	firstResponses := make([]*response, len(writes))
	for i := range writes {
		before := f.events()
		firstResponses[i] = writes[i].sendAs(f.admin())
		if firstResponses[i].status/100 != 2 || firstResponses[i].isReplay() {
			t.Fatalf("%s: %d %s", writes[i].name, firstResponses[i].status, firstResponses[i].body)
		}
		if writes[i].path != "/api/v1/organizations" && writes[i].name != "PATCH organizations" && f.events() == before {
			t.Errorf("%s has changed nothing", writes[i].name)
		}
		writes[i].wantReplay(f, firstResponses[i])
	}
	for i := range writes {
		different := writes[i]
		different.body += " " // the JSON has the same meaning, but the body has other bytes
		different.sendAs(f.admin()).want(409, keyConflict)
	}
	// A repeated write still gets its first response after the record has changed, and after a restart.
	f.admin().put(ratesPath, `{"from":"USD","to":"RUB","rate":"1"}`).want(200, "")
	f.admin().do("DELETE", "/api/v1/api_keys/"+firstResponses[8].at("id"), "").want(200, "")
	f.admin().patch("/api/v1/partners/"+firstResponses[2].at("id"), `{"name":"Newest"}`).want(200, "")
	for i := range writes {
		writes[i].wantReplay(f, firstResponses[i])
	}
	f.restart()
	for i := range writes {
		writes[i].wantReplay(f, firstResponses[i])
	}
}

func TestAdministrationKeyBelongsToOneRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const path, body = "/api/v1/partners", `{"name":"New","login":"new","pass":"nine-Lions-paint"}`
	created := f.admin().keyed("k").post(path, body).want(201, "")
	f.admin().keyed("k").post("/api/v1/organizations", body).want(409, keyConflict)
	f.admin().keyed("k").patch(path+"/"+created.at("id"), body).want(409, keyConflict)
	f.admin().keyed("k").post(path, `{}`).want(409, keyConflict)
	inSecondOrg := f.admin().with("x-organization-id", f.seed.Second.Org.String())
	inSecondOrg.keyed("k").post(path, body).want(409, keyConflict)
	if other := inSecondOrg.keyed("k-2").post(path, body).want(201, ""); other.isReplay() || other.at("id") == created.at("id") {
		t.Errorf("%s", other.body)
	}
	// A partner may use a key with the same text: partners' keys are separate.
	if paid := f.partner().keyed("k").post(transactions, paymentBody(`"amount":"100"`)).want(201, ""); paid.isReplay() {
		t.Error("a replay")
	}
}

// A request that is refused, or changes nothing, leaves its key free for another request.
func TestAdministrationKeyIsFreeUntilARequestChangesSomething(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, unchanged := range []write{
		{"k", "POST", "/api/v1/partners", `{"name":"New"}`},
		{"k", "POST", "/api/v1/partners", `{"name":"New","login":"demo","pass":"nine-Lions-paint"}`},
		{"k", "DELETE", "/api/v1/partners/99", ""},
		{"k", "PATCH", "/api/v1/partners/1", `{}`},
		{"k", "PATCH", "/api/v1/partners/1", `{"active":true}`},
	} {
		if r := unchanged.sendAs(f.admin()); r.isReplay() || r.status == 409 && r.body == keyConflict {
			t.Errorf("%s %s: %d %s", unchanged.method, unchanged.body, r.status, r.body)
		}
	}
	if created := f.admin().keyed("k").patch("/api/v1/partners/1", `{"name":"Newer"}`).want(200, ""); created.isReplay() {
		t.Error("a replay")
	}
}

func TestAdministrationKeyHasABoundedLength(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, w := range f.allWrites() {
		w.name = strings.Repeat("ж", 256)
		before := f.events()
		if r := w.sendAs(f.admin()).want(422, ""); r.at("errors.0.field") != "Idempotency-Key" || f.events() != before {
			t.Errorf("%s %s: %s", w.method, w.path, r.body)
		}
	}
	w := write{strings.Repeat("ж", 255), "PUT", ratesPath, `{"from":"USD","to":"RUB","rate":"92.5"}`}
	w.wantReplay(f, w.sendAs(f.admin()).want(200, ""))
}

// Of several concurrent equal requests only one is executed. All of them get its response.
func TestConcurrentEqualWritesWithOneKeyRunOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, w := range f.allWrites() {
		responses := make([]*response, 16)
		before := len(columnOfPages(t, f.admin(), "/api/v1/organizations", 100, "id"))
		var wg sync.WaitGroup
		for i := range responses {
			wg.Go(func() { responses[i] = w.sendAs(f.admin()) })
		}
		wg.Wait()
		executedCount := 0
		for _, a := range responses {
			if a.want(responses[0].status, responses[0].body).status/100 != 2 {
				t.Fatalf("%s: %d %s", w.name, a.status, a.body)
			}
			if !a.isReplay() {
				executedCount++
			}
		}
		if executedCount != 1 {
			t.Errorf("%s: %d responses are no replays, want 1", w.name, executedCount)
		}
		if added := len(columnOfPages(t, f.admin(), "/api/v1/organizations", 100, "id")) - before; added > 1 {
			t.Errorf("%s: %d organizations", w.name, added)
		}
	}
	for list, want := range map[string]int{"partners": 3, "terminals": 8, "api_keys": 3, "rates": 2} {
		if got := f.admin().get("/api/v1/"+list).want(200, "").rows(); got != want {
			t.Errorf("%d %s, want %d", got, list, want)
		}
	}
}

// If different concurrent requests share a key, only one is executed. The requests that differ from it get 409.
func TestConcurrentDifferentWritesWithOneKeyConflict(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	writes := []write{
		{"k", "PATCH", "/api/v1/partners/1", `{"name":"Newer"}`},
		{"k", "POST", "/api/v1/organizations", `{"name":"New"}`},
		{"k", "PUT", ratesPath, `{"from":"USD","to":"RUB","rate":"92.5"}`},
		{"k", "PATCH", "/api/v1/organizations/" + f.seed.Second.Org.String(), `{"name":"Newer"}`},
	}
	responses := make([]*response, 4*len(writes))
	var wg sync.WaitGroup
	for i := range responses {
		wg.Go(func() { responses[i] = writes[i%len(writes)].sendAs(f.admin()) })
	}
	wg.Wait()
	executed := map[int]bool{}
	for i, a := range responses {
		if a.status/100 == 2 {
			executed[i%len(writes)] = true
		} else {
			a.want(409, keyConflict)
		}
	}
	if len(executed) != 1 {
		t.Errorf("%d requests were done, want 1", len(executed))
	}
}

// A repeated request gets the new API key's value again, although that value is nowhere stored in plaintext.
func TestCachedReplyWithAnAPIKeyIsSealed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const body = `{"name":"till","partner_id":1}`
	created := f.admin().keyed("k").post("/api/v1/api_keys", body).want(201, "")
	repeated := f.admin().keyed("k").post("/api/v1/api_keys", body).want(201, created.body)
	f.partner().with("x-api-key", repeated.at("key")).post(transactions, paymentBody(`"amount":"1"`)).want(201, "")
	f.stopServer()
	f.stopBackend()
	value, prefix := []byte(created.at("key")), []byte(created.at("prefix"))
	prefixCount := 0
	must(t, filepath.WalkDir(f.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, value) {
			t.Errorf("%s has the key's value", path)
		}
		prefixCount += bytes.Count(content, prefix)
		return err
	}))
	if prefixCount == 0 {
		t.Error("not even the part of the key that is kept in clear was found: the search finds nothing")
	}
}

// A second request to move the clock moves it again, even with the same idempotency key.
func TestClockMoveIgnoresIdempotencyKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := write{"k", "PUT", "/api/v1/sandbox/clock", `{"advance_seconds":60}`}
	w.sendAs(f.admin()).want(200, `{"now":"2026-09-03T10:16:30.123456+00:00"}`)
	if r := w.sendAs(f.admin()).want(200, `{"now":"2026-09-03T10:17:30.123456+00:00"}`); r.isReplay() {
		t.Error("a replay")
	}
}

// Storing a reply under its idempotency key is an event too. The auditor finds the event by the stored reply's ID.
func TestCachedReplyHasAJournalEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.admin().keyed("k").patch("/api/v1/partners/1", `{"name":"Newer"}`).want(200, "")
	events := f.auditor().get(ledgerPath+"/events?limit=2").want(200, "")
	if events.at("data.0.event") != "give" || events.at("data.0.to") != "given" || events.at("data.1.event") != "update" {
		t.Fatalf("%s", events.body)
	}
	if found := f.auditor().get(ledgerPath+"/events?source="+events.at("data.0.source")).want(200, ""); found.rows() != 1 || found.at("data.0.event") != "give" {
		t.Errorf("%s", found.body)
	}
}
