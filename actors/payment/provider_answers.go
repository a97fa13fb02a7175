package payment

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"mizan/internal/secret"
	"mizan/ledger/payment"
)

// toAnswer bounds a provider's answer for storage. An invalid verdict counts as no answer: the
// provider is asked again. An inquiry that was never sent says nothing about its call, which was
// sent.
func toAnswer(m *providerAnswer) payment.Answer {
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

// conceal removes the card's number from everything in the answer, because a rail may quote the
// number, and its answer is shown and stored.
func (m *providerAnswer) conceal() {
	if m.card == nil || len(m.card.Number) == 0 {
		return
	}
	hideIn := func(b []byte) []byte { return bytes.ReplaceAll(b, m.card.Number, []byte(secret.Redacted)) }
	hide := func(s string) string {
		if len(s) < len(m.card.Number) {
			return s
		}
		return string(hideIn([]byte(s))) // the number never becomes a string, which could not be wiped
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

// boundedAction returns a rail's action within the bounds below.
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

// Bounds of a rail's answer: even beside a request of the greatest size, a record has room for all
// of it (posting.MaxRecord). A longer answer is still accepted: a part that is too long is cut, or
// omitted if it has no meaning when cut.
const (
	maxText         = 255
	maxAddress      = 2 << 10
	maxCode         = 1 << 10 // a larger code could not be scanned from a screen
	maxObject       = 8 << 10
	maxDestinations = 32
	maxRequired     = 8
)

// text returns the stored part of a rail's text, in valid UTF-8.
func text(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxText)], "")
}

// shorten bounds the words of a rail's failure and drops a code that is not published.
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

// object returns a rail's JSON if it is an object, as the API promises; else nil.
func object(text []byte) []byte {
	if text = bytes.TrimSpace(text); len(text) == 0 || len(text) > maxObject || text[0] != '{' || !utf8.Valid(text) || !json.Valid(text) {
		return nil
	}
	return text
}
