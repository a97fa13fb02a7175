package simulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	"mizan/ledger/payment"
)

// faulty is a file whose writes and cuts can be made to fail.
type faulty struct {
	*os.File
	writes int
	room   int // bytes that still fit; below 0: any number
	noCut  bool
	noRead bool
}

var errFull = errors.New("no space left on device")

func (f *faulty) Write(p []byte) (int, error) {
	f.writes++
	if f.room < 0 || f.room >= len(p) {
		if f.room > 0 {
			f.room -= len(p)
		}
		return f.File.Write(p)
	}
	n, err := f.File.Write(p[:f.room])
	f.room = 0
	return n, errors.Join(err, errFull)
}

func (f *faulty) Truncate(size int64) error {
	if f.noCut {
		return errFull
	}
	return f.File.Truncate(size)
}

func (f *faulty) ReadAt(p []byte, offset int64) (int, error) {
	if f.noRead {
		return 0, errors.New("input/output error")
	}
	return f.File.ReadAt(p, offset)
}

func openFaulty(t *testing.T) (*bench, *faulty) {
	b := open(t)
	f := &faulty{File: b.log.file.(logFile).File, room: -1}
	b.log.file = f
	return b, f
}

var unwritable = actors.Outcome{Verdict: payment.VerdictNotSent, Failure: failureOf["simulator_log_unwritable"]}

func TestACallIsOneWrite(t *testing.T) {
	b, f := openFaulty(t)
	for n := range uint64(5) {
		b.submit(cardCall(n, actors.Pay, "4242424242424242"))
	}
	b.submit(cardCall(0, actors.Pay, "4242424242424242"))
	b.inquire(0)
	b.submit(cardCall(6, actors.Pay, redirectCard))
	if _, _, err := b.Decide(id(7), id(6), b.token(id(7), id(6)), true); err != nil {
		t.Fatal(err)
	}
	for request, operation := range []actors.Operation{actors.Complete, actors.Capture, actors.Void, actors.Refund, actors.Refund} {
		call := completeCall(6, uint64(request+1), redirectCard)
		call.Operation = operation
		b.submit(call)
	}
	if f.writes != 13 || len(b.logLines()) != 13 {
		t.Errorf("%d writes, %d lines, want 13 each", f.writes, len(b.logLines()))
	}
}

func TestCallOnAFullDiskFailsAndLeavesNoPartOfALine(t *testing.T) {
	for _, room := range []int{0, 1, 100, 200} {
		for _, cuts := range []bool{true, false} {
			t.Run(fmt.Sprint(room, " bytes fit, the rest is cut off at once: ", cuts), func(t *testing.T) {
				b, f := openFaulty(t)
				b.expect("before", b.submit(cardCall(1, actors.Pay, "4242424242424242")), chargedOutcome(1))
				f.room, f.noCut = room, !cuts
				b.expect("full", b.submit(cardCall(2, actors.Pay, "4000000000000259")), unwritable)
				if lines := bytes.Count(b.content(), []byte("{")); cuts && lines != 1 {
					t.Errorf("part of the failed call is left: %q", b.content())
				}
				b.expect("still full", b.submit(cardCall(3, actors.Pay, "4242424242424242")), unwritable)
				b.expect("inquiry while full", b.inquire(2), notFound)
				f.room, f.noCut = -1, false
				b.expect("room again", b.submit(cardCall(4, actors.Pay, "4242424242424242")), chargedOutcome(4))
				f.noCut = true
				b.expect("nothing to cut", b.submit(cardCall(5, actors.Pay, "4242424242424242")), chargedOutcome(5))
				b.reopen()
				for n, want := range map[uint64]payment.Verdict{
					1: payment.VerdictCharged, 2: payment.VerdictNotFound, 3: payment.VerdictNotFound,
					4: payment.VerdictCharged, 5: payment.VerdictCharged,
				} {
					if got := b.inquire(n).Verdict; got != want {
						t.Errorf("call %d is %v, want %v", n, got, want)
					}
				}
				if lines := b.logLines(); len(lines) != 3 {
					t.Errorf("%d lines, want 3", len(lines))
				}
			})
		}
	}
}

