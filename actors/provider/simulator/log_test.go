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
	"mizan/internal/testseed"
	"mizan/ledger/payment"
)

// faultyFile is a file whose growth, truncations and reads can be made to fail.
type faultyFile struct {
	*os.File
	lineWrites    int // writes that are not only zero bytes
	bytesLeft     int // how many bytes the file can still grow; below 0: any number
	failsTruncate bool
	failsRead     bool
}

var errFull = errors.New("no space left on device")

func (disk *faultyFile) WriteAt(p []byte, offset int64) (int, error) {
	if p[0] != 0 {
		disk.lineWrites++
	}
	info, err := disk.Stat()
	if err != nil {
		return 0, err
	}
	growth := int(max(offset+int64(len(p))-info.Size(), 0))
	if disk.bytesLeft < 0 || disk.bytesLeft >= growth {
		if disk.bytesLeft > 0 {
			disk.bytesLeft -= growth
		}
		return disk.File.WriteAt(p, offset)
	}
	n, err := disk.File.WriteAt(p[:len(p)-growth+disk.bytesLeft], offset)
	disk.bytesLeft = 0
	return n, errors.Join(err, errFull)
}

func (disk *faultyFile) Truncate(size int64) error {
	if disk.failsTruncate {
		return errFull
	}
	return disk.File.Truncate(size)
}

func (disk *faultyFile) ReadAt(p []byte, offset int64) (int, error) {
	if disk.failsRead {
		return 0, errors.New("input/output error")
	}
	return disk.File.ReadAt(p, offset)
}

func openFaulty(t *testing.T) (*testSimulator, *faultyFile) {
	sim := open(t)
	disk := &faultyFile{File: sim.log.file.(logFile).File, bytesLeft: -1}
	sim.log.file = disk
	return sim, disk
}

// fill lets the file grow by at most bytesLeft bytes, and removes the padding.
func (disk *faultyFile) fill(sim *testSimulator, bytesLeft int) {
	sim.t.Helper()
	if err := disk.File.Truncate(sim.log.durable); err != nil {
		sim.t.Fatal(err)
	}
	sim.log.paddedTo, disk.bytesLeft = sim.log.durable, bytesLeft
}

var unwritableOutcome = actors.Outcome{Verdict: payment.VerdictNotSent, Failure: failureOf["simulator_log_unwritable"]}

func TestACallIsOneWrite(t *testing.T) {
	sim, disk := openFaulty(t)
	for n := range uint64(5) {
		sim.submit(cardCall(n, actors.Pay, "4242424242424242"))
	}
	sim.submit(cardCall(0, actors.Pay, "4242424242424242"))
	sim.inquire(0)
	sim.submit(cardCall(6, actors.Pay, redirectCard))
	if _, _, err := sim.Decide(id(7), id(6), sim.challengeToken(id(7), id(6)), true); err != nil {
		t.Fatal(err)
	}
	for request, operation := range []actors.Operation{actors.Complete, actors.Capture, actors.Void, actors.Refund, actors.Refund} {
		call := completeCall(6, uint64(request+1), redirectCard)
		call.Operation = operation
		sim.submit(call)
	}
	if disk.lineWrites != 13 || len(sim.logLines()) != 13 {
		t.Errorf("%d writes, %d lines, want 13 each", disk.lineWrites, len(sim.logLines()))
	}
}

