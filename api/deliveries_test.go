package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestDeliveriesAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.newWebhookReceiver()
	var want []string
	for range 5 {
		want = append([]string{h.firstDelivery(h.charge(good).at("id"))}, want...)
	}
	h.waitForDeliveries()
	h.wantListed("", want...)
	h.wantListed("limit=2", want...)
	page := h.admin().get(deliveries+"?limit=5").want(200, "")
	if page.at("cursor.cursor_field") != "event_id" || page.at("cursor.cursor_value") != "null" {
		t.Errorf("a full page is the last one: %s", page.at("cursor"))
	}
}

// DECISIONS, section 8: rows {event_id, transaction_id, terminal_id, type, state,
// attempts, next_at}.
func TestDeliveryRowHasItsFields(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	s := h.newWebhookReceiver()
	paid := h.charge(good)
	terminal := h.terminalOf("payment")
	h.waitForDeliveries()
	id, _ := s.received()
	row := h.admin().get(deliveries).want(200, "").object()["data"].([]any)[0].(map[string]any)
	booked, _ := row["booked_at"].(string)
	if _, err := time.Parse(time.RFC3339, booked); err != nil {
		t.Errorf("booked_at: %v", err)
	}
	want := map[string]any{
		"event_id": id[0], "transaction_id": paid.at("id"), "terminal_id": terminal, "channel": "webhook", "type": "transaction.charged",
		"state": "delivered", "attempts": 1.0, "next_at": nil, "booked_at": booked,
	}
	if fmt.Sprint(row) != fmt.Sprint(want) {
		t.Errorf("the row is\n\t%v, want\n\t%v", row, want)
	}
}

