package checkout

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"mizan/api/checkout/page"
	"mizan/ledger"
)

// Bounds of the forms that are kept so that payers need not type everything again.
const (
	maxKeptForms     = 1024 // while so many are kept, no other payer's form is kept
	keptFormLifetime = 2 * time.Minute
)

// keptForms keeps what a payer typed into a form that was declined, or whose address had sent too many forms, except a card's
// number and verification value, until the form is shown again. The response to such a form does not contain the form, because a
// payer who goes back to that response would send it a second time. What was typed is only in this process's memory. It is
// overwritten after it was shown once, or after the lifetime; a cookie, the address or the browser's storage would outlive the
// payment.
type keptForms struct {
	lifetime time.Duration // real time

	mu   sync.Mutex
	byID map[ledger.ID]*keptForm // by transaction; guarded by mu
}

// keptForm is what a payer typed into a form for a method.
type keptForm struct {
	method string
	typed  map[string][]byte // by field
}

func newKeptForms(lifetime time.Duration) *keptForms {
	return &keptForms{lifetime: lifetime, byID: make(map[ledger.ID]*keptForm)}
}

// keep keeps a copy of what the payer of a transaction typed, in place of what was kept of an earlier form.
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

// forget overwrites and removes a form, unless take has returned it.
func (k *keptForms) forget(id ledger.ID, form *keptForm) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byID[id] == form {
		form.wipe()
		delete(k.byID, id)
	}
}

// take removes and returns the form that is kept for a transaction; nil if there is none. The caller wipes it.
func (k *keptForms) take(id ledger.ID) *keptForm {
	k.mu.Lock()
	defer k.mu.Unlock()
	form := k.byID[id]
	delete(k.byID, id)
	return form
}

// wipe overwrites the typed values.
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
