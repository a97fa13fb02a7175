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
	maxKeptForms     = 1024 // while this number of forms is kept, the form of a further payer is not kept
	keptFormLifetime = 2 * time.Minute
)

// keptForms keeps the values that a payer typed into a form, except a card's number and verification value, until the page shows
// the form again. It keeps them if the attempt was declined, or if the payer's IP address had sent too many forms. The response
// to such a form is not the form again, because a payer who went back to that response would send the form a second time. The
// values are only in this process's memory, and are overwritten after they were shown once, or after the lifetime. In a cookie,
// in the URL or in the browser's storage the values would outlive the payment.
type keptForms struct {
	lifetime time.Duration // real time

	mu   sync.Mutex
	byID map[ledger.ID]*keptForm // the kept forms by transaction; guarded by mu
}

// keptForm has the values that a payer typed into the form for a method.
type keptForm struct {
	method string
	typed  map[string][]byte // the values by the name of the field
}

func newKeptForms(lifetime time.Duration) *keptForms {
	return &keptForms{lifetime: lifetime, byID: make(map[ledger.ID]*keptForm)}
}

// keep keeps a copy of the values that the payer of a transaction typed. It replaces the values of an earlier form.
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

// forget overwrites and removes a form, unless take has removed it before.
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
