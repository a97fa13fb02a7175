package notifier

import (
	"bytes"
	"fmt"
	"time"

	"mizan/actors"
	"mizan/actors/notifier/webhook"
	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/posting"
)

// deliver attempts the deliveries of a batch one after another and reports the results to the destination's actor.
// After an attempt that fails or is slow it stops, and reports the other deliveries as untried.
func (s *Service) deliver(k destinationKey, batch []pendingNotice) {
	batchReport := workerReport{attempts: make([]attemptedNotice, 0, len(batch))}
	nextIndex, attemptRunning := 0, false
	onReport := func(r report) {
		p := &batch[nextIndex]
		nextIndex, attemptRunning = nextIndex+1, false
		s.inMemory.Add(-1)
		batchReport.attempts = append(batchReport.attempts, attemptedNotice{notice: p.notice, fromStore: p.fromStore, replayRequests: p.replayRequests, report: r})
	}
	defer func() { // deferred, because the actor waits for this report even if the attempt panics; the attempt counts as failed
		if attemptRunning {
			onReport(s.unwrittenReport(batch[nextIndex].reachedOperators))
		}
		batchReport.untried = batch[nextIndex:]
		s.destinations.Tell(k, batchReport)
	}()
	for nextIndex < len(batch) {
		p := &batch[nextIndex]
		attemptRunning = true
		startTime := time.Now()
		r, hasReport := s.attempt(k, &p.notice, p.reachedOperators)
		if !hasReport {
			attemptRunning = false
			return
		}
		onReport(r)
		if r.Failure != "" || time.Since(startTime) > s.limits.slowAnswer || s.stopping.Load() {
			return
		}
	}
}

// report is the result of an attempt.
type report struct {
	Attempt
	minWait          time.Duration // minimum time until the next attempt
	reachedOperators []byte        // operators reached so far, by this attempt and earlier ones

	// interrupted marks a result that does not count as an attempt, although the message has reached
	// some operators.
	interrupted bool
}

// unwrittenReport returns the result of an attempt that sent nothing, because its message could not be
// written. reachedOperators are the operators whom earlier attempts have reached.
func (s *Service) unwrittenReport(reachedOperators []byte) report {
	return report{Attempt: Attempt{At: ledger.MicrosOf(s.runtime.Clock.Now()), Failure: "could not be written"}, reachedOperators: reachedOperators}
}

// attempt makes one attempt to deliver. hasReport is false if the attempt was interrupted because the process
// is stopping, and the message has reached nobody.
func (s *Service) attempt(k destinationKey, n *posting.Notice, reachedOperators []byte) (r report, hasReport bool) {
	startTime := time.Now()
	origin, isKept := s.originOf(k.org, n)
	hop := s.tracer.Begin(tracing.Client, "notification", origin)
	r, hasReport = s.makeAttempt(k, n, reachedOperators, hop.Origin(origin))
	endHop(hop, n.Channel, &r)
	if !hasReport || r.interrupted {
		return r, hasReport
	}
	s.keepOrigin(k.org, n, origin, isKept, r.Failure != "")
	if s.observer != nil {
		s.observe(n.Channel, r.Failure != "", time.Since(startTime))
	}
	return r, hasReport
}

// observe passes an attempt's duration and result to the observer that New was given. A panic of the observer does
// not affect the attempt.
func (s *Service) observe(channel posting.Channel, failed bool, took time.Duration) {
	defer func() { s.runtime.LogPanic("the observer of delivery attempts", recover()) }()
	s.observer(channel, failed, took)
}

