package disk

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) { os.Exit(InPrivateNamespace(m.Run)) }

func newDisk(t *testing.T, sectors int) *Disk {
	t.Helper()
	d, err := New(int64(sectors) * SectorSize)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Free)
	return d
}

// mustWrite writes sectors that are filled with the values.
func (d *Disk) mustWrite(t *testing.T, firstSector int, values ...byte) {
	t.Helper()
	var data []byte
	for _, v := range values {
		data = append(data, bytes.Repeat([]byte{v}, SectorSize)...)
	}
	if errno := d.writeAt(d.Generation(), data, int64(firstSector)*SectorSize); errno != 0 {
		t.Fatal(errno)
	}
}

func (d *Disk) mustFlush(t *testing.T) {
	t.Helper()
	if errno := d.flush(d.Generation()); errno != 0 {
		t.Fatal(errno)
	}
}

// sectors returns the first byte of each sector. A sector whose bytes differ fails the test.
func (d *Disk) sectors(t *testing.T) string {
	t.Helper()
	var values []byte
	buffer := make([]byte, SectorSize)
	for at := int64(0); at < d.Size(); at += SectorSize {
		d.readAt(buffer, at)
		if !bytes.Equal(buffer, bytes.Repeat(buffer[:1], SectorSize)) {
			t.Errorf("the sector at %d is torn", at)
		}
		values = append(values, buffer[0])
	}
	return fmt.Sprint(values)
}

func TestCutKeepsWhatWasFlushedAndLosesTheRest(t *testing.T) {
	d := newDisk(t, 4)
	d.mustWrite(t, 0, 1, 1)
	d.mustFlush(t)
	d.mustWrite(t, 1, 2, 2)
	if got := d.sectors(t); got != "[1 2 2 0]" {
		t.Errorf("before the cut the content is %s", got)
	}
	if o := d.Restore(LoseAll, rand.New(rand.NewPCG(1, 1))); o != (Outcome{Unflushed: 1, Lost: 1}) || d.sectors(t) != "[1 1 0 0]" {
		t.Errorf("after the cut: %s, %v", d.sectors(t), o)
	}
	d.mustWrite(t, 3, 3)
	d.Restore(LoseNothing, rand.New(rand.NewPCG(1, 1)))
	d.Restore(LoseAll, rand.New(rand.NewPCG(1, 1)))
	if got := d.sectors(t); got != "[1 1 0 3]" {
		t.Errorf("what survived one cut is durable at the next: %s", got)
	}
}

// For each kind of loss the device must be left with one of the listed contents. Over many seeds, each of the listed contents
// must come up.
func TestLossesLoseTearAndReorder(t *testing.T) {
	for loss, want := range map[Loss][]string{
		LoseAll:       {"[9 9]"},
		LoseNothing:   {"[2 3]"},
		LoseOne:       {"[1 3]", "[2 1]", "[2 3]"},
		LoseFirstHalf: {"[2 3]"},                                                                         // later writes survive an earlier one
		LoseSome:      {"[1 1]", "[1 3]", "[1 9]", "[2 1]", "[2 3]", "[2 9]", "[9 1]", "[9 3]", "[9 9]"}, // [1 9] and [9 1]: the first write is torn
		TearAll:       {"[1 1]", "[1 3]", "[1 9]", "[2 1]", "[2 3]", "[2 9]", "[9 1]", "[9 3]", "[9 9]"},
	} {
		seen := make(map[string]bool)
		for seed := range uint64(1000) {
			d := newDisk(t, 2)
			d.mustWrite(t, 0, 9, 9)
			d.mustFlush(t)
			d.mustWrite(t, 0, 1, 1)
			d.mustWrite(t, 0, 2)
			d.mustWrite(t, 1, 3)
			d.Restore(loss, rand.New(rand.NewPCG(seed, 0)))
			seen[d.sectors(t)] = true
			d.Free()
		}
		if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
			t.Errorf("%v left %v, want %v", loss, got, want)
		}
	}
}

