package simulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/actors"
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
	f := &faulty{File: b.tape.file.(*os.File), room: -1}
	b.tape.file = f
	return b, f
}

var unwritable = actors.Outcome{Verdict: actors.VerdictFailed, Reason: "simulator_log_unwritable"}

func TestACallIsOneWrite(t *testing.T) {
	b, f := openFaulty(t)
	for n := range uint64(5) {
		b.submit(cardCall(n, actors.Pay, "4242424242424242"))
	}
	b.submit(cardCall(0, actors.Pay, "4242424242424242"))
	b.inquire(0)
	if f.writes != 6 || len(b.logged()) != 6 {
		t.Errorf("%d writes, %d lines, want 6 each", f.writes, len(b.logged()))
	}
}

func TestAFullDiskFailsTheCallAndLeavesNoPartOfIt(t *testing.T) {
	for _, room := range []int{0, 1, 100, 200} {
		for _, cuts := range []bool{true, false} {
			t.Run(fmt.Sprint(room, " bytes fit, the rest is cut off at once: ", cuts), func(t *testing.T) {
				b, f := openFaulty(t)
				b.expect("before", b.submit(cardCall(1, actors.Pay, "4242424242424242")), charge(1))
				f.room, f.noCut = room, !cuts
				b.expect("full", b.submit(cardCall(2, actors.Pay, "4000000000000259")), unwritable)
				if lines := bytes.Count(b.content(), []byte("{")); cuts && lines != 1 {
					t.Errorf("part of the failed call is left: %q", b.content())
				}
				b.expect("still full", b.submit(cardCall(3, actors.Pay, "4242424242424242")), unwritable)
				b.expect("inquiry while full", b.inquire(2), actors.Outcome{Verdict: actors.VerdictNotFound})
				f.room, f.noCut = -1, false
				b.expect("room again", b.submit(cardCall(4, actors.Pay, "4242424242424242")), charge(4))
				f.noCut = true
				b.expect("nothing to cut", b.submit(cardCall(5, actors.Pay, "4242424242424242")), charge(5))
				b.reopen()
				for n, want := range map[uint64]actors.Verdict{
					1: actors.VerdictCharged, 2: actors.VerdictNotFound, 3: actors.VerdictNotFound,
					4: actors.VerdictCharged, 5: actors.VerdictCharged,
				} {
					if got := b.inquire(n).Verdict; got != want {
						t.Errorf("call %d is %v, want %v", n, got, want)
					}
				}
				if lines := b.logged(); len(lines) != 3 {
					t.Errorf("%d lines, want 3", len(lines))
				}
			})
		}
	}
}