func TestDeliveryIsReadWithItsAttempts(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	s := h.newWebhookReceiver()
	s.answerWith(503)
	id := h.firstDelivery(h.charge(good).at("id"))
	h.waitForDeliveries()
	first := began.Format("2006-01-02T15:04:05.000000-07:00")
	h.advance(29) // 30 s after the first failure
	s.answerWith(204)
	h.advance(120)
	a := h.admin().get(deliveries+"/"+id).want(200, "")
	second, third := began.Add(30*time.Second), began.Add(150*time.Second)
	for path, want := range map[string]string{
		"data.state": "delivered", "data.next_at": "null", "data.event_id": id,
		"data.attempts.0.at": first, "data.attempts.0.status": "503", "data.attempts.0.error": "status 503",
		"data.attempts.1.at": second.Format("2006-01-02T15:04:05.000000-07:00"), "data.attempts.1.status": "503",
		"data.attempts.2.at": third.Format("2006-01-02T15:04:05.000000-07:00"), "data.attempts.2.status": "204", "data.attempts.2.error": "null",
		"data.attempts.3": "(absent)",
	} {
		if got := a.at(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
	if took := a.object()["data"].(map[string]any)["attempts"].([]any)[0].(map[string]any)["duration_ms"].(float64); took < 0 || took > 15_000 {
		t.Errorf("duration_ms = %v", took)
	}
}

func TestUnansweredAttemptHasAnErrorAndNoStatus(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	s := h.newWebhookReceiver()
	s.Close()
	id := h.firstDelivery(h.charge(good).at("id"))
	h.waitForDeliveries()
	a := h.admin().get(deliveries+"/"+id).want(200, "")
	if a.at("data.attempts.0.status") != "null" || a.at("data.attempts.0.error") == "null" || a.at("data.state") != "pending" {
		t.Errorf("%s", a.body)
	}
	if a.at("data.next_at") != began.Add(30*time.Second).Format("2006-01-02T15:04:05.000000-07:00") {
		t.Errorf("next_at = %s", a.at("data.next_at"))
	}
}

// mixDeliveries makes deliveries in each state, for two terminals, and returns them by state,
// newest first.
func (h *fixture) mixDeliveries(s *webhookReceiver) (byState map[string][]string, all []string) {
	h.t.Helper()
	byState = map[string][]string{}
	add := func(state string, ids ...string) {
		for _, id := range ids {
			delivery := h.firstDelivery(id)
			byState[state] = append([]string{delivery}, byState[state]...)
			all = append([]string{delivery}, all...)
		}
	}
	s.answerWith(500)
	add("parked", h.charge(good).at("id"), h.payout1250(`{"type":"bank_account"}`).at("id"))
	h.parkAll()
	s.answerWith(200)
	add("delivered", h.charge(good).at("id"), h.payout1250(`{"type":"bank_account"}`).at("id"))
	h.waitForDeliveries()
	s.answerWith(500)
	add("delivered", h.charge(good).at("id")) // delivered at the second attempt
	h.waitForDeliveries()
	s.answerWith(200)
	h.advance(60)
	s.answerWith(500)
	add("pending", h.charge(good).at("id"), h.payout1250(`{"type":"bank_account"}`).at("id"))
	h.waitForDeliveries()
	return byState, all
}

// terminalOf returns the first partner's terminal for a kind of transaction in env test.
func (h *fixture) terminalOf(kind string) string {
	h.t.Helper()
	list := h.admin().get("/api/v1/terminals?partner_id=1").want(200, "")
	for i := range list.rows() {
		row := fmt.Sprintf("data.%d.", i)
		if list.at(row+"type") == kind && list.at(row+"env") == "test" {
			return list.at(row + "id")
		}
	}
	h.t.Fatalf("no terminal for a %s", kind)
	return ""
}

func TestDeliveriesAreFiltered(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	byState, all := h.mixDeliveries(h.newWebhookReceiver())
	h.wantListed("", all...)
	for _, state := range []string{"pending", "delivered", "parked"} {
		h.wantListed("state="+state, byState[state]...)
		h.wantListed("state="+state+"&limit=1", byState[state]...)
	}
	payout, payment := h.terminalOf("payout"), h.terminalOf("payment")
	h.wantListed("terminal_id="+payout, all[0], all[3], all[5])
	h.wantListed("limit=1&terminal_id="+payment, all[1], all[2], all[4], all[6])
	h.wantListed("terminal_id="+payout+"&state=parked", all[5])
	h.wantListed("terminal_id="+payment+"&state=pending", all[1])
	whole := h.admin().get(deliveries+"?limit=500").want(200, "")
	of := whole.at("data.4.transaction_id")
	h.wantListed("transaction_id="+of, all[4])
	h.wantListed("transaction_id="+of+"&state=delivered&terminal_id="+payment, all[4])
	h.wantListed("transaction_id=" + of + "&state=parked")
	h.wantListed("transaction_id=" + of + "&terminal_id=" + payout)
	for _, nothing := range []string{uuid.NewString(), uuid.Nil.String(), h.seed.Second.Org.String()} {
		h.wantListed("transaction_id=" + nothing)
		h.wantListed("terminal_id=" + nothing)
	}
}

// Both bounds are inclusive, and apply to the time of the event.
func TestDeliveriesAreFilteredByTime(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	_, all := h.mixDeliveries(h.newWebhookReceiver())
	whole := h.admin().get(deliveries+"?limit=500").want(200, "")
	at := func(i int) string { return url.QueryEscape(whole.at(fmt.Sprintf("data.%d.booked_at", i))) }
	for query, want := range map[string][]string{
		"from=" + at(2):                         all[:3],
		"to=" + at(2):                           all[2:],
		"from=" + at(4) + "&to=" + at(2):        all[2:5],
		"from=" + at(2) + "&to=" + at(4):        nil,
		"from=2100-01-01T00:00:00Z":             nil,
		"to=1960-01-01T00:00:00Z":               nil,
		"from=1960-01-01T00:00:00Z":             all,
		"state=parked&from=" + at(5):            all[5:6],
		"state=pending&to=" + at(1):             all[1:2],
		"state=delivered&limit=1&from=" + at(4): all[2:5],
		"terminal_id=" + h.terminalOf("payment") + "&state=parked&to=" + at(6):                    all[6:],
		"transaction_id=" + whole.at("data.3.transaction_id") + "&from=" + at(3) + "&to=" + at(3): all[3:4],
		"transaction_id=" + whole.at("data.3.transaction_id") + "&from=" + at(2):                  nil,
	} {
		h.wantListed(query, want...)
	}
	now := h.Clock.Now().Format(time.RFC3339Nano)
	h.wantListed("to="+url.QueryEscape(now), all...) // a bound equal to the clock's time means everything up to now
}

func TestDeliveriesOfOneTransactionAreListedByIt(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.newWebhookReceiver()
	h.charge(good)
	id := h.charge(good).at("id")
	h.change(id, `"type":"refund","amount":"100"`).want(200, "")
	h.change(id, `"type":"refund"`).want(200, "")
	h.waitForDeliveries()
	for _, page := range []string{"", "&limit=1", "&limit=2"} {
		ids := h.listed("transaction_id=" + id + page)
		if len(ids) != 3 {
			t.Fatalf("%d deliveries%s", len(ids), page)
		}
	}
	a := h.admin().get(deliveries+"?transaction_id="+id).want(200, "")
	if got := a.at("data.0.type") + " " + a.at("data.1.type") + " " + a.at("data.2.type"); got != "transaction.refunded transaction.refunded transaction.charged" {
		t.Errorf("notified of %s", got)
	}
}

// A list with few matches ends after a bounded number of pages with a cursor, and each delivery
// is listed exactly once, for every filter and page size.
func TestEachDeliveryIsListedExactlyOnce(t *testing.T) {
	t.Parallel()
	h, random := newFixture(t), seeded(t)
	s := h.newWebhookReceiver()
	for range 80 { // each in its own group, and so on its own page
		s.answerWith([]int{200, 200, 200, 500}[random.IntN(4)])
		h.charge([]string{good, "4000000000000002"}[random.IntN(2)])
		if random.IntN(8) == 0 {
			h.advance([]int{1, 31, 3600, 30000}[random.IntN(4)])
		}
	}
	h.waitForDeliveries()
	all := h.listed("limit=500")
	if len(all) != 80 {
		t.Fatalf("%d deliveries", len(all))
	}
	byState := map[string]string{}
	for _, id := range all {
		byState[id] = h.admin().get(deliveries+"/"+id).want(200, "").at("data.state")
	}
	for _, state := range []string{"", "pending", "delivered", "parked"} {
		query := fmt.Sprintf("limit=%d", 1+random.IntN(9))
		var want []string
		for _, id := range all {
			if state == "" || byState[id] == state {
				want = append(want, id)
			}
		}
		if state != "" {
			query += "&state=" + state
		}
		h.wantListed(query, want...)
		h.wantListed(query+"&terminal_id="+h.terminalOf("payment"), want...)
	}
	none := h.admin().get(deliveries+"?terminal_id="+uuid.NewString()).want(200, "")
	if none.rows() != 0 || none.at("cursor.cursor_value") == "null" {
		t.Errorf("of 80 pages as many are read as are there: %s", none.body)
	}
}

// Waiting and parked deliveries are on the first page, however many were delivered since.
func TestWaitingAndParkedDeliveriesAreListedFirst(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	s := h.newWebhookReceiver()
	s.answerWith(500)
	parked := h.firstDelivery(h.charge(good).at("id"))
	h.advance(30_000) // six attempts
	waiting := []string{h.firstDelivery(h.charge(good).at("id")), h.firstDelivery(h.charge(good).at("id"))}
	h.waitForDeliveries()
	s.answerWith(200)
	for range 70 { // each in its own group, and so on its own page
		h.charge(good)
	}
	h.waitForDeliveries()
	for state, want := range map[string][]string{"pending": {waiting[1], waiting[0]}, "parked": {parked}} {
		a := h.admin().get(deliveries+"?limit=10&state="+state).want(200, "")
		for i, id := range want {
			if a.rows() != len(want) || a.at(fmt.Sprintf("data.%d.event_id", i)) != id {
				t.Errorf("%s: %s, want %v", state, a.body, want)
			}
		}
	}
}

func TestDeliveryParametersAreChecked(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for query, field := range map[string]string{
		"transaction_id=1": "transaction_id", "terminal_id=x": "terminal_id", "state=lost": "state", "state=": "state", "state=PENDING": "state",
		"from=yesterday": "from", "to=2026-01-01": "to", "limit=0": "limit", "limit=501": "limit", "limit=x": "limit", "page=1": "page",
		"cursor=x": "cursor", "cursor=" + uuid.NewString(): "cursor", "cursor=": "cursor", "state=parked&state=parked": "state",
		"cursor=untried": "cursor", "state=parked&cursor=untried": "cursor", "state=pending&cursor=untried-": "cursor", "state=pending&cursor=untried-x": "cursor",
	} {
		h.admin().get(deliveries + "?" + query).wantFieldsRefused(field)
	}
	h.admin().get(deliveries+"?limit=500").want(200, "")
	h.admin().get(deliveries+"?state=pending&cursor=untried").want(200, "")
	h.admin().with("x-organization-id", "").get(deliveries).wantFieldsRefused("x-organization-id")
}

// An event_id of another organization is answered like an unknown one.
func TestForeignDeliveriesAreUnknown(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.newWebhookReceiver()
	id := h.firstDelivery(h.charge(good).at("id"))
	h.waitForDeliveries()
	there := h.admin().with("x-organization-id", h.seed.Second.Org.String())
	unknown := h.admin().get(deliveries+"/"+uuid.NewString()).want(404, "")
	for _, path := range []string{id, strings.ToUpper(id), "x", uuid.Nil.String(), strings.ReplaceAll(id, "-", "")} {
		there.get(deliveries+"/"+path).want(404, unknown.body)
		there.post(deliveries+"/"+path+"/replay", "").want(404, unknown.body)
	}
	there.get(deliveries + "?cursor=" + id).wantFieldsRefused("cursor")
	if rows := there.get(deliveries).want(200, "").rows(); rows != 0 {
		t.Errorf("%d foreign rows", rows)
	}
	// An event_id with a plausible time and channel for which there is no notification.
	h.admin().get(deliveries+"/"+h.charge("4000000000000077").at("id")).want(404, unknown.body)
}

// A delivery that is neither delivered nor parked is listed as pending, even before its first
// attempt has ended.
func TestDeliveryUnderWayIsPending(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.directory.AllowPrivateHooks(true)
	arrived, leave := make(chan struct{}), make(chan struct{})
	slow := newSlow(t, arrived, leave)
	h.admin().patch("/api/v1/partners/1", `{"notify_url":"`+slow+`"}`).want(200, "")
	id := h.charge(good).at("id")
	<-arrived
	a := h.admin().get(deliveries+"?state=pending").want(200, "")
	if a.at("data.0.transaction_id") != id || a.at("data.0.attempts") != "0" || a.at("data.0.next_at") != a.at("data.0.booked_at") || a.rows() != 1 {
		t.Errorf("%s", a.body)
	}
	h.wantListed("state=delivered")
	close(leave)
	h.waitForDeliveries()
	h.wantListed("state=pending")
}

// Messages to operators without an event are listed too.
func TestOperatorMessagesAreListed(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.newWebhookReceiver()
	h.charge(good)
	h.waitForDeliveries()
	org, terminal := h.seed.First.Org, h.terminalOf("payment")
	must(t, h.notifier.Post(org, uuid.MustParse(terminal), []byte(`{"kind":"daily_summary","subject":"s","text":"t"}`), "k"))
	h.waitForDeliveries()
	h.charge(good)
	h.waitForDeliveries()
	a := h.admin().get(deliveries).want(200, "")
	got := fmt.Sprintf("%s %s %s %s, %s %s %s", a.at("data.0.channel"), a.at("data.1.channel"), a.at("data.2.channel"), a.at("data.3"),
		a.at("data.1.type"), a.at("data.1.transaction_id"), a.at("data.1.terminal_id"))
	if want := "webhook bulletin webhook (absent), daily_summary null " + terminal; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	h.parkAll()
	h.wantListed("state=parked&terminal_id="+terminal, a.at("data.1.event_id"))
	h.admin().post(deliveries+"/replay", `{"terminal_id":"`+terminal+`"}`).want(200, `{"data":{"replayed":1}}`)
}

// Deliveries older than the retention are not shown.
func TestExpiredDeliveriesAreNotShown(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	s := h.newWebhookReceiver()
	ok := h.firstDelivery(h.charge(good).at("id"))
	h.waitForDeliveries()
	s.answerWith(500)
	failed := h.firstDelivery(h.charge(good).at("id"))
	h.advance(31 * 24 * 3600)
	s.answerWith(200)
	kept := h.firstDelivery(h.charge(good).at("id"))
	h.advance(24 * 3600)
	h.wantListed("", kept)
	h.wantListed("state=parked")
	for _, id := range []string{ok, failed} {
		h.admin().get(deliveries+"/"+id).want(404, "")
	}
}
