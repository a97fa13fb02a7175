package payment

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"mizan/internal/secret"
	"mizan/ledger/payment"
)

// toAnswer is what a provider has answered, bounded as it is stored. An invalid verdict
// is no answer: the provider is asked again and nothing is assumed. An inquiry that was
// never sent says nothing of the call that it is about, which was.
func toAnswer(m *outcome) payment.Answer {
	m.conceal()
	verdict := m.Verdict
	if !verdict.IsValid() || m.inquiry && verdict == payment.VerdictNotSent {
		verdict = payment.VerdictUnknown
	}
	a := payment.Answer{
		Verdict: verdict, Failure: shorten(m.Failure), RRN: text(m.RRN), Again: m.Again, Status: m.Status,
		Meta: object(m.Meta), KeepCard: m.KeepCard && m.card != nil && len(m.card.Number) > 0, Inquired: m.inquiry, Reissued: m.reissue,
	}
	if m.Action != nil {
		a.Action = boundedAction(m.Action)
	}
	return a
}

// conceal takes the card's number out of whatever the provider has answered: what
// a rail quotes is shown and stored.
func (m *outcome) conceal() {
	if m.card == nil || len(m.card.Number) == 0 {
		return
	}
	hideIn := func(b []byte) []byte { return bytes.ReplaceAll(b, m.card.Number, []byte(secret.Redacted)) }
	hide := func(s string) string {
		if len(s) < len(m.card.Number) {
			return s
		}
		return string(hideIn([]byte(s))) // the number itself is never made a string: nobody could wipe it
	}
	m.Failure.Detail, m.RRN, m.Meta = hide(m.Failure.Detail), hide(m.RRN), hideIn(m.Meta)
	if m.Action == nil {
		return
	}
	a := *m.Action
	a.URL, a.Page, a.Params, a.Material = hide(a.URL), hide(a.Page), hideIn(a.Params), hideIn(a.Material)
	a.Code, a.Deposit = hide(a.Code), hide(a.Deposit)
	m.Action = &a
}

// boundedAction is a rail's action as much of it as is kept.
func boundedAction(a *payment.Action) *payment.Action {
	action := &payment.Action{
		Type: text(a.Type), Method: text(a.Method), URL: address(a.URL), Params: object(a.Params), Page: address(a.Page), PageUntil: a.PageUntil,
		Code: code(a.Code), Deposit: text(a.Deposit), Material: object(a.Material), ExpiresAt: a.ExpiresAt,
	}
	for _, name := range a.Requires[:min(len(a.Requires), maxRequired)] {
		if name = text(name); name != "" {
			action.Requires = append(action.Requires, name)
		}
	}
	for _, d := range a.Destinations[:min(len(a.Destinations), maxDestinations)] {
		if len(d.ID) <= maxText && utf8.ValidString(d.ID) {
			action.Destinations = append(action.Destinations, payment.Destination{ID: d.ID, Name: text(d.Name)})
		}
	}
	return action
}

// Bounds of what a rail says: with a request of the greatest size, a record has
// room for all of it (posting.MaxRecord). An answer that is not kept whole is
// still an answer, so what is too long is cut, or left out where a part of it
// means nothing.
const (
	maxText         = 255
	maxAddress      = 2 << 10
	maxCode         = 1 << 10 // more would be too small on a screen to be scanned
	maxObject       = 8 << 10
	maxDestinations = 32
	maxRequired     = 8
)

// text is a rail's text, as much of it as is kept, in valid UTF-8.
func text(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxText)], "")
}

// shorten is a rail's failure with as much of its words as is kept. A code that is not
// published is none.
func shorten(f payment.Failure) payment.Failure {
	f.Detail = text(f.Detail)
	if !f.Code.Published() {
		f.Code = ""
	}
	return f
}

func address(s string) string {
	if len(s) > maxAddress || !utf8.ValidString(s) {
		return ""
	}
	return s
}

func code(s string) string {
	if len(s) > maxCode || !utf8.ValidString(s) {
		return ""
	}
	return s
}

// object is a rail's JSON, if it is an object: what is shown to callers must be
// one.
func object(text []byte) []byte {
	if text = bytes.TrimSpace(text); len(text) == 0 || len(text) > maxObject || text[0] != '{' || !utf8.Valid(text) || !json.Valid(text) {
		return nil
	}
	return text
}
