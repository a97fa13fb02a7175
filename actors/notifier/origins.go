package notifier

import (
	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/posting"
)

// maxOrigins bounds the origins (request and trace ids, see tracing.Origin) that are kept in memory for
// deliveries that wait for another attempt.
const maxOrigins = 16_384

// deliveryKey identifies a delivery of any organization.
type deliveryKey struct {
	org ledger.ID
	id  ID
}

// originOf returns the origin of a notice. For the first attempt the notice itself has the origin. Later attempts read the notice
// from the store, which has no origins, so the origins of failed deliveries are kept in memory until the process ends.
func (s *Service) originOf(org ledger.ID, n *posting.Notice) (o tracing.Origin, isKept bool) {
	if !n.Origin.IsZero() {
		return n.Origin, false
	}
	return s.origins.Find(deliveryKey{org, idOf(n)})
}

// keepOrigin keeps the origin of a delivery if the attempt has failed, and forgets the origin if the attempt was
// acknowledged.
func (s *Service) keepOrigin(org ledger.ID, n *posting.Notice, o tracing.Origin, isKept, hasFailed bool) {
	switch key := (deliveryKey{org, idOf(n)}); {
	case hasFailed && !o.IsZero():
		s.origins.Keep(key, o)
	case isKept:
		s.origins.Forget(key)
	}
}

// endHop ends an attempt's hop (a span of its trace) with the attempt's result.
func endHop(hop tracing.Hop, channel posting.Channel, r *report) {
	if !hop.IsRecorded() {
		return
	}
	hop.SetName("notification " + channel.String())
	hop.SetText("mizan.channel", channel.String())
	if r.Status != 0 {
		hop.SetNumber("http.response.status_code", int64(r.Status))
	}
	hop.Fail(r.Failure)
	hop.End()
}
