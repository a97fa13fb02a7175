package api_test

import (
	"fmt"
	"mizan/internal/testseed"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestDeliveriesAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.newWebhookReceiver()
	var want []string
	for range 5 {
		want = append([]string{f.deliveryAbout(f.charge(good).at("id"))}, want...)
	}
	f.waitForDeliveries()
	f.wantListed("", want...)
	f.wantListed("limit=2", want...)
	page := f.admin().get(deliveriesPath+"?limit=5").want(200, "")
	if page.at("cursor.cursor_field") != "event_id" || page.at("cursor.cursor_value") != "null" {
		t.Errorf("a full page is the last one: %s", page.at("cursor"))
	}
}

func TestDeliveryRowHasItsFields(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.newWebhookReceiver()
	payment := f.charge(good)
	terminal := f.terminalOf("payment")
	f.waitForDeliveries()
	ids, _ := s.received()
	row := f.admin().get(deliveriesPath).want(200, "").object()["data"].([]any)[0].(map[string]any)
	booked, _ := row["booked_at"].(string)
	if _, err := time.Parse(time.RFC3339, booked); err != nil {
		t.Errorf("booked_at: %v", err)
	}
	want := map[string]any{
		"event_id": ids[0], "transaction_id": payment.at("id"), "terminal_id": terminal, "channel": "webhook", "type": "transaction.charged",
		"state": "delivered", "attempts": 1.0, "next_at": nil, "booked_at": booked,
	}
	if fmt.Sprint(row) != fmt.Sprint(want) {
		t.Errorf("the row is\n\t%v, want\n\t%v", row, want)
	}
}

func TestDeliveryIsReadWithItsAttempts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.newWebhookReceiver()
	s.answerWith(503)
	id := f.deliveryAbout(f.charge(good).at("id"))
	f.waitForDeliveries()
	first := began.Format("2006-01-02T15:04:05.000000-07:00")
	f.advance(29) // the second attempt is due 30 s after the first one
	s.answerWith(204)
	f.advance(120)
	r := f.admin().get(deliveriesPath+"/"+id).want(200, "")
	second, third := began.Add(30*time.Second), began.Add(150*time.Second)
	for path, want := range map[string]string{
		"data.state": "delivered", "data.next_at": "null", "data.event_id": id,
		"data.attempts.0.at": first, "data.attempts.0.status": "503", "data.attempts.0.error": "status 503",
		"data.attempts.1.at": second.Format("2006-01-02T15:04:05.000000-07:00"), "data.attempts.1.status": "503",
		"data.attempts.2.at": third.Format("2006-01-02T15:04:05.000000-07:00"), "data.attempts.2.status": "204", "data.attempts.2.error": "null",
		"data.attempts.3": "(absent)",
	} {
		if got := r.at(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
	if milliseconds := r.object()["data"].(map[string]any)["attempts"].([]any)[0].(map[string]any)["duration_ms"].(float64); milliseconds < 0 || milliseconds > 15_000 {
		t.Errorf("duration_ms = %v", milliseconds)
	}
}

func TestUnansweredAttemptHasAnErrorAndNoStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.newWebhookReceiver()
	s.Close()
	id := f.deliveryAbout(f.charge(good).at("id"))
	f.waitForDeliveries()
	r := f.admin().get(deliveriesPath+"/"+id).want(200, "")
	if r.at("data.attempts.0.status") != "null" || r.at("data.attempts.0.error") == "null" || r.at("data.state") != "pending" {
		t.Errorf("%s", r.body)
	}
	if r.at("data.next_at") != began.Add(30*time.Second).Format("2006-01-02T15:04:05.000000-07:00") {
		t.Errorf("next_at = %s", r.at("data.next_at"))
	}
}

// mixDeliveries makes deliveries in each state, for two terminals. It returns their event_ids, newest first: those of each state,
// and those of all states.
func (f *fixture) mixDeliveries(r *webhookReceiver) (byState map[string][]string, allIDs []string) {
	f.t.Helper()
	byState = map[string][]string{}
	add := func(state string, transactionIDs ...string) {
		for _, id := range transactionIDs {
			delivery := f.deliveryAbout(id)
			byState[state] = append([]string{delivery}, byState[state]...)
			allIDs = append([]string{delivery}, allIDs...)
		}
	}
	r.answerWith(500)
	add("parked", f.charge(good).at("id"), f.payout1250(`{"type":"bank_account"}`).at("id"))
	f.parkAll()
	r.answerWith(200)
	add("delivered", f.charge(good).at("id"), f.payout1250(`{"type":"bank_account"}`).at("id"))
	f.waitForDeliveries()
	r.answerWith(500)
	add("delivered", f.charge(good).at("id")) // delivered at the second attempt
	f.waitForDeliveries()
	r.answerWith(200)
	f.advance(60)
	r.answerWith(500)
	add("pending", f.charge(good).at("id"), f.payout1250(`{"type":"bank_account"}`).at("id"))
	f.waitForDeliveries()
	return byState, allIDs
}

