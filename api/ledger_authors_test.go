package api_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const ledgerEvents = "/api/v1/ledger/events"

// authorsOf returns the events that a query finds, newest first, each as a text: the event's name and the kind, id and name of
// its author. The author is who caused the event.
func (c caller) authorsOf(query string) (list []string) {
	c.fixture.t.Helper()
	r := c.get(ledgerEvents+"?limit=500"+query).want(200, "")
	for i := range r.rows() {
		at := fmt.Sprintf("data.%d.", i)
		who := []string{r.at(at + "event"), r.at(at + "author.kind"), r.at(at + "author.id"), r.at(at + "author.name")}
		list = append(list, strings.TrimSpace(strings.ReplaceAll(strings.Join(who, " "), " (absent)", "")))
	}
	return list
}

func (f *fixture) wantAuthors(source string, want ...string) {
	f.t.Helper()
	if got := f.auditor().authorsOf("&source=" + source); !slices.Equal(got, want) {
		f.t.Errorf("%s: %q, want %q", source, got, want)
	}
}

// ownWork lists the events that the service causes itself: those of timers, of the removal of old data, and of the use of an API
// key.
var ownWork = []string{"contract rent_due", "transaction lapse", "retention remove_deliveries", "api_key use"}

// lastSeq returns the sequence number of the newest event.
func (f *fixture) lastSeq() int {
	f.t.Helper()
	seq, err := strconv.Atoi(f.auditor().get(ledgerEvents+"?limit=1").want(200, "").at("data.0.seq"))
	must(f.t, err)
	return seq
}

// wantAuthorsOfAllWork checks that among the events after the given sequence number the service is the author of ownWork only. If
// a route lost the author of a request, the request's events would name the service as their author.
func (f *fixture) wantAuthorsOfAllWork(after int) {
	f.t.Helper()
	for cursor := ""; ; {
		r := f.auditor().get(ledgerEvents+"?author=system&limit=500"+cursor).want(200, "")
		for i := range r.rows() {
			at := fmt.Sprintf("data.%d.", i)
			seq, err := strconv.Atoi(r.at(at + "seq"))
			must(f.t, err)
			if work := r.at(at+"kind") + " " + r.at(at+"event"); seq > after && !slices.Contains(ownWork, work) {
				f.t.Errorf("event %d, %s, has no author but the service", seq, work)
			}
		}
		next := r.at("cursor.cursor_value")
		if next == "null" {
			return
		}
		cursor = "&cursor=" + next
	}
}

// The author of an event is the partner's API key for what a request causes, the provider for what a provider's answer causes,
// and the service for what a timer causes.
func TestEventsOfAPaymentNameTheirAuthors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key := f.admin().get("/api/v1/api_keys?partner_id=1").want(200, "")
	byKey := " api_key " + key.at("data.0.id") + " " + key.at("data.0.name")
	charged := f.charge("4242424242424242").at("id")
	f.wantAuthors(charged, "settle provider", "process provider", "authorise"+byKey, "route"+byKey, "create"+byKey)
	declined := f.charge("4000000000000002").at("id")
	f.wantAuthors(declined, "decline provider", "authorise"+byKey, "route"+byKey, "create"+byKey)
	hosted := f.createHosted("")
	f.wantAuthors(hosted.at("id"), "create"+byKey)
	f.advance(3600)
	if got := f.auditor().authorsOf("&source=" + hosted.at("id")); len(got) != 2 || !strings.HasSuffix(got[0], " system") {
		t.Errorf("the deadline: %q", got)
	}
}

func TestChangesOfTheAdministrationNameTheirAuthors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	user := f.createUser("anna", `"admin"`, "").at("data.id")
	f.wantAuthors(user, "create admin_token")
	anna := f.logInAs("anna")
	anna.patch("/api/v1/users/current", `{"lang":"ru"}`).want(200, "")
	f.wantAuthors(user, "update session "+user+" anna", "create admin_token")
	f.charge("4242424242424242")
	limit := f.admin().post("/api/v1/limits", `{"partner_id":1,"kind":"velocity","max_count":1000,"window":"minute","env":"test"}`).want(201, "").at("data.id")

	changes := f.auditor().authorsOf("&kind=administration")
	if want := []string{"create admin_token", "update session " + user + " anna", "create admin_token"}; !slices.Equal(changes, want) {
		t.Errorf("the changes are %q, want %q", changes, want)
	}
	page := f.auditor().get(ledgerEvents+"?kind=administration&limit=1").want(200, "")
	if page.at("data.0.source") != limit || page.at("data.0.kind") != "limit" {
		t.Errorf("the first page is %s", page.body)
	}
	next := f.auditor().get(ledgerEvents+"?kind=administration&limit=1&cursor="+page.at("cursor.cursor_value")).want(200, "")
	if next.at("data.0.source") != user || next.at("data.0.kind") != "user" || next.at("data.0.author.id") != user {
		t.Errorf("the second page is %s", next.body)
	}
	seq := next.at("data.0.seq")
	if one := f.auditor().get(ledgerEvents+"/"+seq).want(200, ""); one.at("data.author.name") != "anna" || one.at("data.seq") != seq {
		t.Errorf("event %s is %s", seq, one.body)
	}
	if bySession := f.auditor().authorsOf("&author=session&kind=administration"); len(bySession) != 1 {
		t.Errorf("by sessions: %q", bySession)
	}
	// An event keeps the id of its author after the author's user is deactivated.
	f.admin().do("DELETE", "/api/v1/users/"+user, "").want(200, "")
	if one := f.auditor().get(ledgerEvents+"/"+seq).want(200, ""); one.at("data.author.id") != user {
		t.Errorf("event %s of a deactivated user is %s", seq, one.body)
	}
	f.auditor().get(ledgerEvents+"?author=nobody").want(422, "")
	f.auditor().get(ledgerEvents+"?kind=payments").want(422, "")
	f.auditor().get(ledgerEvents+"/0").want(404, "")
	f.auditor().get(ledgerEvents+"/1000000").want(404, "")
}

// An event names its author to a partner only if the author is one of the partner's own users or keys. Of all other authors the
// partner learns only the kind.
func TestPartnerSeesOnlyItsOwnAuthors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.charge("4242424242424242").at("id")
	if got := f.partner().authorsOf("&source=" + id); len(got) != 5 || got[0] != "settle provider" || !strings.HasPrefix(got[4], "create api_key ") {
		t.Errorf("the partner sees %q", got)
	}
	seqs := f.partner().get(ledgerEvents+"?source="+id).want(200, "")
	f.partner().get(ledgerEvents+"/"+seqs.at("data.4.seq")).want(200, "")
	f.partner().get(ledgerEvents+"/1").want(404, "")
}
