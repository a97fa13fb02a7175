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

// write is a request of the administration that changes something.
type write struct{ name, method, path, body string }

// allWrites returns one write of each kind, on records that the fixture has or creates.
func (f *fixture) allWrites() []write {
	f.t.Helper()
	const terminal = `{"name":"T","partner_id":1,"provider":"simulator","type":"payment","env":"test"}`
	organization := f.admin().post("/api/v1/organizations", `{"name":"O"}`).want(201, "").at("data.id")
	partner := f.admin().post("/api/v1/partners", `{"name":"P","login":"p","pass":"nine-Lions-paint"}`).want(201, "").at("id")
	terminalID, deletedID := f.admin().post("/api/v1/terminal", terminal).want(201, "").at("data.id"), f.admin().post("/api/v1/terminal", terminal).want(201, "").at("data.id")
	key := f.admin().post("/api/v1/api_keys", `{"name":"k","partner_id":1}`).want(201, "").at("id")
	f.admin().put(rates, `{"from":"EUR","to":"RUB","rate":"100"}`).want(200, "")
	bound := limits + "/" + f.createLimit(velocity).at("data.id")
	listed, inactive := f.addToBlocklist("country", "RU").at("data.id"), f.addToBlocklist("country", "KZ").at("data.id")
	f.admin().do("DELETE", blocklist+"/"+inactive, "").want(200, "")
	return []write{
		{"POST organizations", "POST", "/api/v1/organizations", `{"name":"New"}`},
		{"PATCH organizations", "PATCH", "/api/v1/organizations/" + organization, `{"name":"Newer"}`},
		{"POST partners", "POST", "/api/v1/partners", `{"name":"New","login":"new","pass":"nine-Lions-paint"}`},
		{"PATCH partners", "PATCH", "/api/v1/partners/" + partner, `{"name":"Newer"}`},
		{"DELETE partners", "DELETE", "/api/v1/partners/" + partner, ""},
		{"POST terminal", "POST", "/api/v1/terminal", terminal},
		{"PATCH terminal", "PATCH", "/api/v1/terminal/" + terminalID, `{"name":"Newer"}`},
		{"DELETE terminal", "DELETE", "/api/v1/terminal/" + deletedID, ""},
		{"POST api_keys", "POST", "/api/v1/api_keys", `{"name":"new","partner_id":1,"expires_at":"2027-01-01T00:00:00Z"}`},
		{"DELETE api_keys", "DELETE", "/api/v1/api_keys/" + key, ""},
		{"PUT rates, a new one", "PUT", rates, `{"from":"USD","to":"RUB","rate":"92.5"}`},
		{"PUT rates, another value", "PUT", rates, `{"from":"EUR","to":"RUB","rate":"101"}`},
		{"POST limits", "POST", limits, velocity},
		{"PATCH limits", "PATCH", bound, `{"max_count":6}`},
		{"DELETE limits", "DELETE", bound, ""},
		{"POST blocklist", "POST", blocklist, `{"kind":"bin","value":"424242"}`},
		{"POST blocklist, listed before", "POST", blocklist, `{"kind":"country","value":"KZ"}`},
		{"DELETE blocklist", "DELETE", blocklist + "/" + listed, ""},
		{"POST partners/settlements", "POST", "/api/v1/partners/1/settlements", settledIn},
		{"POST terminal/settlements", "POST", "/api/v1/terminal/" + f.collectingTerminal() + "/settlements", collected},
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

// wantReplay checks that a repeated write gets the first response again.
func (w *write) wantReplay(f *fixture, first *response) {
	f.t.Helper()
	before := f.events()
	again := w.sendAs(f.admin()).want(first.status, first.body)
	if !again.isReplay() || again.header.Get("content-type") != first.header.Get("content-type") {
		f.t.Errorf("%s: %v", w.name, again.header)
	}
	if after := f.events(); after != before {
		f.t.Errorf("%s: %s events, were %s", w.name, after, before)
	}
}

func TestEveryAdministrationWriteTakesAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	writes := f.allWrites()
	firsts := make([]*response, len(writes))
	for i := range writes {
		before := f.events()
		firsts[i] = writes[i].sendAs(f.admin())
		if firsts[i].status/100 != 2 || firsts[i].isReplay() {
			t.Fatalf("%s: %d %s", writes[i].name, firsts[i].status, firsts[i].body)
		}
		if writes[i].path != "/api/v1/organizations" && writes[i].name != "PATCH organizations" && f.events() == before {
			t.Errorf("%s has changed nothing", writes[i].name)
		}
		writes[i].wantReplay(f, firsts[i])
	}
	for i := range writes {
		different := writes[i]
		different.body += " " // the same meaning, but a different request
		different.sendAs(f.admin()).want(409, keyConflict)
	}
	// The response stays the same after the record has changed, and after a restart.
	f.admin().put(rates, `{"from":"USD","to":"RUB","rate":"1"}`).want(200, "")
	f.admin().do("DELETE", "/api/v1/api_keys/"+firsts[8].at("id"), "").want(200, "")
	f.admin().patch("/api/v1/partners/"+firsts[2].at("id"), `{"name":"Newest"}`).want(200, "")
	for i := range writes {
		writes[i].wantReplay(f, firsts[i])
	}
	f.restart()
	for i := range writes {
		writes[i].wantReplay(f, firsts[i])
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
	second := f.admin().with("x-organization-id", f.seed.Second.Org.String())
	second.keyed("k").post(path, body).want(409, keyConflict)
	if other := second.keyed("k-2").post(path, body).want(201, ""); other.isReplay() || other.at("id") == created.at("id") {
		t.Errorf("%s", other.body)
	}
	// A partner may use a key with the same text: it is a different key.
	if paid := f.partner().keyed("k").post(transactions, paymentBody(`"amount":"100"`)).want(201, ""); paid.isReplay() {
		t.Error("a replay")
	}
}

// A request that was refused, or that changed nothing, has not used its key.
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
	w := write{strings.Repeat("ж", 255), "PUT", rates, `{"from":"USD","to":"RUB","rate":"92.5"}`}
	w.wantReplay(f, w.sendAs(f.admin()).want(200, ""))
}

// Of several concurrent equal requests one is executed; all get the same response.
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
		firsts := 0
		for _, a := range responses {
			if a.want(responses[0].status, responses[0].body).status/100 != 2 {
				t.Fatalf("%s: %d %s", w.name, a.status, a.body)
			}
			if !a.isReplay() {
				firsts++
			}
		}
		if firsts != 1 {
			t.Errorf("%s: %d responses are no replays, want 1", w.name, firsts)
		}
		if added := len(columnOfPages(t, f.admin(), "/api/v1/organizations", 100, "id")) - before; added > 1 {
			t.Errorf("%s: %d organizations", w.name, added)
		}
	}
	for list, want := range map[string]int{"partners": 3, "terminals": 7, "api_keys": 3, "rates": 2} {
		if got := f.admin().get("/api/v1/"+list).want(200, "").rows(); got != want {
			t.Errorf("%d %s, want %d", got, list, want)
		}
	}
}

