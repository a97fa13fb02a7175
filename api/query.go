package api

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

// Bounds of a list of the ledger or of the administration.
const (
	listDefault = 50
	listMax     = 500
	maxValue    = 1024 // bytes of a parameter's value
)

// query is the parameters of a list, each sent at most once. Reading one that
// is malformed adds a problem; what is not asked for is refused.
type query struct {
	values   map[string]string
	problems problems
}

// queryOf takes the parameters that a list knows; any other is refused with the
// specification's words.
func queryOf(ctx *fasthttp.RequestCtx, known ...string) *query {
	q := &query{values: make(map[string]string)}
	for name, value := range ctx.QueryArgs().All() {
		q.take(string(name), string(value), known)
	}
	return q
}

func (q *query) take(name, value string, known []string) {
	found := false
	steps.Took(len(name) + len(value))
	for _, k := range known {
		steps.Took(min(len(k), len(name)) + 1)
		found = found || k == name
	}
	_, twice := q.sent(name)
	switch {
	case !found:
		q.problems.add(beginning([]byte(strings.ToValidUTF8(name, "?")), 64), "Unexpected field")
	case twice:
		q.problems.add(name, name+" is there twice")
	case len(value) > maxValue || !utf8.ValidString(value):
		q.problems.add(name, name+" is malformed")
	default:
		q.values[name] = value
	}
}

func (q *query) text(name string) string { return q.values[name] }

// sent is a parameter's value, and whether there is one.
func (q *query) sent(name string) (value string, ok bool) {
	value, ok = q.values[name]
	return value, ok
}

// forget makes a parameter one that was not sent.
func (q *query) forget(name string) { delete(q.values, name) }

// env is the environment asked for, prod if none is.
func (q *query) env() money.Env {
	said, sent := q.sent("env")
	if !sent {
		return money.Prod
	}
	env, known := money.ParseEnv(said)
	if !known {
		q.problems.add("env", "env must be prod or test")
	}
	return env
}

// limit is how many rows a page may have.
func (q *query) limit() int { return q.upToLimit(listDefault, listMax) }

// upToLimit is the same where a list has bounds of its own.
func (q *query) upToLimit(standard, most int) int {
	said, sent := q.sent("limit")
	if !sent {
		return standard
	}
	n, err := strconv.Atoi(said)
	if err != nil || n < 1 || n > most || strconv.Itoa(n) != said {
		q.problems.add("limit", "limit must be from 1 to "+strconv.Itoa(most))
		return standard
	}
	return n
}

// instant is an RFC 3339 time, or absent if none was sent.
func (q *query) instant(name string, absent ledger.Micros) ledger.Micros {
	return q.moment(name, absent, "an RFC 3339 time")
}

// moment is the same where the parameter may have other forms too, which whoever sends
// none of them is told.
func (q *query) moment(name string, absent ledger.Micros, forms string) ledger.Micros {
	said, sent := q.sent(name)
	if !sent {
		return absent
	}
	at, err := parseTime(said)
	if err != nil {
		q.problems.add(name, name+" must be "+forms)
		return absent
	}
	return max(0, ledger.MicrosOf(at)) // nothing was booked before 1970, and keys have no sign
}

// upTo is the instant up to which is asked, inclusive; not sent: everything.
func (q *query) upTo(name string, now time.Time) ledger.Micros {
	return throughNow(q.instant(name, forever), now)
}

// id is a UUID; not sent: ok is false.
func (q *query) id(name string) (id ledger.ID, ok bool) {
	said, sent := q.sent(name)
	if !sent {
		return id, false
	}
	id, err := parseID(said)
	if err != nil {
		q.problems.add(name, name+" must be a UUID")
	}
	return id, err == nil
}

// choice is one of the words, the first if none was sent.
func (q *query) choice(name string, words ...string) string {
	said, sent := q.sent(name)
	if !sent {
		return words[0]
	}
	for _, word := range words {
		if said == word {
			return word
		}
	}
	q.problems.add(name, name+" must be one of "+strings.Join(words, ", "))
	return words[0]
}

// seq is a cursor of a list that is newest first: rows before it follow. 0: none.
func (q *query) seq() uint64 {
	said, sent := q.sent("cursor")
	if !sent {
		return 0
	}
	seq, err := strconv.ParseUint(said, 10, 64)
	if err != nil || seq == 0 || strconv.FormatUint(seq, 10) != said {
		q.badCursor()
		return 0
	}
	return seq
}

// parts is a cursor made by cursorOf, of so many parts; nil: none was sent.
func (q *query) parts(n int) []string {
	said, sent := q.sent("cursor")
	if !sent {
		return nil
	}
	steps.Took(len(said))
	raw, err := base64.RawURLEncoding.DecodeString(said)
	parts := strings.Split(string(raw), "\n")
	if err != nil || len(parts) != n || cursorOf(parts...) != said {
		q.badCursor()
		return nil
	}
	return parts
}

func (q *query) badCursor() { q.problems.add("cursor", "cursor is malformed") }

// cursorOf makes a cursor that callers don't take apart.
func cursorOf(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "\n")))
}