func TestCallOnAFullDiskFailsAndLeavesNoPartOfALine(t *testing.T) {
	for _, bytesLeft := range []int{0, 1, 100, 200, 5000, 65_000, 66_000} {
		for _, cutSucceeds := range []bool{true, false} {
			t.Run(fmt.Sprint(bytesLeft, " bytes fit, they are given back: ", cutSucceeds), func(t *testing.T) {
				sim, disk := openFaulty(t)
				sim.expect("before", sim.submit(cardCall(1, actors.Pay, "4242424242424242")), chargedOutcome(1))
				before := sim.content()
				disk.fill(sim, bytesLeft)
				disk.failsTruncate = !cutSucceeds
				sim.expect("full", sim.submit(cardCall(2, actors.Pay, "4000000000000259")), unwritableOutcome)
				if !bytes.Equal(sim.content(), before) {
					t.Errorf("part of the failed call is left: %q", sim.content())
				}
				if info, err := disk.Stat(); err != nil || cutSucceeds && info.Size() != int64(len(before)) {
					t.Errorf("%d bytes, %v, want %d", info.Size(), err, len(before))
				}
				sim.expect("still full", sim.submit(cardCall(3, actors.Pay, "4242424242424242")), unwritableOutcome)
				sim.expect("inquiry while full", sim.inquire(2), notFoundOutcome)
				disk.bytesLeft, disk.failsTruncate = -1, false
				sim.expect("room again", sim.submit(cardCall(4, actors.Pay, "4242424242424242")), chargedOutcome(4))
				disk.bytesLeft, disk.failsTruncate = 0, true
				sim.expect("full, but there is padding", sim.submit(cardCall(5, actors.Pay, "4242424242424242")), chargedOutcome(5))
				sim.reopen()
				for n, want := range map[uint64]payment.Verdict{
					1: payment.VerdictCharged, 2: payment.VerdictNotFound, 3: payment.VerdictNotFound,
					4: payment.VerdictCharged, 5: payment.VerdictCharged,
				} {
					if got := sim.inquire(n).Verdict; got != want {
						t.Errorf("call %d is %v, want %v", n, got, want)
					}
				}
				if lines := sim.logLines(); len(lines) != 3 {
					t.Errorf("%d lines, want 3", len(lines))
				}
			})
		}
	}
}