// terminalOf returns the id of the first partner's terminal for payments or for payouts, in env test.
func (f *fixture) terminalOf(kind string) string {
	f.t.Helper()
	list := f.admin().get("/api/v1/terminals?partner_id=1").want(200, "")
	for i := range list.rows() {
		row := fmt.Sprintf("data.%d.", i)
		if list.at(row+"type") == kind && list.at(row+"env") == "test" {
			return list.at(row + "id")
		}
	}
	f.t.Fatalf("no terminal for a %s", kind)
	return ""
}

func TestDeliveriesAreFiltered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	byState, allIDs := f.mixDeliveries(f.newWebhookReceiver())
	f.wantListed("", allIDs...)
	for _, state := range []string{"pending", "delivered", "parked"} {
		f.wantListed("state="+state, byState[state]...)
		f.wantListed("state="+state+"&limit=1", byState[state]...)
	}
	payout, payment := f.terminalOf("payout"), f.terminalOf("payment")
	f.wantListed("terminal_id="+payout, allIDs[0], allIDs[3], allIDs[5])
	f.wantListed("limit=1&terminal_id="+payment, allIDs[1], allIDs[2], allIDs[4], allIDs[6])
	f.wantListed("terminal_id="+payout+"&state=parked", allIDs[5])
	f.wantListed("terminal_id="+payment+"&state=pending", allIDs[1])
	fullList := f.admin().get(deliveriesPath+"?limit=500").want(200, "")
	transactionID := fullList.at("data.4.transaction_id")
	f.wantListed("transaction_id="+transactionID, allIDs[4])
	f.wantListed("transaction_id="+transactionID+"&state=delivered&terminal_id="+payment, allIDs[4])
	f.wantListed("transaction_id=" + transactionID + "&state=parked")
	f.wantListed("transaction_id=" + transactionID + "&terminal_id=" + payout)
	for _, unknownID := range []string{uuid.NewString(), uuid.Nil.String(), f.seed.Second.Org.String()} {
		f.wantListed("transaction_id=" + unknownID)
		f.wantListed("terminal_id=" + unknownID)
	}
}

// Both bounds are inclusive, and apply to the time of the event.
func TestDeliveriesAreFilteredByTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, allIDs := f.mixDeliveries(f.newWebhookReceiver())
	fullList := f.admin().get(deliveriesPath+"?limit=500").want(200, "")
	at := func(i int) string { return url.QueryEscape(fullList.at(fmt.Sprintf("data.%d.booked_at", i))) }
	for query, want := range map[string][]string{
		"from=" + at(2):                         allIDs[:3],
		"to=" + at(2):                           allIDs[2:],
		"from=" + at(4) + "&to=" + at(2):        allIDs[2:5],
		"from=" + at(2) + "&to=" + at(4):        nil,
		"from=2100-01-01T00:00:00Z":             nil,
		"to=1960-01-01T00:00:00Z":               nil,
		"from=1960-01-01T00:00:00Z":             allIDs,
		"state=parked&from=" + at(5):            allIDs[5:6],
		"state=pending&to=" + at(1):             allIDs[1:2],
		"state=delivered&limit=1&from=" + at(4): allIDs[2:5],
		"terminal_id=" + f.terminalOf("payment") + "&state=parked&to=" + at(6):                       allIDs[6:],
		"transaction_id=" + fullList.at("data.3.transaction_id") + "&from=" + at(3) + "&to=" + at(3): allIDs[3:4],
		"transaction_id=" + fullList.at("data.3.transaction_id") + "&from=" + at(2):                  nil,
	} {
		f.wantListed(query, want...)
	}
	now := f.Clock.Now().Format(time.RFC3339Nano)
	f.wantListed("to="+url.QueryEscape(now), allIDs...) // a bound equal to the clock's time means everything up to now
}

