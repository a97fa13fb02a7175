package stripestub

import (
	"encoding/json"
	"slices"
)

// Event is an event that has happened, as a webhook delivers it.
type Event struct {
	ID       string
	Type     string // for example payment_intent.succeeded
	ObjectID string // of the object that has changed
	Body     []byte // JSON of the whole event
}

type event struct {
	Event
	created int64
	data    object
	version string
	pending int64
	cause   Request // zero: no request, but time or a test
}

// emit records an event with the resource as it is now.
func (s *Stub) emit(kind string, r resource) {
	data := r.json()
	objectID, _ := data["id"].(string)
	e := &event{Event: Event{ID: newID("evt"), Type: kind, ObjectID: objectID}, created: s.now().Unix(), version: s.options.APIVersion}
	if s.current != nil {
		e.cause = s.current.Request
	}
	e.data = clone(data)
	for _, w := range s.webhooks {
		if w.wants(kind) {
			e.pending++
		}
	}
	e.Body = encode(e.json())
	s.objects[e.ID], s.events = e, append(s.events, e)
	for _, w := range s.webhooks {
		if w.wants(kind) {
			w.pending = append(w.pending, e.Event)
		}
	}
}

// clone returns a deep copy, so that an expansion does not change what is stored.
func clone(o object) (copied object) {
	if err := json.Unmarshal(encode(o), &copied); err != nil {
		panic(err) // encode has written valid JSON
	}
	return copied
}

func (e *event) json() object {
	return object{
		"id": e.ID, "object": "event", "api_version": e.version, "created": e.created, "data": object{"object": clone(e.data)}, "livemode": false,
		"pending_webhooks": e.pending, "request": object{"id": nullable(e.cause.ID), "idempotency_key": nullable(e.cause.IdempotencyKey)}, "type": e.Type,
	}
}

// Events returns all events, oldest first.
func (s *Stub) Events() []Event {
	s.lock()
	defer s.mu.Unlock()
	all := make([]Event, len(s.events))
	for i, e := range s.events {
		all[i] = e.Event
	}
	return all
}

func (s *Stub) listEvents(c *call) (object, *failure) {
	types := c.form["types[]"]
	return listOf(c, s.events, func(e *event) bool {
		return c.admits("type", e.Type) && (len(types) == 0 || slices.Contains(types, e.Type))
	})
}
