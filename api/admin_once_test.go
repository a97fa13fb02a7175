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

// writes returns one write of each kind, on records that the fixture has or creates.
func (h *fixture) writes() []write {
	h.t.Helper()
	const terminal = `{"name":"T","partner_id":1,"provider":"simulator","type":"payment","env":"test"}`
	organization := h.admin().post("/api/v1/organizations", `{"name":"O"}`).want(201, "").at("data.id")
	partner := h.admin().post("/api/v1/partners", `{"name":"P","login":"p","pass":"nine-Lions-paint"}`).want(201, "").at("id")
	kept, gone := h.admin().post("/api/v1/terminal", terminal).want(201, "").at("data.id"), h.admin().post("/api/v1/terminal", terminal).want(201, "").at("data.id")
	key := h.admin().post("/api/v1/api_keys", `{"name":"k","partner_id":1}`).want(201, "").at("id")
	h.admin().put(rates, `{"from":"EUR","to":"RUB","rate":"100"}`).want(200, "")
	bound := limits + "/" + h.limit(velocity).at("data.id")
	listed, off := h.list("country", "RU").at("data.id"), h.list("country", "KZ").at("data.id")
	h.admin().do("DELETE", blocklist+"/"+off, "").want(200, "")
	return []write{
		{"POST organizations", "POST", "/api/v1/organizations", `{"name":"New"}`},
		{"PATCH organizations", "PATCH", "/api/v1/organizations/" + organization, `{"name":"Newer"}`},
		{"POST partners", "POST", "/api/v1/partners", `{"name":"New","login":"new","pass":"nine-Lions-paint"}`},
		{"PATCH partners", "PATCH", "/api/v1/partners/" + partner, `{"name":"Newer"}`},
		{"DELETE partners", "DELETE", "/api/v1/partners/" + partner, ""},
		{"POST terminal", "POST", "/api/v1/terminal", terminal},
		{"PATCH terminal", "PATCH", "/api/v1/terminal/" + kept, `{"name":"Newer"}`},
		{"DELETE terminal", "DELETE", "/api/v1/terminal/" + gone, ""},
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
		{"POST terminal/settlements", "POST", "/api/v1/terminal/" + h.collectingTerminal() + "/settlements", collected},
	}
}

func (w *write) by(c caller) *answer {
	c.h.t.Helper()
	return c.keyed(w.name).do(w.method, w.path, w.body)
}

// events returns the number of events in the first organization.
func (h *fixture) events() string {
	h.t.Helper()
	return h.auditor().get(ledgerPath + "/head").at("data.tree_size")
}

// repeats checks that a write is answered again with the first answer.
func (w *write) repeats(h *fixture, first *answer) {
	h.t.Helper()
	before := h.events()
	again := w.by(h.admin()).want(first.status, first.body)
	if !again.isReplay() || again.header.Get("content-type") != first.header.Get("content-type") {
		h.t.Errorf("%s: %v", w.name, again.header)
	}
	if after := h.events(); after != before {
		h.t.Errorf("%s: %s events, were %s", w.name, after, before)
	}
}

func TestEveryAdministrationWriteTakesAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	all := h.writes()
	firsts := make([]*answer, len(all))
	for i := range all {
		before := h.events()
		firsts[i] = all[i].by(h.admin())
		if firsts[i].status/100 != 2 || firsts[i].isReplay() {
			t.Fatalf("%s: %d %s", all[i].name, firsts[i].status, firsts[i].body)
		}
		if all[i].path != "/api/v1/organizations" && all[i].name != "PATCH organizations" && h.events() == before {
			t.Errorf("%s has changed nothing", all[i].name)
		}
		all[i].repeats(h, firsts[i])
	}
	for i := range all {
		different := all[i]
		different.body += " " // the same meaning, but a different request
		different.by(h.admin()).want(409, keyConflict)
	}
	// The answer stays the same after the record has changed, and after a restart.
	h.admin().put(rates, `{"from":"USD","to":"RUB","rate":"1"}`).want(200, "")
	h.admin().do("DELETE", "/api/v1/api_keys/"+firsts[8].at("id"), "").want(200, "")
	h.admin().patch("/api/v1/partners/"+firsts[2].at("id"), `{"name":"Newest"}`).want(200, "")
	for i := range all {
		all[i].repeats(h, firsts[i])
	}
	h.restart()
	for i := range all {
		all[i].repeats(h, firsts[i])
	}
}

func TestAdministrationKeyBelongsToOneRequest(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const path, body = "/api/v1/partners", `{"name":"New","login":"new","pass":"nine-Lions-paint"}`
	made := h.admin().keyed("k").post(path, body).want(201, "")
	h.admin().keyed("k").post("/api/v1/organizations", body).want(409, keyConflict)
	h.admin().keyed("k").patch(path+"/"+made.at("id"), body).want(409, keyConflict)
	h.admin().keyed("k").post(path, `{}`).want(409, keyConflict)
	second := h.admin().with("x-organization-id", h.seed.Second.Org.String())
	second.keyed("k").post(path, body).want(409, keyConflict)
	if other := second.keyed("k-2").post(path, body).want(201, ""); other.isReplay() || other.at("id") == made.at("id") {
		t.Errorf("%s", other.body)
	}
	// The same text as a partner's key is a different key.
	if paid := h.partner().keyed("k").post(transactions, paymentBody(`"amount":"100"`)).want(201, ""); paid.isReplay() {
		t.Error("a replay")
	}
}