func TestDeliveriesOfOneTransactionAreListedByIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.newWebhookReceiver()
	f.charge(good)
	id := f.charge(good).at("id")
	f.changeTransaction(id, `"type":"refund","amount":"100"`).want(200, "")
	f.changeTransaction(id, `"type":"refund"`).want(200, "")
	f.waitForDeliveries()
	for _, limit := range []string{"", "&limit=1", "&limit=2"} {
		ids := f.listedIDs("transaction_id=" + id + limit)
		if len(ids) != 3 {
			t.Fatalf("%d deliveries%s", len(ids), limit)
		}
	}
	r := f.admin().get(deliveriesPath+"?transaction_id="+id).want(200, "")
	if got := r.at("data.0.type") + " " + r.at("data.1.type") + " " + r.at("data.2.type"); got != "transaction.refunded transaction.refunded transaction.charged" {
		t.Errorf("notified of %s", got)
	}
}

// Each delivery is listed exactly once, for every filter and page size. Deliveries are stored in pages, and a request reads a
// bounded number of these pages. If few of the deliveries that it has read match the filter, the response has few rows and a
// cursor.
func TestEachDeliveryIsListedExactlyOnce(t *testing.T) {
	t.Parallel()
	f, random := newFixture(t), testseed.Random(t)
	s := f.newWebhookReceiver()
	for range 80 { // each delivery is written on its own, and so is on a stored page of its own
		s.answerWith([]int{200, 200, 200, 500}[random.IntN(4)])
		f.charge([]string{good, "4000000000000002"}[random.IntN(2)])
		if random.IntN(8) == 0 {
			f.advance([]int{1, 31, 3600, 30000}[random.IntN(4)])
		}
	}
	f.waitForDeliveries()
	allIDs := f.listedIDs("limit=500")
	if len(allIDs) != 80 {
		t.Fatalf("%d deliveries", len(allIDs))
	}
	byState := map[string]string{}
	for _, id := range allIDs {
		byState[id] = f.admin().get(deliveriesPath+"/"+id).want(200, "").at("data.state")
	}
	for _, state := range []string{"", "pending", "delivered", "parked"} {
		query := fmt.Sprintf("limit=%d", 1+random.IntN(9))
		var want []string
		for _, id := range allIDs {
			if state == "" || byState[id] == state {
				want = append(want, id)
			}
		}
		if state != "" {
			query += "&state=" + state
		}
		f.wantListed(query, want...)
		f.wantListed(query+"&terminal_id="+f.terminalOf("payment"), want...)
	}
	emptyList := f.admin().get(deliveriesPath+"?terminal_id="+uuid.NewString()).want(200, "")
	if emptyList.rows() != 0 || emptyList.at("cursor.cursor_value") == "null" {
		t.Errorf("of 80 pages as many are read as are there: %s", emptyList.body)
	}
}

// A list of waiting or of parked deliveries has them on its first page, however many deliveries were delivered since.
func TestWaitingAndParkedDeliveriesAreListedFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.newWebhookReceiver()
	s.answerWith(500)
	parked := f.deliveryAbout(f.charge(good).at("id"))
	f.advance(30_000) // six attempts
	waiting := []string{f.deliveryAbout(f.charge(good).at("id")), f.deliveryAbout(f.charge(good).at("id"))}
	f.waitForDeliveries()
	s.answerWith(200)
	for range 70 { // each delivery is written on its own, and so is on a stored page of its own
		f.charge(good)
	}
	f.waitForDeliveries()
	for state, want := range map[string][]string{"pending": {waiting[1], waiting[0]}, "parked": {parked}} {
		r := f.admin().get(deliveriesPath+"?limit=10&state="+state).want(200, "")
		for i, id := range want {
			if r.rows() != len(want) || r.at(fmt.Sprintf("data.%d.event_id", i)) != id {
				t.Errorf("%s: %s, want %v", state, r.body, want)
			}
		}
	}
}

func TestDeliveryParametersAreChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for query, field := range map[string]string{
		"transaction_id=1": "transaction_id", "terminal_id=x": "terminal_id", "state=lost": "state", "state=": "state", "state=PENDING": "state",
		"from=yesterday": "from", "to=2026-01-01": "to", "limit=0": "limit", "limit=501": "limit", "limit=x": "limit", "page=1": "page",
		"cursor=x": "cursor", "cursor=" + uuid.NewString(): "cursor", "cursor=": "cursor", "state=parked&state=parked": "state",
		"cursor=untried": "cursor", "state=parked&cursor=untried": "cursor", "state=pending&cursor=untried-": "cursor", "state=pending&cursor=untried-x": "cursor",
	} {
		f.admin().get(deliveriesPath + "?" + query).wantFieldsRefused(field)
	}
	f.admin().get(deliveriesPath+"?limit=500").want(200, "")
	f.admin().get(deliveriesPath+"?state=pending&cursor=untried").want(200, "")
	f.admin().with("x-organization-id", "").get(deliveriesPath).wantFieldsRefused("x-organization-id")
}

