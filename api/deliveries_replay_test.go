package api_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestReplayAttemptsImmediately(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.newWebhookReceiver()
	id := f.deliveryAbout(f.charge(good).at("id"))
	f.waitForDeliveries()
	r := f.admin().post(deliveriesPath+"/"+id+"/replay", "").want(200, "")
	if r.at("data.event_id") != id || r.at("data.state") != "pending" || r.at("data.attempts.0.status") != "200" {
		t.Errorf("%s", r.body)
	}
	f.waitForDeliveries()
	replayed := f.admin().get(deliveriesPath+"/"+id).want(200, "")
	if ids, _ := s.received(); !slices.Equal(ids, []string{id, id}) || replayed.at("data.state") != "delivered" || replayed.at("data.attempts.1.status") != "200" {
		t.Errorf("%v %s", ids, replayed.body)
	}
	// A waiting delivery, too, is attempted immediately when it is replayed.
	s.answerWith(500)
	id = f.deliveryAbout(f.charge(good).at("id"))
	f.waitForDeliveries()
	before := s.count()
	f.admin().post(deliveriesPath+"/"+id+"/replay", `{}`).want(200, "")
	f.waitForDeliveries()
	if s.count() != before+1 {
		t.Errorf("%d attempts", s.count()-before)
	}
	f.admin().post(deliveriesPath+"/"+id+"/replay", `[]`).want(400, "")
}

func TestReplayedDeliveryIsRetriedOnTheFullSchedule(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.newWebhookReceiver()
	s.answerWith(500)
	id := f.deliveryAbout(f.charge(good).at("id"))
	f.parkAll()
	if s.count() != 6 || f.admin().get(deliveriesPath+"/"+id).at("data.state") != "parked" {
		t.Fatalf("%d attempts", s.count())
	}
	f.admin().post(deliveriesPath+"/"+id+"/replay", "").want(200, "")
	f.parkAll()
	if r := f.admin().get(deliveriesPath + "/" + id); s.count() != 12 || r.at("data.state") != "parked" {
		t.Errorf("%d attempts: %s", s.count(), r.body)
	}
}

func TestParkedDeliveriesOfATerminalAreReplayed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.newWebhookReceiver()
	s.answerWith(500)
	for range 3 {
		f.charge(good)
		f.payout1250(`{"type":"bank_account"}`)
	}
	f.parkAll()
	parked := f.listedIDs("state=parked")
	if len(parked) != 6 {
		t.Fatalf("%d parked", len(parked))
	}
	s.answerWith(200)
	payment, payout := f.terminalOf("payment"), f.terminalOf("payout")
	oldest := f.admin().get(deliveriesPath + "/" + f.listedIDs("state=parked&terminal_id=" + payment)[2])
	f.admin().post(deliveriesPath+"/replay", `{"terminal_id":"`+payment+`","to":"`+oldest.at("data.booked_at")+`"}`).want(200, `{"data":{"replayed":1}}`)
	f.admin().post(deliveriesPath+"/replay", `{"params":{"terminal_id":"`+payment+`","from":"`+oldest.at("data.booked_at")+`"}}`).want(200, `{"data":{"replayed":2}}`)
	f.admin().post(deliveriesPath+"/replay", `{"terminal_id":"`+payout+`","to":"1960-01-01T00:00:00Z"}`).want(200, `{"data":{"replayed":0}}`)
	f.admin().post(deliveriesPath+"/replay", `{"terminal_id":"`+payout+`","from":"1960-01-01T00:00:00Z","to":"`+f.Clock.Now().Format(time.RFC3339Nano)+`"}`).want(200, `{"data":{"replayed":3}}`)
	f.waitForDeliveries()
	if stillParked := f.listedIDs("state=parked"); len(stillParked) != 0 || len(f.listedIDs("state=delivered")) != 6 {
		t.Errorf("still parked: %v", stillParked)
	}
	f.admin().post(deliveriesPath+"/replay", `{"terminal_id":"`+payment+`"}`).want(200, `{"data":{"replayed":0}}`)
}

func TestReplayFieldsAreChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for body, field := range map[string]string{
		`{}`: "terminal_id", `{"terminal_id":null}`: "terminal_id", `{"terminal_id":1}`: "terminal_id", `{"terminal_id":"x"}`: "terminal_id",
	} {
		f.admin().post(deliveriesPath+"/replay", body).wantFieldsRefused(field)
	}
	terminal := f.terminalOf("payment")
	f.admin().post(deliveriesPath+"/replay", `{"terminal_id":"`+terminal+`","to":"soon","from":7}`).wantFieldsRefused("from", "to")
	f.admin().post(deliveriesPath+"/replay", `[]`).want(422, "")
	unknown := f.admin().post(deliveriesPath+"/replay", `{"terminal_id":"`+uuid.NewString()+`"}`).want(404, "")
	f.admin().with("x-organization-id", f.seed.Second.Org.String()).post(deliveriesPath+"/replay", `{"terminal_id":"`+terminal+`"}`).want(404, unknown.body)
}

