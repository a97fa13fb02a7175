package checkout

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"mizan/api/checkout/page"
	"mizan/ledger"
)

// Limits for kept forms. A form is kept so that the payer need not type everything again.
const (
	maxKeptForms     = 1024 // if there are this many kept forms, the form of another payer is not kept
	keptFormLifetime = 2 * time.Minute
)

// keptForms keeps the values that a payer typed into a form, except a card's number and verification value, until the page
// shows the form again. Values are kept if the attempt was declined, or if the payer's IP address had sent too many forms. The
// form cannot be shown again in the response itself, because a payer who goes back to a response makes the browser send the
// form a second time. The values exist only in this process's memory, and are overwritten after they were shown once, or when
// the lifetime ends. A cookie, a URL or the browser's storage would keep the values longer than the payment takes.
type keptForms struct {
	lifetime time.Duration // real time

	mu   sync.Mutex
	byID map[ledger.ID]*keptForm // the kept forms by transaction; guarded by mu
}

// keptForm contains the values that a payer typed into the form for a payment method.
type keptForm struct {
	method string
	typed  map[string][]byte // the values by field name
}

func newKeptForms(lifetime time.Duration) *keptForms {
	return &keptForms{lifetime: lifetime, byID: make(map[ledger.ID]*keptForm)}
}

// keep keeps a copy of the values that a transaction's payer typed. The copy replaces the values of an earlier form of the
// transaction.
func (k *keptForms) keep(id ledger.ID, method string, typed map[string][]byte) {
	form := &keptForm{method: method, typed: make(map[string][]byte, len(typed))}
	for name, value := range typed {
		form.typed[name] = bytes.Clone(value)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if earlier := k.byID[id]; earlier != nil {
		earlier.wipe()
	} else if len(k.byID) >= maxKeptForms {
		form.wipe()
		return
	}
	k.byID[id] = form
	time.AfterFunc(k.lifetime, func() { k.forget(id, form) })
}

// forget overwrites and removes a form, unless take has already removed the form.
func (k *keptForms) forget(id ledger.ID, form *keptForm) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byID[id] == form {
		form.wipe()
		delete(k.byID, id)
	}
}

// take removes and returns the form that is kept for a transaction. If there is none, take returns nil. The caller wipes it.
func (k *keptForms) take(id ledger.ID) *keptForm {
	k.mu.Lock()
	defer k.mu.Unlock()
	form := k.byID[id]
	delete(k.byID, id)
	return form
}

// wipe overwrites the values that the payer typed.
func (f *keptForm) wipe() {
	for _, value := range f.typed {
		clear(value)
	}
}

// fillIn puts the form's method and values into a page, if the method is still offered.
func (f *keptForm) fillIn(p *page.Checkout) {
	i := slices.IndexFunc(p.Methods, func(m page.Method) bool { return m.Type == f.method })
	if i >= 0 {
		p.Chosen, p.Typed = i, f.typed
	}
}