// An event_id of another organization gets the same response as an unknown one.
func TestForeignDeliveriesAreUnknown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.newWebhookReceiver()
	id := f.deliveryAbout(f.charge(good).at("id"))
	f.waitForDeliveries()
	otherAdmin := f.admin().with("x-organization-id", f.seed.Second.Org.String())
	unknown := f.admin().get(deliveriesPath+"/"+uuid.NewString()).want(404, "")
	for _, pathID := range []string{id, strings.ToUpper(id), "x", uuid.Nil.String(), strings.ReplaceAll(id, "-", "")} {
		otherAdmin.get(deliveriesPath+"/"+pathID).want(404, unknown.body)
		otherAdmin.post(deliveriesPath+"/"+pathID+"/replay", "").want(404, unknown.body)
	}
	otherAdmin.get(deliveriesPath + "?cursor=" + id).wantFieldsRefused("cursor")
	if rows := otherAdmin.get(deliveriesPath).want(200, "").rows(); rows != 0 {
		t.Errorf("%d foreign rows", rows)
	}
	// This id has the form and a plausible time of an event_id, but no notification has it.
	f.admin().get(deliveriesPath+"/"+f.charge("4000000000000077").at("id")).want(404, unknown.body)
}

// A delivery that is neither delivered nor parked is listed as pending, even before its first
// attempt has ended.
func TestDeliveryUnderWayIsPending(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.directory.AllowPrivateAddresses(true)
	arrived, release := make(chan struct{}), make(chan struct{})
	slow := newSlowReceiver(t, arrived, release)
	f.admin().patch("/api/v1/partners/1", `{"notify_url":"`+slow+`"}`).want(200, "")
	id := f.charge(good).at("id")
	<-arrived
	r := f.admin().get(deliveriesPath+"?state=pending").want(200, "")
	if r.at("data.0.transaction_id") != id || r.at("data.0.attempts") != "0" || r.at("data.0.next_at") != r.at("data.0.booked_at") || r.rows() != 1 {
		t.Errorf("%s", r.body)
	}
	f.wantListed("state=delivered")
	close(release)
	f.waitForDeliveries()
	f.wantListed("state=pending")
}

// Messages to operators are listed too, although they are not about an event.
func TestOperatorMessagesAreListed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.newWebhookReceiver()
	f.charge(good)
	f.waitForDeliveries()
	org, terminal := f.seed.First.Org, f.terminalOf("payment")
	must(t, f.notifier.PostBulletin(org, uuid.MustParse(terminal), []byte(`{"kind":"daily_summary","subject":"s","text":"t"}`), "k"))
	f.waitForDeliveries()
	f.charge(good)
	f.waitForDeliveries()
	r := f.admin().get(deliveriesPath).want(200, "")
	got := fmt.Sprintf("%s %s %s %s, %s %s %s", r.at("data.0.channel"), r.at("data.1.channel"), r.at("data.2.channel"), r.at("data.3"),
		r.at("data.1.type"), r.at("data.1.transaction_id"), r.at("data.1.terminal_id"))
	if want := "webhook bulletin webhook (absent), daily_summary null " + terminal; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	f.parkAll()
	f.wantListed("state=parked&terminal_id="+terminal, r.at("data.1.event_id"))
	f.admin().post(deliveriesPath+"/replay", `{"terminal_id":"`+terminal+`"}`).want(200, `{"data":{"replayed":1}}`)
}

// Deliveries older than the retention are not shown.
func TestExpiredDeliveriesAreNotShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.newWebhookReceiver()
	deliveredID := f.deliveryAbout(f.charge(good).at("id"))
	f.waitForDeliveries()
	s.answerWith(500)
	failedID := f.deliveryAbout(f.charge(good).at("id"))
	f.advance(31 * 24 * 3600)
	s.answerWith(200)
	recentID := f.deliveryAbout(f.charge(good).at("id"))
	f.advance(24 * 3600)
	f.wantListed("", recentID)
	f.wantListed("state=parked")
	for _, id := range []string{deliveredID, failedID} {
		f.admin().get(deliveriesPath+"/"+id).want(404, "")
	}
}