func TestTornWriteKeepsWholeSectors(t *testing.T) {
	d := newDisk(t, 8)
	d.mustWrite(t, 0, 1, 1, 1, 1, 1, 1, 1, 1)
	if o := d.Restore(TearAll, rand.New(rand.NewPCG(1, 0))); o.Torn != 1 {
		t.Errorf("%v: %s", o, d.sectors(t))
	}
}

func TestCutDeviceAcknowledgesNothing(t *testing.T) {
	d := newDisk(t, 2)
	d.mustWrite(t, 0, 1)
	cut := d.CutAt(Trigger{After: 2, Latest: 2})
	d.mustFlush(t)
	old := d.Generation()
	if errno := d.writeAt(old, make([]byte, SectorSize), 0); errno != syscall.EIO {
		t.Errorf("the write at which the power fails: %v", errno)
	}
	<-cut
	for what, errno := range map[string]syscall.Errno{"write": d.writeAt(old, make([]byte, SectorSize), 0), "flush": d.flush(old)} {
		if errno != syscall.EIO {
			t.Errorf("a %s without power: %v", what, errno)
		}
	}
	d.Restore(LoseAll, rand.New(rand.NewPCG(1, 1)))
	if errno := d.writeAt(old, make([]byte, SectorSize), 0); errno != syscall.EIO {
		t.Errorf("a write through a file of the time before the cut: %v", errno)
	}
	if got := d.sectors(t); got != "[1 0]" {
		t.Errorf("the content is %s", got)
	}
}

func TestPowerFailsAtTheFirstWriteThatFindsEnoughInTheCache(t *testing.T) {
	d := newDisk(t, 8)
	d.CutAt(Trigger{After: 2, Unflushed: 2, Latest: 9})
	d.mustWrite(t, 0, 1) // operation 1
	d.mustFlush(t)       // operation 2: the cache has one write
	d.mustWrite(t, 1, 2) // operation 3: the cache has only this write
	if d.IsOff() {
		t.Fatal("the power failed too early")
	}
	if errno := d.writeAt(0, make([]byte, SectorSize), 2*SectorSize); errno != syscall.EIO || !d.IsOff() {
		t.Errorf("the second write in the cache: %v", errno)
	}
	d.Restore(LoseNothing, rand.New(rand.NewPCG(1, 1)))
	d.CutAt(Trigger{After: 1, Unflushed: 2, Latest: 2})
	d.mustFlush(t)
	if errno := d.flush(1); errno != syscall.EIO {
		t.Errorf("the latest operation: %v", errno)
	}
}

// A flush that a power cut interrupts is not acknowledged. A flush that succeeds has made exactly the writes durable that
// were made before it began.
func TestSlowFlushMakesDurableWhatWasWrittenBeforeIt(t *testing.T) {
	d := newDisk(t, 2)
	d.SlowFlushes(time.Hour, rand.New(rand.NewPCG(1, 0)))
	d.mustWrite(t, 0, 1)
	result := make(chan syscall.Errno)
	go func() { result <- d.flush(0) }()
	for d.Operations() < 2 { // until the flush has begun
		runtime.Gosched()
	}
	d.mustWrite(t, 1, 2)
	d.Cut()
	if errno := <-result; errno != syscall.EIO {
		t.Errorf("the flush ended with %v", errno)
	}
	d.Restore(LoseAll, rand.New(rand.NewPCG(1, 1)))
	if got := d.sectors(t); got != "[0 0]" {
		t.Errorf("the content is %s", got)
	}

	d.SlowFlushes(50*time.Millisecond, rand.New(rand.NewPCG(1, 0)))
	d.mustWrite(t, 0, 1)
	operations := d.Operations()
	go func() { result <- d.flush(1) }()
	for d.Operations() == operations {
		runtime.Gosched()
	}
	d.mustWrite(t, 1, 2)
	if errno := <-result; errno != 0 {
		t.Fatal(errno)
	}
	d.Restore(LoseAll, rand.New(rand.NewPCG(1, 1)))
	if got := d.sectors(t); got != "[1 0]" {
		t.Errorf("the content is %s", got)
	}
}
