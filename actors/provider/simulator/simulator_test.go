package simulator

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
)

var start = time.Date(2026, 11, 21, 10, 15, 30, 123456000, time.UTC)

// bench is a simulator on a file of its own, and the clock it goes by.
type bench struct {
	*Simulator
	t     testing.TB
	path  string
	clock *clock.Manual
}

func open(t testing.TB) *bench {
	t.Helper()
	b := &bench{t: t, path: filepath.Join(t.TempDir(), "simulator.log"), clock: clock.NewManual(start)}
	b.open()
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func (b *bench) open() {
	b.t.Helper()
	var err error
	if b.Simulator, err = Open(b.path, b.clock); err != nil {
		b.t.Fatal(err)
	}
}

// reopen is a restart: nothing in memory is left.
func (b *bench) reopen() {
	b.t.Helper()
	if err := b.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.open()
}

func (b *bench) pass(d time.Duration) {
	b.t.Helper()
	if err := b.clock.Set(b.clock.Now().Add(d)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) content() []byte {
	b.t.Helper()
	content, err := os.ReadFile(b.path)
	if err != nil {
		b.t.Fatal(err)
	}
	return content
}

// logged is the file's lines, each decoded as any reader of JSON would.
func (b *bench) logged() []map[string]string {
	b.t.Helper()
	var list []map[string]string
	for _, line := range bytes.SplitAfter(b.content(), []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var fields map[string]string
		if err := json.Unmarshal(line, &fields); err != nil || line[len(line)-1] != '\n' {
			b.t.Fatalf("line %q: %v", line, err)
		}
		list = append(list, fields)
	}
	return list
}

func (b *bench) inquire(n uint64) actors.Outcome {
	return b.Inquire(context.Background(), terminal(""), id(n))
}

func (b *bench) submit(c *actors.Call) actors.Outcome { return b.Submit(context.Background(), c) }

// id is a UUID that is the number n.
func id(n uint64) (u ledger.ID) {
	binary.BigEndian.PutUint64(u[8:], n)
	return u
}

func terminal(fail string) *directory.Terminal {
	return &directory.Terminal{ID: id(7), Settings: directory.Settings{Fail: fail}}
}

func cardCall(n uint64, operation actors.Operation, number string) *actors.Call {
	return &actors.Call{
		Org: id(99), Reference: id(n), Operation: operation, Terminal: terminal(""),
		Method: "bank_card", Card: &secret.Card{Number: []byte(number)},
	}
}

func methodCall(n uint64, operation actors.Operation, method string) *actors.Call {
	return &actors.Call{Org: id(99), Reference: id(n), Operation: operation, Terminal: terminal(""), Method: method}
}

func charge(n uint64) actors.Outcome {
	return actors.Outcome{Verdict: actors.VerdictCharged, RRN: retrievalNumber(id(n))}
}

func (b *bench) expect(what string, got, want actors.Outcome) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

func TestALineSaysWhatTheDocumentSays(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	b.submit(cardCall(2, actors.PayOut, "4000000000000077"))
	b.submit(cardCall(3, actors.Pay, "4000000000000341"))
	b.submit(cardCall(4, actors.Pay, "4000000000000259"))
	b.submit(cardCall(5, actors.Pay, "4000000000000002"))
	const (
		tail   = `","org":"00000000-0000-0000-0000-000000000063","sum":"`
		middle = `","terminal":"00000000-0000-0000-0000-000000000007","operation":"`
		head   = `{"reference":"00000000-0000-0000-0000-00000000000`
	)
	want := head + `1` + middle + `payment","outcome":"charged","at":"2026-11-21T10:15:30.123456Z` + tail + `03894ef9"}` + "\n" +
		head + `2` + middle + `payout","outcome":"pending","then":"charged","at":"2026-11-21T10:15:35.123456Z` + tail + `e66f9182"}` + "\n" +
		head + `3` + middle + `payment","outcome":"unknown","then":"charged","at":"2026-11-21T10:15:40.123456Z` + tail + `778d420b"}` + "\n" +
		head + `4` + middle + `payment","outcome":"charged","then":"reversed","at":"2026-11-21T10:16:30.123456Z` + tail + `37be4fd3"}` + "\n" +
		head + `5` + middle + `payment","outcome":"refused","reason":"card_declined","at":"2026-11-21T10:15:30.123456Z` + tail + `096379e3"}` + "\n"
	if got := string(b.content()); got != want {
		t.Errorf("the log is\n%swant\n%s", got, want)
	}
	if info, err := os.Stat(b.path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if b.Name() != "simulator" {
		t.Errorf("name %q", b.Name())
	}
}

func TestInquiriesWriteNothing(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4000000000000341"))
	before := b.content()
	b.inquire(1)
	b.inquire(2)
	if after := b.content(); !bytes.Equal(before, after) {
		t.Errorf("the log grew by %q", after[len(before):])
	}
}

func TestInquiriesAreAnsweredAfterAReopen(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	b.submit(cardCall(2, actors.PayOut, "4000000000000077"))
	b.submit(cardCall(3, actors.Pay, "4000000000000341"))
	b.submit(cardCall(4, actors.Pay, "4000000000009995"))
	b.submit(cardCall(5, actors.PayOut, "4000000000000119"))
	pending := func(d time.Duration) actors.Outcome {
		return actors.Outcome{Verdict: actors.VerdictPending, Again: d}
	}
	for _, step := range []struct {
		pass       time.Duration
		slow, lost actors.Outcome
	}{
		{0, pending(5 * time.Second), pending(10 * time.Second)},
		{5*time.Second - time.Microsecond, pending(time.Microsecond), pending(5*time.Second + time.Microsecond)},
		{time.Microsecond, charge(2), pending(5 * time.Second)},
		{5 * time.Second, charge(2), charge(3)},
		{1000 * time.Hour, charge(2), charge(3)},
	} {
		b.pass(step.pass)
		b.reopen()
		b.expect("charged", b.inquire(1), charge(1))
		b.expect("delayed", b.inquire(2), step.slow)
		b.expect("timed out", b.inquire(3), step.lost)
		b.expect("declined", b.inquire(4), actors.Outcome{Verdict: actors.VerdictRefused, Reason: "insufficient_funds"})
		b.expect("failed", b.inquire(5), actors.Outcome{Verdict: actors.VerdictFailed, Reason: "processing_error"})
		b.expect("never made", b.inquire(6), actors.Outcome{Verdict: actors.VerdictNotFound})
	}
}

func TestARepeatedCallIsLoggedAndAnsweredFromTheFirst(t *testing.T) {
	b := open(t)
	b.expect("first", b.submit(cardCall(1, actors.Pay, "4000000000000077")), actors.Outcome{Verdict: actors.VerdictPending, Again: 5 * time.Second})
	b.pass(2 * time.Second)
	b.expect("second, with another card", b.submit(cardCall(1, actors.Pay, "4000000000000002")), actors.Outcome{Verdict: actors.VerdictPending, Again: 3 * time.Second})
	b.reopen()
	b.pass(3 * time.Second)
	b.expect("third, after a reopen", b.submit(cardCall(1, actors.Pay, "4242424242424242")), charge(1))
	b.expect("inquiry", b.inquire(1), charge(1))
	if lines := b.logged(); len(lines) != 3 {
		t.Errorf("%d lines, want 3", len(lines))
	}
}

func TestEachTerminalKnowsATransactionByItself(t *testing.T) {
	b := open(t)
	first := cardCall(1, actors.Pay, "4242424242424242")
	first.Terminal = terminal("rejected")
	first.Terminal.ID = id(8)
	b.expect("first terminal", b.submit(first), actors.Outcome{Verdict: actors.VerdictRefused, Reason: "forced_by_terminal"})
	b.expect("the next one", b.submit(cardCall(1, actors.Pay, "4242424242424242")), charge(1))
	b.reopen()
	b.expect("inquiry at the first", b.Inquire(context.Background(), first.Terminal, id(1)), actors.Outcome{Verdict: actors.VerdictRefused, Reason: "forced_by_terminal"})
	b.expect("inquiry at the next", b.inquire(1), charge(1))
}

func TestTheRetrievalNumberNeverChanges(t *testing.T) {
	for text, want := range map[string]string{
		"00000000-0000-0000-0000-000000000000": "869469701221",
		"00000000-0000-0000-0000-000000000001": "769958073010",
		"00000000-0000-0000-0000-0000000000bf": "008051072552", // its zeros are kept
		"6ba7b810-9dad-11d1-80b4-00c04fd430c8": "647429769244",
	} {
		var reference ledger.ID
		if err := reference.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := retrievalNumber(reference); got != want {
			t.Errorf("%s has %s, want %s", text, got, want)
		}
	}
}

func TestAClosedLogChargesNothing(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b.expect("submit", b.submit(cardCall(2, actors.Pay, "4242424242424242")), actors.Outcome{Verdict: actors.VerdictFailed, Reason: "simulator_log_unwritable"})
	b.expect("inquiry", b.inquire(1), actors.Outcome{Verdict: actors.VerdictUnknown})
	b.open()
	b.expect("inquiry about the refused call", b.inquire(2), actors.Outcome{Verdict: actors.VerdictNotFound})
}

func TestALogThatCannotBeOpenedIsAnError(t *testing.T) {
	dir := t.TempDir()
	if s, err := Open(dir, clock.NewManual(start)); err == nil || s != nil {
		t.Errorf("a directory was opened: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none", "simulator.log"), clock.NewManual(start)); err == nil {
		t.Error("a log in a directory that isn't there was opened")
	}
}