func TestRestartOnAFullDiskCutsOffATornLine(t *testing.T) {
	b, f := openFaulty(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	f.room, f.noCut = 150, true
	b.submit(cardCall(2, actors.Pay, "4242424242424242"))
	b.reopen()
	b.expect("whole", b.inquire(1), chargedOutcome(1))
	b.expect("torn", b.inquire(2), notFound)
	if lines := b.logLines(); len(lines) != 1 {
		t.Errorf("%d lines, want 1", len(lines))
	}
}

func TestARepeatedCallOnAFullDiskIsNotFailed(t *testing.T) {
	b, f := openFaulty(t)
	b.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
	b.submit(followUpCall(1, actors.Capture, 2, 10))
	f.room = 0
	b.expect("repeat", b.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242"))), isUnknown)
	b.expect("repeated capture", b.submit(followUpCall(1, actors.Capture, 2, 10)), isUnknown)
}

func TestAnOperationOnAFullDiskNeverHappened(t *testing.T) {
	for operation, amount := range map[actors.Operation]uint64{actors.Capture: 10, actors.Void: 0, actors.Complete: 0, actors.Refund: 10} {
		b, f := openFaulty(t)
		call := cardCall(1, actors.Pay, "4242424242424242")
		call.Hold = operation != actors.Refund
		charge := b.submit(call)
		f.room = 50
		b.expect("full", b.submit(followUpCall(1, operation, 2, amount)), unwritable)
		b.expect("inquiry about it", b.inquireAbout(1, operation, 2), notFound)
		b.expect("inquiry about the charge", b.inquire(1), charge)
		f.room = -1
		if got := b.submit(followUpCall(1, operation, 2, amount)).Verdict; got == payment.VerdictNotSent || b.countLines(1, operation.String()) != 1 {
			t.Errorf("%v with room again: %v", operation, got)
		}
	}
}

// TestALineTornAnywhereIsCutOffAtStart cuts each kind of line as the last line of the log, after the lines of a
// held charge and of a charge whose payer has to act.
func TestALineTornAnywhereIsCutOffAtStart(t *testing.T) {
	for what, lastLine := range map[string]struct {
		call  *actors.Call // nil: the payer's decision
		about actors.Operation
		of    uint64
	}{
		"charge":   {cardCall(3, actors.Pay, "4242424242424242"), actors.Pay, 3},
		"capture":  {followUpCall(2, actors.Capture, 8, 1000), actors.Capture, 2},
		"void":     {followUpCall(2, actors.Void, 8, 0), actors.Void, 2},
		"complete": {completeCall(1, 8, redirectCard), actors.Complete, 1},
		"decision": {nil, actors.Complete, 1},
	} {
		t.Run(what, func(t *testing.T) {
			b := open(t)
			b.submit(cardCall(1, actors.Pay, redirectCard))
			b.submit(heldCall(cardCall(2, actors.Pay, "4242424242424242")))
			before := len(b.content())
			if lastLine.call == nil {
				b.decideOn(true)
			} else {
				b.submit(lastLine.call)
			}
			complete := b.content()
			for length := before; length < len(complete); length += 3 {
				if err := errors.Join(b.Close(), os.WriteFile(b.path, complete[:length], 0o600)); err != nil {
					t.Fatal(err)
				}
				b.open()
				if content := b.content(); !bytes.Equal(content, complete[:before]) {
					t.Fatalf("cut at %d: the log is %q", length, content)
				}
				b.expect("the torn call", b.inquireAbout(lastLine.of, lastLine.about, 8), notFound)
				b.expect("the challenge", b.inquire(1), isWaiting)
				b.expect("the hold", b.inquire(2), heldOutcome(2))
				b.expect("the next call", b.submit(cardCall(9, actors.Pay, "4242424242424242")), chargedOutcome(9))
				b.reopen()
				b.expect("the hold, later", b.inquire(2), heldOutcome(2))
				b.expect("the next call, later", b.inquire(9), chargedOutcome(9))
			}
		})
	}
}

func TestLogOfOneTornLineBecomesEmpty(t *testing.T) {
	for _, torn := range []string{`{"refer`, strings.Repeat("\x00", 3*64)} {
		b := open(t)
		if err := errors.Join(b.Close(), os.WriteFile(b.path, []byte(torn), 0o600)); err != nil {
			t.Fatal(err)
		}
		b.open()
		b.submit(cardCall(1, actors.Pay, "4242424242424242"))
		if lines := b.logLines(); len(lines) != 1 {
			t.Errorf("%d lines, want 1", len(lines))
		}
	}
}

func TestEndOfTheLogIsFoundAcrossChunks(t *testing.T) {
	content := "one\ntwo\n" + strings.Repeat("x", 100)
	for size := int64(1); size < 120; size++ {
		b, _ := openFaulty(t)
		if err := os.WriteFile(b.path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		b.log.chunk = size
		if err := b.log.measure(int64(len(content))); err != nil || b.log.size != 8 {
			t.Fatalf("parts of %d: size %d, %v", size, b.log.size, err)
		}
	}
}

// TestReadingInChunksAgreesWithSplitting compares each and find with a plain split of random content.
// Some lines are too long for a chunk; the method each stops there.
func TestReadingInChunksAgreesWithSplitting(t *testing.T) {
	random := newRandom(t)
	const part = 64
	for range 300 {
		var content []byte
		for i := range random.IntN(12) {
			content = append(content, fmt.Sprintf("%03d", i%5)...)
			content = append(content, bytes.Repeat([]byte{'x'}, random.IntN(part-4))...)
			if random.IntN(8) == 0 {
				content = append(content, bytes.Repeat([]byte{'y'}, 3*part)...)
			}
			content = append(content, '\n')
		}
		b, _ := openFaulty(t)
		if err := os.WriteFile(b.path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		b.log.chunk = part
		offset := int64(0)
		want, wantErr := make(map[int64]string), ""
		lastLineOf := make(map[string]int64) // where the last line with each key begins; a line that is too long hides the key
		lines := 0
		for record := range strings.SplitAfterSeq(string(content), "\n") {
			if lines++; len(record) > part && wantErr == "" {
				wantErr = fmt.Sprintf("line %d: damaged; restore from a backup", lines)
			}
			if len(record) > 0 && len(record) <= part {
				if wantErr == "" {
					want[offset] = record
				}
				lastLineOf[record[:3]] = offset
			} else if len(record) > 0 {
				delete(lastLineOf, record[:3])
			}
			offset += int64(len(record))
		}
		for key, begins := range lastLineOf {
			record := content[begins : begins+int64(bytes.IndexByte(content[begins:], '\n'))+1]
			found, at, err := b.log.find(context.Background(), int64(len(content)), []byte(key))
			if err != nil || at != begins || !bytes.Equal(found, record) {
				t.Fatalf("find %q = %q at %d, %v, want it at %d of %q", key, found, at, err, begins, content)
			}
		}
		err := b.log.each(context.Background(), int64(len(content)), func(offset int64, record []byte) error {
			if want[offset] != string(record) {
				t.Errorf("at %d is %q, want %q", offset, record, want[offset])
			}
			delete(want, offset)
			return nil
		})
		if len(want) != 0 || (err == nil) != (wantErr == "") || (err != nil && err.Error() != wantErr) {
			t.Fatalf("not visited: %v, error %v, want %q", want, err, wantErr)
		}
		if record, _, err := b.log.find(context.Background(), int64(len(content)), []byte("none")); record != nil || err != nil {
			t.Fatalf("found %q, %v", record, err)
		}
	}
}

func TestUnreadableLogMakesOutcomesUnknown(t *testing.T) {
	b, f := openFaulty(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	f.noRead = true
	b.expect("inquiry by the index", b.inquire(1), isUnknown)
	b.expect("repeat", b.submit(cardCall(1, actors.Pay, "4242424242424242")), isUnknown)
	b.forget()
	b.expect("inquiry by a search", b.inquire(1), isUnknown)
	if _, _, err := b.log.find(context.Background(), b.log.size, []byte("x")); err == nil {
		t.Error("a search said that there is nothing")
	}
	b.chargebacks.after = start
	if list, err := b.Reports(context.Background(), time.Time{}, chargedBackAt(9)); err == nil {
		t.Errorf("reports were listed: %v", list)
	}
	f.noRead = false
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	b.expect("a search that ran out of time", b.Inquire(ended, &actors.Question{Terminal: terminal(""), Reference: id(1), Operation: actors.Pay}), isUnknown)
	b.expect("inquiry", b.inquire(1), chargedOutcome(1))
}

// damage overwrites the open log, as a disk would.
func (b *bench) damage(content []byte) {
	b.t.Helper()
	if err := os.WriteFile(b.path, content, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// The newest line has the charge's state, but the outcome of an earlier call is in an earlier line.
func TestDamageOfAnEarlierLineIsDetectedByItsReaders(t *testing.T) {
	b := open(t)
	b.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
	b.submit(followUpCall(1, actors.Capture, 2, 1000))
	b.submit(followUpCall(1, actors.Refund, 3, 10))
	b.damage(bytes.Replace(b.content(), []byte(`"operation":"capture"`), []byte(`"operation":"culture"`), 1))
	b.expect("inquiry about the charge", b.inquire(1), chargedOutcome(1))
	b.expect("inquiry about the refund", b.inquireAbout(1, actors.Refund, 3), isGranted)
	b.expect("inquiry about the capture", b.inquireAbout(1, actors.Capture, 2), isUnknown)
	before := b.content()
	b.expect("the capture again", b.submit(followUpCall(1, actors.Capture, 2, 1000)), isUnknown)
	b.expect("another refund", b.submit(followUpCall(1, actors.Refund, 4, 10)), isUnknown)
	if !bytes.Equal(before, b.content()) {
		t.Errorf("a line was written: %s", b.content()[len(before):])
	}
	b.expect("the refund that is known", b.submit(followUpCall(1, actors.Refund, 3, 10)), isGranted)
}

// TestLineWithAWrongReferenceToAnEarlierOneIsDamaged gives wrong lines the right checksum.
func TestLineWithAWrongReferenceToAnEarlierOneIsDamaged(t *testing.T) {
	b := open(t)
	b.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
	b.submit(cardCall(2, actors.Pay, "4242424242424242"))
	b.submit(followUpCall(1, actors.Capture, 2, 1000))
	content := b.content()
	for _, change := range [][2]string{
		{`"before":"0"`, `"before":"1"`}, {`"before":"0"`, `"before":"999999"`}, {`"before":"0"`, `"before":"-1"`}, {`"before":"0"`, `"before":""`},
		{`"before":"0"`, `"before":"` + fmt.Sprint(bytes.IndexByte(content, '\n')+1) + `"`}, // the other charge's
		{`"status":"charged"`, `"status":"settled"`}, {`"status":"charged"`, `"status":"pending"`}, {`"charge":"payment"`, `"charge":"capture"`},
		{`"outcome":"charged","charge"`, `"outcome":"approved","charge"`}, {`"captured":"1000"`, `"captured":"-1"`}, {`"at":"2026`, `"at":"x`},
		{`"status":"charged"`, `"status":"charged","then":"held"`}, {`"status":"charged"`, `"status":"refused","then":"charged"`},
		{`"status":"charged"`, `"status":"held","then":"charged"`},
		{`"captured":"1000"`, `"captured":"1000","extra":"1"`}, {`"captured":"1000"`, `"captured":"1000","captured":"1000"`},
		{`"captured":"1000"`, `"captured": "1000"`}, {`"captured"`, `"Captured"`}, {`"outcome":"charged"`, `"outcome":"\u0063harged"`},
	} {
		begins := bytes.LastIndexByte(content[:len(content)-1], '\n') + 1
		body := content[begins : len(content)-sealSize]
		changed := bytes.Replace(body, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(body, changed) {
			t.Fatalf("%s is not in %s", change[0], body)
		}
		b.damage(slices.Concat(content[:begins], appendSeal(changed)))
		b.reopen()
		b.expect(change[1], b.inquireAbout(1, actors.Refund, 9), isUnknown)
	}
}

func TestDamageWhileOpenMakesAnInquiryUnknownNotNotFound(t *testing.T) {
	for _, change := range [][2]string{
		{`"outcome":"charged"`, `"outcome":"refused"`},
		{`"at":"2026`, `"at":"2027`},
		{`"reference":"00000000-0000-0000-0000-000000000001"`, `"reference":"00000000-0000-0000-0000-000000000003"`},
		{`"sum":"`, `"sun":"`},
	} {
		b := open(t)
		b.submit(cardCall(1, actors.Pay, chargebackCard))
		b.submit(cardCall(2, actors.Pay, "4000000000000002"))
		b.damage(bytes.Replace(b.content(), []byte(change[0]), []byte(change[1]), 1))
		b.expect("inquiry "+change[1], b.inquire(1), isUnknown)
		b.expect("repeat "+change[1], b.submit(cardCall(1, actors.Pay, "4242424242424242")), isUnknown)
		b.advance(time.Hour)
		b.chargebacks.after = start.Add(time.Hour)
		if got, err := b.Reports(context.Background(), time.Time{}, chargedBackAt(9)); err == nil {
			t.Errorf("%s: reported %v", change[1], got)
		}
		b.expect("the next line", b.inquire(2), refusedOutcome("card_declined"))
	}
}

// TestEveryDamageOfTheLogIsDetected flips a bit of each byte of two lines: a charge's first line, and a later one
// with the charge's whole state.
func TestEveryDamageOfTheLogIsDetected(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, redirectCard))
	b.decideOn(true)
	whole := b.content()
	wantDamaged := func(what string, content []byte, record int) {
		t.Helper()
		b.damage(content)
		s, err := Open(b.options())
		if err == nil {
			_ = s.Close()
		}
		if want := fmt.Sprintf("simulator: %s: line %d: damaged; restore from a backup", b.path, record); err == nil || err.Error() != want {
			t.Fatalf("%s: %v, want %s", what, err, want)
		}
		if left, err := os.ReadFile(b.path); err != nil || !bytes.Equal(left, content) {
			t.Fatalf("%s: the damaged log was changed", what)
		}
	}
	for i := range whole {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1 << (i % 8)
		wantDamaged(fmt.Sprintf("bit %d of byte %d", i%8, i), flipped, 1+bytes.Count(whole[:i], []byte("\n")))
	}
	all := bytes.Clone(whole)
	for i := range all {
		all[i] ^= 1
	}
	wantDamaged("every byte", all, 1)
	first := bytes.IndexByte(whole, '\n') + 1
	wantDamaged("an empty line", slices.Concat(whole[:first], []byte("\n"), whole[first:]), 2)
	wantDamaged("a line of something else", slices.Concat(whole[:first], []byte("{}\n"), whole[first:]), 2)
	wantDamaged("a long line", slices.Concat(whole, bytes.Repeat([]byte("x"), 3*chunk), []byte("\n")), 3)
	wantDamaged("something behind the lines", slices.Concat(whole, []byte("x")), 3)
	wantDamaged("much behind the lines", slices.Concat(whole, make([]byte, maxLine)), 3)
}
