package payment

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"mizan/internal/secret"
	"mizan/ledger/payment"
)

// toAnswer makes the answer that is stored from a provider's answer, and bounds the sizes of its parts. An
// invalid verdict becomes VerdictUnknown, so the provider is asked again. The same applies to VerdictNotSent
// from an inquiry: the inquiry was not sent, but the call itself may have been.
func toAnswer(m *providerAnswer) payment.ProviderAnswer {
	m.concealCardNumber()
	verdict := m.Verdict
	if !verdict.IsValid() || m.inquiry && verdict == payment.VerdictNotSent {
		verdict = payment.VerdictUnknown
	}
	a := payment.ProviderAnswer{
		Verdict: verdict, Failure: boundedFailure(m.Failure), RRN: boundedText(m.RRN), NextInquiryIn: m.InquireAfter, Status: m.Status,
		Meta: boundedObject(m.Meta), KeepCard: m.KeepCard && m.card != nil && len(m.card.Number) > 0, Inquired: m.inquiry, Reissued: m.reissue, MayArrive: m.mayArrive,
	}
	if m.Action != nil {
		a.Action = boundedAction(m.Action)
	}
	return a
}

// concealCardNumber removes the card's number from all texts of the answer, because a rail may quote the number,
// and the answer is stored and shown.
func (m *providerAnswer) concealCardNumber() {
	if m.card == nil || len(m.card.Number) == 0 {
		return
	}
	redactBytes := func(b []byte) []byte { return bytes.ReplaceAll(b, m.card.Number, []byte(secret.Redacted)) }
	redact := func(s string) string {
		if len(s) < len(m.card.Number) {
			return s
		}
		return string(redactBytes([]byte(s))) // not strings.ReplaceAll: a string with the card's number could not be wiped
	}
	m.Failure.Detail, m.RRN, m.Meta = redact(m.Failure.Detail), redact(m.RRN), redactBytes(m.Meta)
	if m.Action == nil {
		return
	}
	a := *m.Action
	a.URL, a.Page, a.Params, a.Material = redact(a.URL), redact(a.Page), redactBytes(a.Params), redactBytes(a.Material)
	a.Code, a.Deposit = redact(a.Code), redact(a.Deposit)
	m.Action = &a
}

// boundedAction returns a copy of a rail's action within the bounds below.
func boundedAction(a *payment.Action) *payment.Action {
	action := &payment.Action{
		Type: boundedText(a.Type), Method: boundedText(a.Method), URL: boundedAddress(a.URL), Params: boundedObject(a.Params), Page: boundedAddress(a.Page), PageUntil: a.PageUntil,
		Code: boundedCode(a.Code), Deposit: boundedText(a.Deposit), Material: boundedObject(a.Material), ExpiresAt: a.ExpiresAt,
	}
	for _, name := range a.Requires[:min(len(a.Requires), maxRequired)] {
		if name = boundedText(name); name != "" {
			action.Requires = append(action.Requires, name)
		}
	}
	for _, d := range a.Destinations[:min(len(a.Destinations), maxDestinations)] {
		if len(d.ID) <= maxText && utf8.ValidString(d.ID) {
			action.Destinations = append(action.Destinations, payment.Destination{ID: d.ID, Name: boundedText(d.Name)})
		}
	}
	return action
}

// Bounds of a rail's answer. A record with an answer of this size fits into posting.MaxRecord even if
// the request has its maximum size. A longer answer is still accepted: a part that is too long is cut,
// or omitted if it has no meaning when cut.
const (
	maxText         = 255 // this bound and the next three are in bytes
	maxAddress      = 2 << 10
	maxCode         = 1 << 10 // a larger code could not be scanned from a screen
	maxObject       = 8 << 10 // a JSON object
	maxDestinations = 32
	maxRequired     = 8 // names in Action.Requires
)

// boundedText cuts a rail's text so that it can be stored, and removes what is not valid UTF-8.
func boundedText(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxText)], "")
}

// boundedFailure cuts the text of a rail's failure and drops a code that the API does not publish.
func boundedFailure(f payment.Failure) payment.Failure {
	f.Detail = boundedText(f.Detail)
	if !f.Code.IsPublished() {
		f.Code = ""
	}
	return f
}

// boundedAddress returns a rail's address, or "" if the address is too long or not valid UTF-8.
func boundedAddress(s string) string {
	if len(s) > maxAddress || !utf8.ValidString(s) {
		return ""
	}
	return s
}

// boundedCode returns the payment code that a rail shows to the payer, or "" if the code is too long or not
// valid UTF-8.
func boundedCode(s string) string {
	if len(s) > maxCode || !utf8.ValidString(s) {
		return ""
	}
	return s
}

// boundedObject returns a rail's JSON. If the JSON is not an object (the API promises an object) or is too
// long, boundedObject returns nil.
func boundedObject(data []byte) []byte {
	if data = bytes.TrimSpace(data); len(data) == 0 || len(data) > maxObject || data[0] != '{' || !utf8.Valid(data) || !json.Valid(data) {
		return nil
	}
	return data
}