// The replay of one delivery and the replay of a terminal's parked deliveries accept an Idempotency-Key, as
// every write of the administration does.
func TestReplaysTakeAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.newWebhookReceiver()
	s.answerWith(500)
	delivery, otherDelivery := f.deliveryAbout(f.charge(good).at("id")), f.deliveryAbout(f.charge(good).at("id"))
	f.parkAll()
	path, terminalBody := deliveriesPath+"/"+delivery+"/replay", `{"terminal_id":"`+f.terminalOf("payment")+`"}`
	deliveryReplay := f.admin().keyed("one").post(path, "").want(200, "")
	terminalReplay := f.admin().keyed("rest").post(deliveriesPath+"/replay", terminalBody).want(200, `{"data":{"replayed":1}}`)
	f.waitForDeliveries()
	before := s.count()
	repeat := func() {
		for _, r := range []*response{f.admin().keyed("one").post(path, "").want(200, deliveryReplay.body), f.admin().keyed("rest").post(deliveriesPath+"/replay", terminalBody).want(200, terminalReplay.body)} {
			if !r.isReplay() {
				t.Errorf("no replay: %v", r.header)
			}
		}
	}
	repeat()
	f.admin().keyed("one").post(deliveriesPath+"/"+otherDelivery+"/replay", "").want(409, keyConflict)
	f.admin().keyed("rest").post(deliveriesPath+"/replay", terminalBody+" ").want(409, keyConflict)
	f.admin().keyed("one").post("/api/v1/organizations", `{"name":"O"}`).want(409, keyConflict)
	f.waitForDeliveries()
	if s.count() != before {
		t.Errorf("a repeated replay was delivered")
	}
	// A request that was refused, or that changed nothing, has not used its key.
	f.admin().keyed("free").post(deliveriesPath+"/"+uuid.NewString()+"/replay", "").want(404, "")
	f.admin().keyed("free").post(deliveriesPath+"/replay", `{"terminal_id":"`+f.terminalOf("payout")+`"}`).want(200, `{"data":{"replayed":0}}`)
	f.admin().keyed("free").post(deliveriesPath+"/replay", `{"terminal_id":"`+f.terminalOf("payout")+`","from":"2026-01-01T00:00:00Z"}`).want(200, `{"data":{"replayed":0}}`)
	f.restart()
	repeat()
}

// Of several concurrent requests with the same key only one is executed, and all get its response.
func TestConcurrentReplaysWithOneKeyRunOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.newWebhookReceiver()
	id := f.deliveryAbout(f.charge(good).at("id"))
	f.waitForDeliveries()
	responses := make(chan *response, 16)
	for range cap(responses) {
		go func() { responses <- f.admin().keyed("k").post(deliveriesPath+"/"+id+"/replay", "") }()
	}
	bodies := map[string]int{}
	for range cap(responses) {
		bodies[(<-responses).want(200, "").body]++
	}
	f.waitForDeliveries()
	if len(bodies) != 1 || s.count() != 2 {
		t.Errorf("%d responses, %d deliveries", len(bodies), s.count())
	}
}

func TestTestDeliveryReportsItsResult(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	terminal := f.terminalOf("payment")
	path := "/api/v1/terminal/" + terminal + "/test-delivery"
	f.admin().post(path, "").wantFieldsRefused("notify_url")
	s := f.newWebhookReceiver()
	before := f.events()
	r := f.admin().post(path, "").want(200, "")
	ids, types := s.received()
	if r.at("data.delivered") != "true" || r.at("data.status") != "200" || r.at("data.error") != "null" || r.at("data.event_id") != ids[0] || types[0] != "transaction.test" {
		t.Errorf("%s %v", r.body, types)
	}
	s.answerWith(302)
	redirected := f.admin().keyed("k").post(path, `{}`).want(200, "")
	if redirected.at("data.delivered") != "false" || redirected.at("data.status") != "302" || redirected.at("data.error") != "redirect" || redirected.at("data.event_id") == r.at("data.event_id") {
		t.Errorf("%s", redirected.body)
	}
	s.Close()
	unreachable := f.admin().keyed("k").post(path, "").want(200, "") // a test delivery ignores the key
	if unreachable.at("data.delivered") != "false" || unreachable.at("data.status") != "null" || unreachable.at("data.error") == "null" || unreachable.isReplay() {
		t.Errorf("%s", unreachable.body)
	}
	f.parkAll()
	if rows := f.admin().get(deliveriesPath).want(200, "").rows(); rows != 0 || f.events() != before {
		t.Errorf("a test is stored: %d rows", rows)
	}
	f.admin().post(path, `[]`).want(400, "")
}

// A request for a test delivery waits for the receiver's response, so only a bounded number of test deliveries may run at the
// same time.
func TestTestDeliveriesUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.directory.AllowPrivateAddresses(true)
	arrived, release := make(chan struct{}), make(chan struct{})
	f.admin().patch("/api/v1/partners/1", `{"notify_url":"`+newSlowReceiver(t, arrived, release)+`"}`).want(200, "")
	path := "/api/v1/terminal/" + f.terminalOf("payment") + "/test-delivery"
	responses := make(chan *response, 16)
	for range cap(responses) {
		go func() { responses <- f.admin().post(path, "") }()
	}
	for range cap(responses) {
		<-arrived
	}
	if refused := f.admin().post(path, "").want(503, ""); refused.header.Get("retry-after") == "" {
		t.Errorf("no Retry-After: %v", refused.header)
	}
	close(release)
	for range cap(responses) {
		if r := (<-responses).want(200, ""); r.at("data.delivered") != "true" {
			t.Errorf("%s", r.body)
		}
	}
	go func() { responses <- f.admin().post(path, "") }()
	<-arrived
	(<-responses).want(200, "")
}
