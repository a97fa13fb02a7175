package api_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestReplayAttemptsImmediately(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	s := h.newWebhookReceiver()
	id := h.firstDelivery(h.charge(good).at("id"))
	h.waitForDeliveries()
	a := h.admin().post(deliveries+"/"+id+"/replay", "").want(200, "")
	if a.at("data.event_id") != id || a.at("data.state") != "pending" || a.at("data.attempts.0.status") != "200" {
		t.Errorf("%s", a.body)
	}
	h.waitForDeliveries()
	read := h.admin().get(deliveries+"/"+id).want(200, "")
	if ids, _ := s.received(); !slices.Equal(ids, []string{id, id}) || read.at("data.state") != "delivered" || read.at("data.attempts.1.status") != "200" {
		t.Errorf("%v %s", ids, read.body)
	}
	// The replay of a waiting delivery is attempted immediately.
	s.answerWith(500)
	id = h.firstDelivery(h.charge(good).at("id"))
	h.waitForDeliveries()
	before := s.count()
	h.admin().post(deliveries+"/"+id+"/replay", `{}`).want(200, "")
	h.waitForDeliveries()
	if s.count() != before+1 {
		t.Errorf("%d attempts", s.count()-before)
	}
	h.admin().post(deliveries+"/"+id+"/replay", `[]`).want(400, "")
}

func TestReplayedDeliveryIsRetriedOnTheFullSchedule(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	s := h.newWebhookReceiver()
	s.answerWith(500)
	id := h.firstDelivery(h.charge(good).at("id"))
	h.parkAll()
	if s.count() != 6 || h.admin().get(deliveries+"/"+id).at("data.state") != "parked" {
		t.Fatalf("%d attempts", s.count())
	}
	h.admin().post(deliveries+"/"+id+"/replay", "").want(200, "")
	h.parkAll()
	if a := h.admin().get(deliveries + "/" + id); s.count() != 12 || a.at("data.state") != "parked" {
		t.Errorf("%d attempts: %s", s.count(), a.body)
	}
}

func TestParkedDeliveriesOfATerminalAreReplayed(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	s := h.newWebhookReceiver()
	s.answerWith(500)
	for range 3 {
		h.charge(good)
		h.payout1250(`{"type":"bank_account"}`)
	}
	h.parkAll()
	parked := h.listed("state=parked")
	if len(parked) != 6 {
		t.Fatalf("%d parked", len(parked))
	}
	s.answerWith(200)
	payment, payout := h.terminalOf("payment"), h.terminalOf("payout")
	first := h.admin().get(deliveries + "/" + h.listed("state=parked&terminal_id=" + payment)[2])
	h.admin().post(deliveries+"/replay", `{"terminal_id":"`+payment+`","to":"`+first.at("data.booked_at")+`"}`).want(200, `{"data":{"replayed":1}}`)
	h.admin().post(deliveries+"/replay", `{"params":{"terminal_id":"`+payment+`","from":"`+first.at("data.booked_at")+`"}}`).want(200, `{"data":{"replayed":2}}`)
	h.admin().post(deliveries+"/replay", `{"terminal_id":"`+payout+`","to":"1960-01-01T00:00:00Z"}`).want(200, `{"data":{"replayed":0}}`)
	h.admin().post(deliveries+"/replay", `{"terminal_id":"`+payout+`","from":"1960-01-01T00:00:00Z","to":"`+h.Clock.Now().Format(time.RFC3339Nano)+`"}`).want(200, `{"data":{"replayed":3}}`)
	h.waitForDeliveries()
	if left := h.listed("state=parked"); len(left) != 0 || len(h.listed("state=delivered")) != 6 {
		t.Errorf("still parked: %v", left)
	}
	h.admin().post(deliveries+"/replay", `{"terminal_id":"`+payment+`"}`).want(200, `{"data":{"replayed":0}}`)
}

func TestReplayFieldsAreChecked(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for body, field := range map[string]string{
		`{}`: "terminal_id", `{"terminal_id":null}`: "terminal_id", `{"terminal_id":1}`: "terminal_id", `{"terminal_id":"x"}`: "terminal_id",
	} {
		h.admin().post(deliveries+"/replay", body).wantFieldsRefused(field)
	}
	terminal := h.terminalOf("payment")
	h.admin().post(deliveries+"/replay", `{"terminal_id":"`+terminal+`","to":"soon","from":7}`).wantFieldsRefused("from", "to")
	h.admin().post(deliveries+"/replay", `[]`).want(422, "")
	unknown := h.admin().post(deliveries+"/replay", `{"terminal_id":"`+uuid.NewString()+`"}`).want(404, "")
	h.admin().with("x-organization-id", h.seed.Second.Org.String()).post(deliveries+"/replay", `{"terminal_id":"`+terminal+`"}`).want(404, unknown.body)
}