// A request that was refused, or that changed nothing, has not used its key.
func TestAdministrationKeyIsFreeUntilARequestChangesSomething(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, nothing := range []write{
		{"k", "POST", "/api/v1/partners", `{"name":"New"}`},
		{"k", "POST", "/api/v1/partners", `{"name":"New","login":"demo","pass":"nine-Lions-paint"}`},
		{"k", "DELETE", "/api/v1/partners/99", ""},
		{"k", "PATCH", "/api/v1/partners/1", `{}`},
		{"k", "PATCH", "/api/v1/partners/1", `{"active":true}`},
	} {
		if a := nothing.by(h.admin()); a.isReplay() || a.status == 409 && a.body == keyConflict {
			t.Errorf("%s %s: %d %s", nothing.method, nothing.body, a.status, a.body)
		}
	}
	if made := h.admin().keyed("k").patch("/api/v1/partners/1", `{"name":"Newer"}`).want(200, ""); made.isReplay() {
		t.Error("a replay")
	}
}

func TestAdministrationKeyHasABoundedLength(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, w := range h.writes() {
		w.name = strings.Repeat("ж", 256)
		before := h.events()
		if a := w.by(h.admin()).want(422, ""); a.at("errors.0.field") != "Idempotency-Key" || h.events() != before {
			t.Errorf("%s %s: %s", w.method, w.path, a.body)
		}
	}
	w := write{strings.Repeat("ж", 255), "PUT", rates, `{"from":"USD","to":"RUB","rate":"92.5"}`}
	w.repeats(h, w.by(h.admin()).want(200, ""))
}

// Of several concurrent equal requests one is executed; all get the same answer.
func TestConcurrentEqualWritesWithOneKeyRunOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, w := range h.writes() {
		answers := make([]*answer, 16)
		before := len(pages(t, h.admin(), "/api/v1/organizations", 100, "id"))
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = w.by(h.admin()) })
		}
		all.Wait()
		firsts := 0
		for _, a := range answers {
			if a.want(answers[0].status, answers[0].body).status/100 != 2 {
				t.Fatalf("%s: %d %s", w.name, a.status, a.body)
			}
			if !a.isReplay() {
				firsts++
			}
		}
		if firsts != 1 {
			t.Errorf("%s: %d answers are no replays, want 1", w.name, firsts)
		}
		if made := len(pages(t, h.admin(), "/api/v1/organizations", 100, "id")) - before; made > 1 {
			t.Errorf("%s: %d organizations", w.name, made)
		}
	}
	for list, want := range map[string]int{"partners": 3, "terminals": 7, "api_keys": 3, "rates": 2} {
		if got := h.admin().get("/api/v1/"+list).want(200, "").rows(); got != want {
			t.Errorf("%d %s, want %d", got, list, want)
		}
	}
}

// Of several concurrent different requests with one key one is executed; the others conflict.
func TestConcurrentDifferentWritesWithOneKeyConflict(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ways := []write{
		{"k", "PATCH", "/api/v1/partners/1", `{"name":"Newer"}`},
		{"k", "POST", "/api/v1/organizations", `{"name":"New"}`},
		{"k", "PUT", rates, `{"from":"USD","to":"RUB","rate":"92.5"}`},
		{"k", "PATCH", "/api/v1/organizations/" + h.seed.Second.Org.String(), `{"name":"Newer"}`},
	}
	answers := make([]*answer, 4*len(ways))
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = ways[i%len(ways)].by(h.admin()) })
	}
	all.Wait()
	done := map[int]bool{}
	for i, a := range answers {
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

// The answer with an API key's value is repeated, and the value is nowhere stored in plaintext.
func TestCachedReplyWithAnAPIKeyIsSealed(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const body = `{"name":"till","partner_id":1}`
	first := h.admin().keyed("k").post("/api/v1/api_keys", body).want(201, "")
	again := h.admin().keyed("k").post("/api/v1/api_keys", body).want(201, first.body)
	h.partner().with("x-api-key", again.at("key")).post(transactions, paymentBody(`"amount":"1"`)).want(201, "")
	h.halt()
	h.stop()
	value, shown := []byte(first.at("key")), []byte(first.at("prefix"))
	found := 0
	must(t, filepath.WalkDir(h.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, value) {
			t.Errorf("%s has the key's value", path)
		}
		found += bytes.Count(content, shown)
		return err
	}))
	if found == 0 {
		t.Error("not even the part of the key that is kept in clear was found: the search finds nothing")
	}
}

// A move of the clock is not repeated for a key, because the clock can't go back.
func TestClockMoveIgnoresIdempotencyKeys(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	w := write{"k", "PUT", "/api/v1/sandbox/clock", `{"advance_seconds":60}`}
	w.by(h.admin()).want(200, `{"now":"2026-09-03T10:16:30.123456+00:00"}`)
	if a := w.by(h.admin()).want(200, `{"now":"2026-09-03T10:17:30.123456+00:00"}`); a.isReplay() {
		t.Error("a replay")
	}
}

// A cached reply has an event, which the auditor finds by its record.
func TestCachedReplyHasAJournalEvent(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.admin().keyed("k").patch("/api/v1/partners/1", `{"name":"Newer"}`).want(200, "")
	events := h.auditor().get(ledgerPath+"/events?limit=2").want(200, "")
	if events.at("data.0.event") != "give" || events.at("data.0.to") != "given" || events.at("data.1.event") != "update" {
		t.Fatalf("%s", events.body)
	}
	if found := h.auditor().get(ledgerPath+"/events?source="+events.at("data.0.source")).want(200, ""); found.rows() != 1 || found.at("data.0.event") != "give" {
		t.Errorf("%s", found.body)
	}
}