func TestARepeatedCallOnAFullDiskIsNotFailed(t *testing.T) {
	sim, disk := openFaulty(t)
	sim.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
	sim.submit(followUpCall(1, actors.Capture, 2, 10))
	disk.fill(sim, 0)
	sim.expect("repeat", sim.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242"))), unknownOutcome)
	sim.expect("repeated capture", sim.submit(followUpCall(1, actors.Capture, 2, 10)), unknownOutcome)
}

func TestAnOperationOnAFullDiskNeverHappened(t *testing.T) {
	for operation, amount := range map[actors.Operation]uint64{actors.Capture: 10, actors.Void: 0, actors.Complete: 0, actors.Refund: 10} {
		sim, disk := openFaulty(t)
		call := cardCall(1, actors.Pay, "4242424242424242")
		call.Hold = operation != actors.Refund
		charge := sim.submit(call)
		disk.fill(sim, 50)
		sim.expect("full", sim.submit(followUpCall(1, operation, 2, amount)), unwritableOutcome)
		sim.expect("inquiry about it", sim.inquireAbout(1, operation, 2), notFoundOutcome)
		sim.expect("inquiry about the charge", sim.inquire(1), charge)
		disk.bytesLeft = -1
		if got := sim.submit(followUpCall(1, operation, 2, amount)).Verdict; got == payment.VerdictNotSent || sim.countLines(1, operation.String()) != 1 {
			t.Errorf("%v with room again: %v", operation, got)
		}
	}
}

// TestALineTornAnywhereIsCutOffAtStart cuts each kind of line as the last line of the log, after the lines of a
// held charge and of a charge whose payer has to act.
func TestALineTornAnywhereIsCutOffAtStart(t *testing.T) {
	for what, lastLine := range map[string]struct {
		call      *actors.Call // nil: the payer's decision
		operation actors.Operation
		charge    uint64
	}{
		"charge":   {cardCall(3, actors.Pay, "4242424242424242"), actors.Pay, 3},
		"capture":  {followUpCall(2, actors.Capture, 8, 1000), actors.Capture, 2},
		"void":     {followUpCall(2, actors.Void, 8, 0), actors.Void, 2},
		"complete": {completeCall(1, 8, redirectCard), actors.Complete, 1},
		"decision": {nil, actors.Complete, 1},
	} {
		t.Run(what, func(t *testing.T) {
			sim := open(t)
			sim.submit(cardCall(1, actors.Pay, redirectCard))
			sim.submit(heldCall(cardCall(2, actors.Pay, "4242424242424242")))
			before := len(sim.content())
			if lastLine.call == nil {
				sim.decideOnPage(true)
			} else {
				sim.submit(lastLine.call)
			}
			wholeLog := sim.content()
			for length := before; length < len(wholeLog); length += 3 {
				sim.reopenWith(wholeLog[:length])
				if content := sim.content(); !bytes.Equal(content, wholeLog[:before]) {
					t.Fatalf("cut at %d: the log is %q", length, content)
				}
				sim.expect("the torn call", sim.inquireAbout(lastLine.charge, lastLine.operation, 8), notFoundOutcome)
				sim.expect("the challenge", sim.inquire(1), waitingOutcome)
				sim.expect("the hold", sim.inquire(2), heldOutcome(2))
				sim.expect("the next call", sim.submit(cardCall(9, actors.Pay, "4242424242424242")), chargedOutcome(9))
				sim.reopen()
				sim.expect("the hold, later", sim.inquire(2), heldOutcome(2))
				sim.expect("the next call, later", sim.inquire(9), chargedOutcome(9))
			}
		})
	}
}

func TestLogOfOneTornLineBecomesEmpty(t *testing.T) {
	for _, torn := range []string{`{"refer`, strings.Repeat("\x00", 3*64)} {
		sim := open(t)
		sim.reopenWith([]byte(torn))
		sim.submit(cardCall(1, actors.Pay, "4242424242424242"))
		if lines := sim.logLines(); len(lines) != 1 {
			t.Errorf("%d lines, want 1", len(lines))
		}
	}
}

// TestReadingInChunksAgreesWithSplitting compares eachLine and findLast with a plain split of random
// content. Some lines are too long for a chunk; eachLine stops there.
func TestReadingInChunksAgreesWithSplitting(t *testing.T) {
	random := testseed.Random(t)
	const chunkSize = 64
	for range 300 {
		var content []byte
		for i := range random.IntN(12) {
			content = append(content, fmt.Sprintf("%03d", i%5)...)
			content = append(content, bytes.Repeat([]byte{'x'}, random.IntN(chunkSize-4))...)
			if random.IntN(8) == 0 {
				content = append(content, bytes.Repeat([]byte{'y'}, 3*chunkSize)...)
			}
			content = append(content, '\n')
		}
		sim, _ := openFaulty(t)
		if err := os.WriteFile(sim.path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		sim.log.chunkSize = chunkSize
		offset := int64(0)
		want, wantErr := make(map[int64]string), ""
		lastLineOf := make(map[string]int64) // where the last line with each key begins; without the keys whose last line is too long
		lines := 0
		for line := range strings.SplitAfterSeq(string(content), "\n") {
			if lines++; len(line) > chunkSize && wantErr == "" {
				wantErr = fmt.Sprintf("line %d: damaged; restore from a backup", lines)
			}
			if len(line) > 0 && len(line) <= chunkSize {
				if wantErr == "" {
					want[offset] = line
				}
				lastLineOf[line[:3]] = offset
			} else if len(line) > 0 {
				delete(lastLineOf, line[:3])
			}
			offset += int64(len(line))
		}
		for key, begin := range lastLineOf {
			text := content[begin : begin+int64(bytes.IndexByte(content[begin:], '\n'))+1]
			found, at, err := sim.log.findLast(context.Background(), int64(len(content)), []byte(key))
			if err != nil || at != begin || !bytes.Equal(found, text) {
				t.Fatalf("find %q = %q at %d, %v, want it at %d of %q", key, found, at, err, begin, content)
			}
		}
		err := sim.log.eachLine(context.Background(), section{end: int64(len(content))}, func(offset int64, text []byte) error {
			if want[offset] != string(text) {
				t.Errorf("at %d is %q, want %q", offset, text, want[offset])
			}
			delete(want, offset)
			return nil
		})
		if len(want) != 0 || (err == nil) != (wantErr == "") || (err != nil && err.Error() != wantErr) {
			t.Fatalf("not visited: %v, error %v, want %q", want, err, wantErr)
		}
		if text, _, err := sim.log.findLast(context.Background(), int64(len(content)), []byte("none")); text != nil || err != nil {
			t.Fatalf("found %q, %v", text, err)
		}
	}
}

func TestUnreadableLogMakesOutcomesUnknown(t *testing.T) {
	sim, disk := openFaulty(t)
	sim.submit(cardCall(1, actors.Pay, "4242424242424242"))
	disk.failsRead = true
	sim.expect("inquiry by the index", sim.inquire(1), unknownOutcome)
	sim.expect("repeat", sim.submit(cardCall(1, actors.Pay, "4242424242424242")), unknownOutcome)
	sim.forget()
	sim.expect("inquiry by a search", sim.inquire(1), unknownOutcome)
	if _, _, err := sim.log.findLast(context.Background(), sim.log.durable, []byte("x")); err == nil {
		t.Error("a search said that there is nothing")
	}
	sim.chargebacks.completeAfter = start
	if list, err := sim.Reports(context.Background(), time.Time{}, chargedBackAt(9)); err == nil {
		t.Errorf("reports were listed: %v", list)
	}
	disk.failsRead = false
	endedCtx, cancel := context.WithCancel(context.Background())
	cancel()
	sim.expect("a search that ran out of time", sim.Inquire(endedCtx, &actors.Inquiry{Terminal: terminal(""), Reference: id(1), Operation: actors.Pay}), unknownOutcome)
	sim.expect("inquiry", sim.inquire(1), chargedOutcome(1))
}

// damage overwrites the open log with damaged content, as a failing disk would.
func (sim *testSimulator) damage(content []byte) {
	sim.t.Helper()
	if err := os.WriteFile(sim.path, content, 0o600); err != nil {
		sim.t.Fatal(err)
	}
}

// reopenWith restarts the simulator with another content of its log.
func (sim *testSimulator) reopenWith(content []byte) {
	sim.t.Helper()
	if err := errors.Join(sim.Close(), os.WriteFile(sim.path, content, 0o600)); err != nil {
		sim.t.Fatal(err)
	}
	sim.open()
}

// The newest line has the charge's state, but the outcome of an earlier call is in an earlier line.
func TestDamageOfAnEarlierLineIsDetectedByItsReaders(t *testing.T) {
	sim := open(t)
	sim.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
	sim.submit(followUpCall(1, actors.Capture, 2, 1000))
	sim.submit(followUpCall(1, actors.Refund, 3, 10))
	sim.damage(bytes.Replace(sim.content(), []byte(`"operation":"capture"`), []byte(`"operation":"culture"`), 1))
	sim.expect("inquiry about the charge", sim.inquire(1), chargedOutcome(1))
	sim.expect("inquiry about the refund", sim.inquireAbout(1, actors.Refund, 3), grantedOutcome)
	sim.expect("inquiry about the capture", sim.inquireAbout(1, actors.Capture, 2), unknownOutcome)
	before := sim.content()
	sim.expect("the capture again", sim.submit(followUpCall(1, actors.Capture, 2, 1000)), unknownOutcome)
	sim.expect("another refund", sim.submit(followUpCall(1, actors.Refund, 4, 10)), unknownOutcome)
	if !bytes.Equal(before, sim.content()) {
		t.Errorf("a line was written: %s", sim.content()[len(before):])
	}
	sim.expect("the refund that is known", sim.submit(followUpCall(1, actors.Refund, 3, 10)), grantedOutcome)
}

// TestLineWithAWrongValueIsDamaged changes a line of a capture and gives the changed line the right checksum.
func TestLineWithAWrongValueIsDamaged(t *testing.T) {
	sim := open(t)
	sim.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
	sim.submit(cardCall(2, actors.Pay, "4242424242424242"))
	sim.submit(followUpCall(1, actors.Capture, 2, 1000))
	content := sim.content()
	for _, change := range [][2]string{
		{`"before":"0"`, `"before":"1"`}, {`"before":"0"`, `"before":"999999"`}, {`"before":"0"`, `"before":"-1"`}, {`"before":"0"`, `"before":""`},
		{`"before":"0"`, `"before":"` + fmt.Sprint(bytes.IndexByte(content, '\n')+1) + `"`}, // the place of the other charge's line
		{`"before":"0"`, `"before":"0","batch":"0"`}, {`"before":"0"`, `"before":"0","batch":"-1"`}, {`"before":"0"`, `"before":"0","batch":"07"`},
		{`"before":"0"`, `"before":"0","batch":"` + fmt.Sprint(len(content)) + `"`}, {`"before":"0"`, `"before":"0","batch":"9223372036854775808"`},
		{`"status":"charged"`, `"status":"settled"`}, {`"status":"charged"`, `"status":"pending"`}, {`"charge":"payment"`, `"charge":"capture"`},
		{`"outcome":"charged","charge"`, `"outcome":"approved","charge"`}, {`"captured":"1000"`, `"captured":"-1"`}, {`"at":"2026`, `"at":"x`},
		{`"status":"charged"`, `"status":"charged","then":"held"`}, {`"status":"charged"`, `"status":"refused","then":"charged"`},
		{`"status":"charged"`, `"status":"held","then":"charged"`},
		{`"captured":"1000"`, `"captured":"1000","extra":"1"`}, {`"captured":"1000"`, `"captured":"1000","captured":"1000"`},
		{`"captured":"1000"`, `"captured": "1000"`}, {`"captured"`, `"Captured"`}, {`"outcome":"charged"`, `"outcome":"\u0063harged"`},
	} {
		begins := bytes.LastIndexByte(content[:len(content)-1], '\n') + 1
		body := content[begins : len(content)-sumSize]
		changed := bytes.Replace(body, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(body, changed) {
			t.Fatalf("%s is not in %s", change[0], body)
		}
		sim.reopenWith(slices.Concat(content[:begins], appendSum(changed, changed)))
		sim.expect(change[1], sim.inquireAbout(1, actors.Refund, 9), unknownOutcome)
	}
}

func TestDamageWhileOpenMakesAnInquiryUnknownNotNotFound(t *testing.T) {
	for _, change := range [][2]string{
		{`"outcome":"charged"`, `"outcome":"refused"`},
		{`"at":"2026`, `"at":"2027`},
		{`"reference":"00000000-0000-0000-0000-000000000001"`, `"reference":"00000000-0000-0000-0000-000000000003"`},
		{`"sum":"`, `"sun":"`},
	} {
		sim := open(t)
		sim.submit(cardCall(1, actors.Pay, chargebackCard))
		sim.submit(cardCall(2, actors.Pay, "4000000000000002"))
		sim.damage(bytes.Replace(sim.content(), []byte(change[0]), []byte(change[1]), 1))
		sim.expect("inquiry "+change[1], sim.inquire(1), unknownOutcome)
		sim.expect("repeat "+change[1], sim.submit(cardCall(1, actors.Pay, "4242424242424242")), unknownOutcome)
		sim.advance(time.Hour)
		sim.chargebacks.completeAfter = start.Add(time.Hour)
		if got, err := sim.Reports(context.Background(), time.Time{}, chargedBackAt(9)); err == nil {
			t.Errorf("%s: reported %v", change[1], got)
		}
		sim.expect("the next line", sim.inquire(2), refusedOutcome("card_declined"))
	}
}

// TestEveryDamageOfTheLogIsDetected flips a bit of each byte of two lines: a charge's first line, and a later line
// with the charge's whole state.
func TestEveryDamageOfTheLogIsDetected(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, redirectCard))
	sim.decideOnPage(true)
	wholeLog := sim.content()
	wantDamaged := func(what string, content []byte, lineNumber int) {
		t.Helper()
		sim.damage(content)
		s, err := Open(sim.options())
		if err == nil {
			_ = s.Close()
		}
		if want := fmt.Sprintf("simulator: %s: line %d: damaged; restore from a backup", sim.path, lineNumber); err == nil || err.Error() != want {
			t.Fatalf("%s: %v, want %s", what, err, want)
		}
		if afterOpen, err := os.ReadFile(sim.path); err != nil || !bytes.Equal(afterOpen, content) {
			t.Fatalf("%s: the damaged log was changed", what)
		}
	}
	for i := range wholeLog {
		flipped := bytes.Clone(wholeLog)
		flipped[i] ^= 1 << (i % 8)
		wantDamaged(fmt.Sprintf("bit %d of byte %d", i%8, i), flipped, 1+bytes.Count(wholeLog[:i], []byte("\n")))
	}
	allFlipped := bytes.Clone(wholeLog)
	for i := range allFlipped {
		allFlipped[i] ^= 1
	}
	wantDamaged("every byte", allFlipped, 1)
	firstEnd := bytes.IndexByte(wholeLog, '\n') + 1
	wantDamaged("an empty line", slices.Concat(wholeLog[:firstEnd], []byte("\n"), wholeLog[firstEnd:]), 2)
	wantDamaged("a line of something else", slices.Concat(wholeLog[:firstEnd], []byte("{}\n"), wholeLog[firstEnd:]), 2)
	wantDamaged("a long line", slices.Concat(wholeLog, bytes.Repeat([]byte("x"), 3*chunkSize), []byte("\n")), 3)
	wantDamaged("something behind the lines", slices.Concat(wholeLog, []byte("x")), 3)
	wantDamaged("much behind the lines", slices.Concat(wholeLog, make([]byte, maxBatch+maxPadding+1)), 3)
}
