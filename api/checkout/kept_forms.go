package checkout

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"mizan/api/checkout/page"
	"mizan/ledger"
)

// Bounds of what payers typed and may see again.
const (
	maxKeptForms     = 1024 // beyond, a payer types again
	keptFormLifetime = 2 * time.Minute
)

// keptForms keeps what payers typed, but for a card's number and verification value, between the response to a form and the page
// that shows the form again: a page that were itself the response would be sent a second time by a payer who goes back to it.
// It is in this process's memory only, for one look and at most the lifetime, and is overwritten then. A cookie, the address or
// the browser's storage would outlive the payment.
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

// forget overwrites a form that nobody has taken.
func (k *keptForms) forget(id ledger.ID, form *keptForm) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byID[id] == form {
		form.wipe()
		delete(k.byID, id)
	}
}

// take returns the form of a transaction, which is not kept any longer; nil if there is none. The caller wipes it.
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

// fillIn shows a form's method and its values again, as long as the method is offered.
func (f *keptForm) fillIn(p *page.Checkout) {
	i := slices.IndexFunc(p.Methods, func(m page.Method) bool { return m.Type == f.method })
	if i >= 0 {
		p.Chosen, p.Typed = i, f.typed
	}
}