func TestARestartOnAFullDiskCutsOffWhatIsTorn(t *testing.T) {
	b, f := openFaulty(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	f.room, f.noCut = 150, true
	b.submit(cardCall(2, actors.Pay, "4242424242424242"))
	b.reopen()
	b.expect("whole", b.inquire(1), charge(1))
	b.expect("torn", b.inquire(2), actors.Outcome{Verdict: actors.VerdictNotFound})
	if lines := b.logged(); len(lines) != 1 {
		t.Errorf("%d lines, want 1", len(lines))
	}
}

func TestARepeatedCallOnAFullDiskIsNotFailed(t *testing.T) {
	b, f := openFaulty(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	f.room = 0
	b.expect("repeat", b.submit(cardCall(1, actors.Pay, "4242424242424242")), actors.Outcome{Verdict: actors.VerdictUnknown})
}

func TestALineTornAnywhereIsCutOffAtStart(t *testing.T) {
	b := open(t)
	for n := range uint64(3) {
		b.submit(cardCall(n, actors.Pay, "4242424242424242"))
	}
	whole := b.content()
	second := len(whole) * 2 / 3
	for length := second; length < len(whole); length++ {
		if err := errors.Join(b.Close(), os.WriteFile(b.path, whole[:length], 0o600)); err != nil {
			t.Fatal(err)
		}
		b.open()
		if content := b.content(); !bytes.Equal(content, whole[:second]) {
			t.Fatalf("cut at %d: the log is %q", length, content)
		}
		b.expect("the torn call", b.inquire(2), actors.Outcome{Verdict: actors.VerdictNotFound})
		b.expect("the next call", b.submit(cardCall(9, actors.Pay, "4242424242424242")), charge(9))
		b.reopen()
		b.expect("the whole call", b.inquire(1), charge(1))
		b.expect("the next call, later", b.inquire(9), charge(9))
	}
}

func TestALogOfOneTornLineBeginsAnew(t *testing.T) {
	for _, torn := range []string{`{"refer`, strings.Repeat("\x00", 3*64)} {
		b := open(t)
		if err := errors.Join(b.Close(), os.WriteFile(b.path, []byte(torn), 0o600)); err != nil {
			t.Fatal(err)
		}
		b.open()
		b.submit(cardCall(1, actors.Pay, "4242424242424242"))
		if lines := b.logged(); len(lines) != 1 {
			t.Errorf("%d lines, want 1", len(lines))
		}
	}
}

func TestTheEndIsFoundAcrossParts(t *testing.T) {
	content := "one\ntwo\n" + strings.Repeat("x", 100)
	for size := int64(1); size < 120; size++ {
		b, _ := openFaulty(t)
		if err := os.WriteFile(b.path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		b.tape.chunk = size
		if err := b.tape.measure(int64(len(content))); err != nil || b.tape.size != 8 {
			t.Fatalf("parts of %d: size %d, %v", size, b.tape.size, err)
		}
	}
}

// TestReadingInPartsAgreesWithSplitting compares each and find with a plain
// split of random content, lines too long for a part included: they end each.
func TestReadingInPartsAgreesWithSplitting(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const part = 64
	for range 300 {
		var content []byte
		for i := range random.IntN(12) {
			content = append(content, fmt.Sprintf("%03d", i)...)
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
		b.tape.chunk = part
		offset := int64(0)
		want, wantErr := make(map[int64]string), ""
		lines := 0
		for line := range strings.SplitAfterSeq(string(content), "\n") {
			if lines++; len(line) > part && wantErr == "" {
				wantErr = fmt.Sprintf("line %d: damaged; restore from a backup", lines)
			}
			if len(line) > 0 && len(line) <= part {
				if wantErr == "" {
					want[offset] = line
				}
				found, err := b.tape.find(context.Background(), int64(len(content)), []byte(line[:3]))
				if err != nil || string(found) != line {
					t.Fatalf("find %q = %q, %v in %q", line[:3], found, err, content)
				}
			}
			offset += int64(len(line))
		}
		err := b.tape.each(context.Background(), int64(len(content)), func(offset int64, line []byte) error {
			if want[offset] != string(line) {
				t.Errorf("at %d is %q, want %q", offset, line, want[offset])
			}
			delete(want, offset)
			return nil
		})
		if len(want) != 0 || (err == nil) != (wantErr == "") || (err != nil && err.Error() != wantErr) {
			t.Fatalf("not visited: %v, error %v, want %q", want, err, wantErr)
		}
		if line, err := b.tape.find(context.Background(), int64(len(content)), []byte("none")); line != nil || err != nil {
			t.Fatalf("found %q, %v", line, err)
		}
	}
}

func TestWhatCannotBeReadIsUnknown(t *testing.T) {
	b, f := openFaulty(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	unknown := actors.Outcome{Verdict: actors.VerdictUnknown}
	f.noRead = true
	b.expect("inquiry by the index", b.inquire(1), unknown)
	b.expect("repeat", b.submit(cardCall(1, actors.Pay, "4242424242424242")), unknown)
	b.forget()
	b.expect("inquiry by a search", b.inquire(1), unknown)
	if _, err := b.tape.find(context.Background(), b.tape.size, []byte("x")); err == nil {
		t.Error("a search said that there is nothing")
	}
	b.chargebacks.after = start
	if list, err := b.Reversals(context.Background(), time.Time{}, minute(9)); err == nil {
		t.Errorf("reversals were listed: %v", list)
	}
	f.noRead = false
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	b.expect("a search that ran out of time", b.Inquire(ended, terminal(""), id(1)), unknown)
	b.expect("inquiry", b.inquire(1), charge(1))
}

// damage overwrites the open log, as a disk would.
func (b *bench) damage(content []byte) {
	b.t.Helper()
	if err := os.WriteFile(b.path, content, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func TestALineDamagedWhileOpenIsUnknownAndNeverNotFound(t *testing.T) {
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
		b.expect("inquiry "+change[1], b.inquire(1), actors.Outcome{Verdict: actors.VerdictUnknown})
		b.expect("repeat "+change[1], b.submit(cardCall(1, actors.Pay, "4242424242424242")), actors.Outcome{Verdict: actors.VerdictUnknown})
		b.chargebacks.after = start.Add(time.Hour)
		if got, err := b.Reversals(context.Background(), time.Time{}, minute(9)); err == nil {
			t.Errorf("%s: reported %v", change[1], got)
		}
		b.expect("the next line", b.inquire(2), actors.Outcome{Verdict: actors.VerdictRefused, Reason: "card_declined"})
	}
}

// TestEveryDamageOfTheLogIsSeen flips a bit of each byte of two lines.
func TestEveryDamageOfTheLogIsSeen(t *testing.T) {
	b := open(t)
	for n := range uint64(2) {
		b.submit(cardCall(n, actors.Pay, chargebackCard))
	}
	whole := b.content()
	try := func(what string, content []byte, line int) {
		t.Helper()
		b.damage(content)
		s, err := Open(b.path, b.clock)
		if err == nil {
			_ = s.Close()
		}
		if want := fmt.Sprintf("simulator: %s: line %d: damaged; restore from a backup", b.path, line); err == nil || err.Error() != want {
			t.Fatalf("%s: %v, want %s", what, err, want)
		}
		if left, err := os.ReadFile(b.path); err != nil || !bytes.Equal(left, content) {
			t.Fatalf("%s: the damaged log was changed", what)
		}
	}
	for i := range whole {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1 << (i % 8)
		try(fmt.Sprintf("bit %d of byte %d", i%8, i), flipped, 1+bytes.Count(whole[:i], []byte("\n")))
	}
	all := bytes.Clone(whole)
	for i := range all {
		all[i] ^= 1
	}
	try("every byte", all, 1)
	first := bytes.IndexByte(whole, '\n') + 1
	try("an empty line", slices.Concat(whole[:first], []byte("\n"), whole[first:]), 2)
	try("a line of something else", slices.Concat(whole[:first], []byte("{}\n"), whole[first:]), 2)
	try("a long line", slices.Concat(whole, bytes.Repeat([]byte("x"), 3*chunk), []byte("\n")), 3)
	try("something behind the lines", slices.Concat(whole, []byte("x")), 3)
	try("much behind the lines", slices.Concat(whole, make([]byte, maxLine)), 3)
}
