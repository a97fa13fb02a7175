package notifier

import (
	"bytes"
	"fmt"
	"time"

	"mizan/actors"
	"mizan/actors/notifier/webhook"
	"mizan/ledger"
	"mizan/posting"
)

// deliver attempts a batch of deliveries one after another and reports the results. If an attempt fails
// or is slow, it stops and returns the other deliveries untried.
func (s *Service) deliver(k key, batch []pendingNotice) {
	m := workerReport{tries: make([]attemptedNotice, 0, len(batch))}
	next, trying := 0, false
	onReport := func(r report) {
		p := &batch[next]
		next, trying = next+1, false
		s.inMemory.Add(-1)
		m.tries = append(m.tries, attemptedNotice{notice: p.notice, stored: p.stored, replayRequests: p.replayRequests, report: r})
	}
	defer func() { // runs after a panic too: the actor waits for the message, and the panic counts as an attempt
		if trying {
			onReport(s.unwritten(batch[next].reached))
		}
		m.untried = batch[next:]
		s.destinations.Tell(k, m)
	}()
	for next < len(batch) {
		p := &batch[next]
		trying = true
		startTime := time.Now()
		r, made := s.attempt(k, &p.notice, p.reached)
		if !made {
			trying = false
			return
		}
		onReport(r)
		if r.Failure != "" || time.Since(startTime) > s.limits.slow || s.stopping.Load() {
			return
		}
	}
}

// report is the result of an attempt.
type report struct {
	Attempt
	minWait time.Duration // least time before the next attempt
	reached []byte        // operators that were reached so far

	// interrupted marks a result that does not count as an attempt but has reached some operators.
	interrupted bool
}

// unwritten is the result of an attempt whose message could not be written. It has reached no
// receiver.
func (s *Service) unwritten(reached []byte) report {
	return report{Attempt: Attempt{At: ledger.MicrosOf(s.rt.Clock.Now()), Failure: "could not be written"}, reached: reached}
}

// attempt makes one attempt to deliver. It returns false if the end of the process interrupted the attempt, which
// then does not count.
func (s *Service) attempt(k key, n *posting.Notice, reached []byte) (r report, hasReport bool) {
	startTime := time.Now()
	r, hasReport = s.try(k, n, reached)
	if hasReport && !r.interrupted && s.observer != nil {
		s.observe(n.Channel, r.Failure != "", time.Since(startTime))
	}
	return r, hasReport
}

// observe calls the observer of attempts. A panic of the observer does not affect the attempt.
func (s *Service) observe(channel posting.Channel, failed bool, took time.Duration) {
	defer func() { s.rt.Recovered("who observes deliveries", recover()) }()
	s.observer(channel, failed, took)
}

// try is attempt without the observer. A panic counts as a failed attempt, so that the notice does
// not hold up others.
func (s *Service) try(k key, n *posting.Notice, reached []byte) (r report, hasReport bool) {
	defer func() {
		if panicValue := recover(); panicValue != nil {
			s.rt.Recovered("a delivery", panicValue)
			r, hasReport = s.unwritten(reached), true
		}
	}()
	letter, buffer, err := s.body(k.org, n)
	defer func() {
		*buffer = letter.Data[:0]
		s.bodies.Put(buffer)
	}()
	if err != nil {
		s.rt.Log.Error("a notice cannot be written", "error", err)
		return s.unwritten(reached), true
	}
	if k.class == operators {
		return s.notifyOperators(k, letter.Data, reached)
	}
	return s.notifyMerchant(k, n, &letter)
}

func (s *Service) notifyMerchant(k key, n *posting.Notice, letter *actors.NotificationBody) (report, bool) {
	to, set := s.addresses.Address(k.org, k.to)
	if !set {
		return report{Attempt: Attempt{At: ledger.MicrosOf(s.rt.Clock.Now()), Failure: "no address is set"}}, true
	}
	p := webhook.Delivery{URL: to.URL, Type: letter.Type, Data: letter.Data, Bare: n.Channel == posting.Stream}
	if !p.Bare {
		p.Secret, p.Previous, p.EventID = to.Secret, to.Previous, EventID(k.org, ID{n.Booked, n.Channel}).String()
	}
	s.delivering.RLock()
	a := s.webhooks.Deliver(&p)
	s.delivering.RUnlock()
	return report{Attempt: Attempt{ledger.MicrosOf(a.At), a.Status, a.Failure, a.Took.Milliseconds()}}, a.Failure != webhook.Interrupted
}

// notifyOperators sends a message to operators. If the end of the process interrupts it, it does not
// count as an attempt, but operators who were reached do not get the message again.
func (s *Service) notifyOperators(k key, body, reached []byte) (report, bool) {
	if s.operators == nil {
		return report{Attempt: Attempt{At: ledger.MicrosOf(s.rt.Clock.Now()), Failure: "nothing is configured to tell operators by"}, reached: reached}, true
	}
	a, reachedNow, wait := s.operators(k.org, k.to, body, reached)
	r := report{Attempt: a, reached: reachedNow, minWait: wait}
	if a.Failure == "" || !s.stopping.Load() {
		return r, true
	}
	r.interrupted = true
	return r, reachedNow != nil && !bytes.Equal(reachedNow, reached)
}

// body writes the body of a notification into a buffer of the pool.
func (s *Service) body(org ledger.ID, n *posting.Notice) (actors.NotificationBody, *[]byte, error) {
	buffer := s.bodies.Get().(*[]byte)
	letter := actors.NotificationBody{Data: (*buffer)[:0]}
	if classOf(n.Channel) == operators {
		letter.Data = append(letter.Data, n.Body...)
		return letter, buffer, nil
	}
	writer := s.writers[n.Source.Kind]
	if writer == nil {
		return letter, buffer, fmt.Errorf("nobody tells of records of kind %c", n.Source.Kind)
	}
	notification, err := writer.WriteNotification(letter.Data, org, n)
	if err != nil {
		return letter, buffer, err
	}
	return notification, buffer, nil
}
