package conformance_test

import "testing"

// Every id that the service makes has the form of a UUID of version 4,
// even an id that is derived from other data.

func TestDerivedIDsAreUUIDsOfVersion4(t *testing.T) {
	merchant, h := newMerchantWithHook(t, `{}`)
	merchant.create(payment(good, "txid", "a"))
	event := h.wantNotified("charged of a")[0].parsed.EventID
	if !uuid4.MatchString(event) {
		t.Errorf("event_id %s", event)
	}
	admin(t).get(v1+"/deliveries/"+event).want(200).has("data.event_id", event)
	setRate(t, "CAD", "SGD", "1.5")
	for _, id := range admin(t).get(v1 + "/rates").want(200).column("id") {
		if !uuid4.MatchString(id) {
			t.Errorf("a rate has the id %s", id)
		}
	}
	admin(t).post(v1+"/blocklist", params{"kind": "email", "value": "ids@example.com"}).want(201).matches("data.id", uuid4)
	admin(t).post(v1+"/terminal/"+merchant.terminals[0]+"/test-delivery", nil).want(200).matches("data.event_id", uuid4)
	admin(t).get(v1+"/deliveries").want(200).matches("data.0.event_id", uuid4)
}
