package web

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"mizan/internal/steps"
	"mizan/ledger"
	"mizan/ledger/money"
)

// Bounds of the lists of the ledger and of the administration.
const (
	DefaultLimit = 50
	ListMax      = 500  // maximum of the parameter limit
	maxValue     = 1024 // bytes of a parameter's value
)

// Query contains the query parameters of a request for a list, each of which was sent at most once. If a parameter is
// malformed, the method that reads the parameter adds a problem.
type Query struct {
	values   map[string]string
	Problems Problems
}

// QueryOf reads the request's query parameters. It adds a problem for each parameter that is not known to the list, with a
// message that is worded as in the specification.
func QueryOf(ctx *fasthttp.RequestCtx, known ...string) *Query {
	q := &Query{values: make(map[string]string)}
	for name, value := range ctx.QueryArgs().All() {
		q.add(string(name), string(value), known)
	}
	return q
}

func (q *Query) add(name, value string, known []string) {
	isKnown := false
	steps.Add(len(name) + len(value))
	for _, k := range known {
		steps.Add(min(len(k), len(name)) + 1)
		isKnown = isKnown || k == name
	}
	_, repeated := q.Sent(name)
	switch {
	case !isKnown:
		q.Problems.Add(Truncate([]byte(strings.ToValidUTF8(name, "?")), 64), "Unexpected field")
	case repeated:
		q.Problems.Add(name, name+" is there twice")
	case len(value) > maxValue || !utf8.ValidString(value):
		q.Problems.Add(name, name+" is malformed")
	default:
		q.values[name] = value
	}
}

// Text returns a parameter's value, which is empty if the parameter was not sent.
func (q *Query) Text(name string) string { return q.values[name] }

// Sent returns a parameter's value, and whether it was sent.
func (q *Query) Sent(name string) (value string, ok bool) {
	value, ok = q.values[name]
	return value, ok
}

// Forget removes a parameter, as if it had not been sent.
func (q *Query) Forget(name string) { delete(q.values, name) }

// Env reads the parameter env. If it was not sent, it returns prod.
func (q *Query) Env() money.Env {
	text, sent := q.Sent("env")
	if !sent {
		return money.Prod
	}
	env, known := money.ParseEnv(text)
	if !known {
		q.Problems.Add("env", "env must be prod or test")
	}
	return env
}

// Limit reads the parameter limit, which is the maximum number of rows in a page.
func (q *Query) Limit() int { return q.LimitUpTo(DefaultLimit, ListMax) }

// LimitUpTo reads the parameter limit like Limit, but with the given default and maximum.
func (q *Query) LimitUpTo(ifAbsent, maxLimit int) int {
	text, sent := q.Sent("limit")
	if !sent {
		return ifAbsent
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit || strconv.Itoa(n) != text {
		q.Problems.Add("limit", "limit must be from 1 to "+strconv.Itoa(maxLimit))
		return ifAbsent
	}
	return n
}

// Instant reads a parameter that is an RFC 3339 time. If it was not sent, it returns ifAbsent.
func (q *Query) Instant(name string, ifAbsent ledger.Micros) ledger.Micros {
	return q.InstantOr(name, ifAbsent, "an RFC 3339 time")
}

// InstantOr reads a time like Instant, if the parameter may also have other forms. The caller must have tried the other forms
// before. forms describes all accepted forms, for the text of the refusal.
func (q *Query) InstantOr(name string, ifAbsent ledger.Micros, forms string) ledger.Micros {
	text, sent := q.Sent(name)
	if !sent {
		return ifAbsent
	}
	at, err := ParseTime(text)
	if err != nil {
		q.Problems.Add(name, name+" must be "+forms)
		return ifAbsent
	}
	return max(0, ledger.MicrosOf(at)) // nothing was booked before 1970, and the store's keys are unsigned
}

// UpperBound reads an inclusive upper bound of a time. If none was sent, it returns Forever.
func (q *Query) UpperBound(name string, now time.Time) ledger.Micros {
	return ThroughNow(q.Instant(name, Forever), now)
}

// ID reads a parameter that is a UUID. If it was not sent or is malformed, ok is false.
func (q *Query) ID(name string) (id ledger.ID, ok bool) {
	text, sent := q.Sent(name)
	if !sent {
		return id, false
	}
	id, err := ParseID(text)
	if err != nil {
		q.Problems.Add(name, name+" must be a UUID")
	}
	return id, err == nil
}

// Choice reads a parameter that must be one of the words. If it was not sent, it returns the first word.
func (q *Query) Choice(name string, words ...string) string {
	text, sent := q.Sent(name)
	if !sent {
		return words[0]
	}
	for _, word := range words {
		if text == word {
			return word
		}
	}
	q.Problems.Add(name, name+" must be one of "+strings.Join(words, ", "))
	return words[0]
}

// SeqCursor reads the cursor of a list that is ordered from the newest event to the oldest. The cursor is a seq (the number
// of an event), and the page has only smaller seqs. If no cursor was sent, SeqCursor returns 0.
func (q *Query) SeqCursor() uint64 {
	text, sent := q.Sent("cursor")
	if !sent {
		return 0
	}
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seq == 0 || strconv.FormatUint(seq, 10) != text {
		q.RefuseCursor()
		return 0
	}
	return seq
}

// CursorParts returns the n parts from which JoinCursor made the cursor. If no cursor was sent, it returns nil.
func (q *Query) CursorParts(n int) []string {
	text, sent := q.Sent("cursor")
	if !sent {
		return nil
	}
	steps.Add(len(text))
	raw, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.Split(string(raw), "\n")
	if err != nil || len(parts) != n || JoinCursor(parts...) != text {
		q.RefuseCursor()
		return nil
	}
	return parts
}

// RefuseCursor refuses the cursor.
func (q *Query) RefuseCursor() { q.Problems.Add("cursor", "cursor is malformed") }

// JoinCursor makes an opaque cursor from parts. The parts must not contain line breaks.
func JoinCursor(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "\n")))
}