// Of several concurrent different requests with one key one is executed; the others conflict.
func TestConcurrentDifferentWritesWithOneKeyConflict(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ways := []write{
		{"k", "PATCH", "/api/v1/partners/1", `{"name":"Newer"}`},
		{"k", "POST", "/api/v1/organizations", `{"name":"New"}`},
		{"k", "PUT", rates, `{"from":"USD","to":"RUB","rate":"92.5"}`},
		{"k", "PATCH", "/api/v1/organizations/" + f.seed.Second.Org.String(), `{"name":"Newer"}`},
	}
	responses := make([]*response, 4*len(ways))
	var wg sync.WaitGroup
	for i := range responses {
		wg.Go(func() { responses[i] = ways[i%len(ways)].sendAs(f.admin()) })
	}
	wg.Wait()
	done := map[int]bool{}
	for i, a := range responses {
		if a.status/100 == 2 {
			done[i%len(ways)] = true
		} else {
			a.want(409, keyConflict)
		}
	}
	if len(done) != 1 {
		t.Errorf("%d requests were done, want 1", len(done))
	}
}

// The response with an API key's value is repeated, and the value is nowhere stored in plaintext.
func TestCachedReplyWithAnAPIKeyIsSealed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const body = `{"name":"till","partner_id":1}`
	first := f.admin().keyed("k").post("/api/v1/api_keys", body).want(201, "")
	again := f.admin().keyed("k").post("/api/v1/api_keys", body).want(201, first.body)
	f.partner().with("x-api-key", again.at("key")).post(transactions, paymentBody(`"amount":"1"`)).want(201, "")
	f.stopServer()
	f.stopBackend()
	value, prefix := []byte(first.at("key")), []byte(first.at("prefix"))
	found := 0
	must(t, filepath.WalkDir(f.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, value) {
			t.Errorf("%s has the key's value", path)
		}
		found += bytes.Count(content, prefix)
		return err
	}))
	if found == 0 {
		t.Error("not even the part of the key that is kept in clear was found: the search finds nothing")
	}
}

// A move of the clock is not repeated for a key, because the clock can't go back.
func TestClockMoveIgnoresIdempotencyKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := write{"k", "PUT", "/api/v1/sandbox/clock", `{"advance_seconds":60}`}
	w.sendAs(f.admin()).want(200, `{"now":"2026-09-03T10:16:30.123456+00:00"}`)
	if r := w.sendAs(f.admin()).want(200, `{"now":"2026-09-03T10:17:30.123456+00:00"}`); r.isReplay() {
		t.Error("a replay")
	}
}

// A cached reply has an event, which the auditor finds by its record.
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