// makeAttempt makes an attempt without calling the observer. A panic counts as a failed attempt, so that the
// notice does not block the notices after it.
func (s *Service) makeAttempt(k destinationKey, n *posting.Notice, reachedOperators []byte, origin tracing.Origin) (r report, hasReport bool) {
	defer func() {
		if panicValue := recover(); panicValue != nil {
			s.runtime.LogPanic("a delivery", panicValue)
			r, hasReport = s.unwrittenReport(reachedOperators), true
		}
	}()
	body, buffer, err := s.encodeBody(k.org, n)
	defer func() {
		*buffer = body.Data[:0]
		s.bodyBuffers.Put(buffer)
	}()
	if err != nil {
		s.runtime.Log.Error("a notice cannot be written", "error", err)
		return s.unwrittenReport(reachedOperators), true
	}
	switch k.class {
	case operatorClass:
		return s.notifyOperators(k, body.Data, reachedOperators)
	case payerClass:
		return s.notifyPayer(k, n)
	}
	return s.notifyMerchant(k, n, &body, origin)
}

func (s *Service) notifyMerchant(k destinationKey, n *posting.Notice, body *actors.NotificationBody, origin tracing.Origin) (report, bool) {
	address, isSet := s.addresses.Address(k.org, k.to)
	if !isSet {
		return report{Attempt: Attempt{At: ledger.MicrosOf(s.runtime.Clock.Now()), Failure: "no address is set"}}, true
	}
	outgoing := webhook.Delivery{URL: address.URL, Type: body.Type, Data: body.Data, WithoutEnvelope: n.Channel == posting.Stream, Origin: origin}
	if !outgoing.WithoutEnvelope {
		outgoing.Secret, outgoing.PreviousSecret, outgoing.EventID = address.Secret, address.PreviousSecret, EventID(k.org, ID{n.Booked, n.Channel}).String()
	}
	s.delivering.RLock()
	result := s.webhooks.Deliver(&outgoing)
	s.delivering.RUnlock()
	return report{Attempt: Attempt{ledger.MicrosOf(result.At), result.Status, result.Failure, result.Duration.Milliseconds()}}, result.Failure != webhook.Interrupted
}

// notifyPayer sends the payer of a transaction an e-mail with the address of the receipt. An attempt that fails while the
// process is stopping does not count.
func (s *Service) notifyPayer(k destinationKey, n *posting.Notice) (report, bool) {
	if s.mailReceipt == nil {
		return report{Attempt: Attempt{At: ledger.MicrosOf(s.runtime.Clock.Now()), Failure: "sending of receipts is not configured"}}, true
	}
	a := s.mailReceipt(k.org, n.Source.ID)
	return report{Attempt: a}, a.Failure == "" || !s.stopping.Load()
}

// notifyOperators sends a message to operators. An attempt that fails while the process is stopping does not count,
// but operators whom it reached do not get the message again.
func (s *Service) notifyOperators(k destinationKey, body, reachedOperators []byte) (report, bool) {
	if s.attemptOperators == nil {
		return report{Attempt: Attempt{At: ledger.MicrosOf(s.runtime.Clock.Now()), Failure: "notification of operators is not configured"}, reachedOperators: reachedOperators}, true
	}
	a, reachedNow, wait := s.attemptOperators(k.org, k.to, body, reachedOperators)
	r := report{Attempt: a, reachedOperators: reachedNow, minWait: wait}
	if a.Failure == "" || !s.stopping.Load() {
		return r, true
	}
	r.interrupted = true
	return r, reachedNow != nil && !bytes.Equal(reachedNow, reachedOperators)
}

// encodeBody writes the body of a notification into a buffer from the pool. The caller returns the buffer to the
// pool.
func (s *Service) encodeBody(org ledger.ID, n *posting.Notice) (actors.NotificationBody, *[]byte, error) {
	buffer := s.bodyBuffers.Get().(*[]byte)
	body := actors.NotificationBody{Data: (*buffer)[:0]}
	switch classOf(n.Channel) {
	case operatorClass:
		body.Data = append(body.Data, n.Body...)
		return body, buffer, nil
	case payerClass: // the e-mail is written from the transaction's record
		return body, buffer, nil
	}
	writer := s.writers[n.Source.Kind]
	if writer == nil {
		return body, buffer, fmt.Errorf("no NotificationWriter for records of kind %c", n.Source.Kind)
	}
	written, err := writer.WriteNotification(body.Data, org, n)
	if err != nil {
		return body, buffer, err
	}
	return written, buffer, nil
}
