package simulation

import (
	"fmt"
	"net/http"

	"mizan/bench/lifecycles"
)

// contractCase is a contract that clients take through its lifecycle, one step after the other. A step is sent again until it
// is answered. Each step has an idempotency key, so it is carried out only once.
type contractCase struct {
	number    int
	lifecycle *lifecycles.Lifecycle
	id        string   // empty if the contract is not created yet
	next      int      // index of the next step
	body      string   // body of the request that is not answered yet; empty if there is none
	isBusy    bool     // a request is under way
	isOver    bool     // no further request will be sent
	statuses  []string // statuses of the contract in the answers, oldest first
}

func (w *world) chooseContract() *operation {
	b := w.book
	var candidates []*contractCase
	w.locked(func() {
		for _, k := range b.contracts {
			if !k.isBusy && !k.isOver {
				candidates = append(candidates, k)
			}
		}
	})
	if len(candidates) < 3 {
		k := &contractCase{number: len(b.contracts), lifecycle: &lifecycles.All[w.random.IntN(len(lifecycles.All))]}
		w.locked(func() { b.contracts = append(b.contracts, k) })
		candidates = append(candidates, k)
	}
	k := candidates[w.random.IntN(len(candidates))]
	w.locked(func() { k.isBusy = true })
	return &operation{name: fmt.Sprintf("step %d of contract %d, %s of %s", k.next, k.number, k.lifecycle.Product, k.lifecycle.Reading), run: k.advance}
}

// advance sends the next step, or repeats the last request if it was not answered.
func (k *contractCase) advance(c *client) {
	w := c.world
	defer func() { w.locked(func() { k.isBusy = false }) }()
	path, body, want := k.lifecycle.Path, k.lifecycle.CreateBody, http.StatusCreated
	if k.id != "" {
		step := &k.lifecycle.Steps[k.next]
		path, body, want = path+"/"+k.id+"/"+step.Action, step.Body, http.StatusOK
	}
	if k.body == "" {
		k.body = lifecycles.Fill(body, w.clockNow())
	}
	a := c.request(bySession, http.MethodPost, path, fmt.Sprintf("contract-%d-%s-%d", k.number, k.id, k.next), k.body)
	switch a.status {
	case 0, http.StatusServiceUnavailable, http.StatusConflict: // 409: the first request with this key is still under way
		return
	case want:
	case http.StatusUnprocessableEntity: // the day in the body has passed, or a term of the contract has ended
		w.locked(func() { k.isOver = true })
		return
	default:
		w.recordViolation("contract %d: %s with %s is answered %d: %s", k.number, path, k.body, a.status, a.body)
		return
	}
	w.locked(func() {
		k.body = ""
		k.statuses = append(k.statuses, a.get("status"))
		if k.id == "" {
			k.id = a.get("id")
		} else {
			k.next++
		}
		k.isOver = k.next == len(k.lifecycle.Steps)
	})
	if k.id != a.get("id") {
		w.recordViolation("contract %d: %s answers with another contract: %s", k.number, path, a.body)
	}
}