// Both replays accept an Idempotency-Key, as every write of the administration.
func TestReplaysTakeAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	s := h.newWebhookReceiver()
	s.answerWith(500)
	one, other := h.firstDelivery(h.charge(good).at("id")), h.firstDelivery(h.charge(good).at("id"))
	h.parkAll()
	path, all := deliveries+"/"+one+"/replay", `{"terminal_id":"`+h.terminalOf("payment")+`"}`
	first := h.admin().keyed("one").post(path, "").want(200, "")
	rest := h.admin().keyed("rest").post(deliveries+"/replay", all).want(200, `{"data":{"replayed":1}}`)
	h.waitForDeliveries()
	before := s.count()
	repeat := func() {
		for _, a := range []*answer{h.admin().keyed("one").post(path, "").want(200, first.body), h.admin().keyed("rest").post(deliveries+"/replay", all).want(200, rest.body)} {
			if !a.isReplay() {
				t.Errorf("no replay: %v", a.header)
			}
		}
	}
	repeat()
	h.admin().keyed("one").post(deliveries+"/"+other+"/replay", "").want(409, keyConflict)
	h.admin().keyed("rest").post(deliveries+"/replay", all+" ").want(409, keyConflict)
	h.admin().keyed("one").post("/api/v1/organizations", `{"name":"O"}`).want(409, keyConflict)
	h.waitForDeliveries()
	if s.count() != before {
		t.Errorf("a repeated replay was delivered")
	}
	// A request that was refused, or that changed nothing, has not used its key.
	h.admin().keyed("free").post(deliveries+"/"+uuid.NewString()+"/replay", "").want(404, "")
	h.admin().keyed("free").post(deliveries+"/replay", `{"terminal_id":"`+h.terminalOf("payout")+`"}`).want(200, `{"data":{"replayed":0}}`)
	h.admin().keyed("free").post(deliveries+"/replay", `{"terminal_id":"`+h.terminalOf("payout")+`","from":"2026-01-01T00:00:00Z"}`).want(200, `{"data":{"replayed":0}}`)
	h.restart()
	repeat()
}

// Of several concurrent requests with one key one is executed, and all get its answer.
func TestConcurrentReplaysWithOneKeyRunOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	s := h.newWebhookReceiver()
	id := h.firstDelivery(h.charge(good).at("id"))
	h.waitForDeliveries()
	answers := make(chan *answer, 16)
	for range cap(answers) {
		go func() { answers <- h.admin().keyed("k").post(deliveries+"/"+id+"/replay", "") }()
	}
	bodies := map[string]int{}
	for range cap(answers) {
		bodies[(<-answers).want(200, "").body]++
	}
	h.waitForDeliveries()
	if len(bodies) != 1 || s.count() != 2 {
		t.Errorf("%d answers, %d deliveries", len(bodies), s.count())
	}
}

func TestTestDeliveryReportsItsResult(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	terminal := h.terminalOf("payment")
	path := "/api/v1/terminal/" + terminal + "/test-delivery"
	h.admin().post(path, "").wantFieldsRefused("notify_url")
	s := h.newWebhookReceiver()
	before := h.events()
	a := h.admin().post(path, "").want(200, "")
	ids, types := s.received()
	if a.at("data.delivered") != "true" || a.at("data.status") != "200" || a.at("data.error") != "null" || a.at("data.event_id") != ids[0] || types[0] != "transaction.test" {
		t.Errorf("%s %v", a.body, types)
	}
	s.answerWith(302)
	b := h.admin().keyed("k").post(path, `{}`).want(200, "")
	if b.at("data.delivered") != "false" || b.at("data.status") != "302" || b.at("data.error") != "redirect" || b.at("data.event_id") == a.at("data.event_id") {
		t.Errorf("%s", b.body)
	}
	s.Close()
	c := h.admin().keyed("k").post(path, "").want(200, "") // it ignores the key
	if c.at("data.delivered") != "false" || c.at("data.status") != "null" || c.at("data.error") == "null" || c.isReplay() {
		t.Errorf("%s", c.body)
	}
	h.parkAll()
	if rows := h.admin().get(deliveries).want(200, "").rows(); rows != 0 || h.events() != before {
		t.Errorf("a test is stored: %d rows", rows)
	}
	h.admin().post(path, `[]`).want(400, "")
}

// A test delivery takes as long as its receiver, so their number is bounded.
func TestTestDeliveriesUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.directory.AllowPrivateHooks(true)
	arrived, leave := make(chan struct{}), make(chan struct{})
	h.admin().patch("/api/v1/partners/1", `{"notify_url":"`+newSlow(t, arrived, leave)+`"}`).want(200, "")
	path := "/api/v1/terminal/" + h.terminalOf("payment") + "/test-delivery"
	answers := make(chan *answer, 16)
	for range cap(answers) {
		go func() { answers <- h.admin().post(path, "") }()
	}
	for range cap(answers) {
		<-arrived
	}
	if over := h.admin().post(path, "").want(503, ""); over.header.Get("retry-after") == "" {
		t.Errorf("no Retry-After: %v", over.header)
	}
	close(leave)
	for range cap(answers) {
		if a := (<-answers).want(200, ""); a.at("data.delivered") != "true" {
			t.Errorf("%s", a.body)
		}
	}
	go func() { answers <- h.admin().post(path, "") }()
	<-arrived
	(<-answers).want(200, "")
}
