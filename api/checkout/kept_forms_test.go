package checkout

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
)

// The values that a payer typed are shown again once. They are kept in a copy, because the memory of the request's form is
// overwritten as soon as the response is sent. The copy is overwritten after use too.
func TestKeptFormIsACopyForOneLook(t *testing.T) {
	k, id := newKeptForms(time.Hour), uuid.New()
	typed := map[string][]byte{"cardholder": []byte("JOHN DOE")}
	k.keep(id, "bank_card", map[string][]byte{"cardholder": []byte("EARLIER")})
	k.keep(id, "bank_card", typed)
	clear(typed["cardholder"])
	if other := k.take(uuid.New()); other != nil {
		t.Errorf("another transaction has %q", other.typed)
	}
	form := k.take(id)
	if form == nil || form.method != "bank_card" || string(form.typed["cardholder"]) != "JOHN DOE" {
		t.Fatalf("kept %v", form)
	}
	if again := k.take(id); again != nil {
		t.Errorf("a second look sees %q", again.typed)
	}
	value := form.typed["cardholder"]
	form.wipe()
	if string(value) != "\x00\x00\x00\x00\x00\x00\x00\x00" {
		t.Errorf("%q is left", value)
	}
}

// A form that is not shown again is overwritten when its lifetime ends. The end of an earlier form's lifetime does not affect a
// later form.
func TestKeptFormIsForgotten(t *testing.T) {
	k, id := newKeptForms(time.Hour), uuid.New()
	k.keep(id, "bank_card", map[string][]byte{"cardholder": []byte("A")})
	earlier := k.byID[id]
	k.keep(id, "bank_card", map[string][]byte{"cardholder": []byte("B")})
	later := k.byID[id]
	k.forget(id, earlier)
	if k.byID[id] != later || string(earlier.typed["cardholder"]) != "\x00" || string(later.typed["cardholder"]) != "B" {
		t.Errorf("%q and %q are kept", earlier.typed, later.typed)
	}
	if k.forget(id, later); len(k.byID) != 0 || string(later.typed["cardholder"]) != "\x00" {
		t.Errorf("%q is kept", later.typed)
	}
}

func TestKeptFormsAreBounded(t *testing.T) {
	k := newKeptForms(time.Hour)
	last := uuid.New()
	for i := range maxKeptForms + 1 {
		last = uuid.New()
		k.keep(last, "bank_card", map[string][]byte{"cardholder": fmt.Append(nil, i)})
	}
	if len(k.byID) != maxKeptForms || k.take(last) != nil {
		t.Errorf("%d forms are kept", len(k.byID))
	}
	k = newKeptForms(0)
	k.keep(last, "bank_card", nil)
	for deadline := time.Now().Add(10 * time.Second); ; {
		k.mu.Lock()
		n := len(k.byID)
		k.mu.Unlock()
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("a form outlives its time")
		}
	}
}
