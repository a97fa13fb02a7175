package disk

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

// SectorSize is the size of a sector in bytes. The device writes a sector entirely or not at all.
const SectorSize = 512

// Disk is a block device in memory. It simulates a cache of writes that were not flushed, and power cuts. It is safe for
// concurrent use.
type Disk struct {
	mu         sync.Mutex
	isOff      bool
	generation int    // number of simulated power cuts that have ended
	content    []byte // the content that reads return
	durable    []byte // the content that certainly survives a power cut
	unflushed  []write
	dropped    uint64 // number of writes removed from the front of unflushed; a write's number is dropped plus its index
	operations uint64 // number of writes and flushes so far
	trigger    Trigger
	cut        chan struct{} // closed when the power has failed

	slowest time.Duration // longest time that a flush takes; 0 if flushes take no time
	delays  *rand.Rand
}

// Trigger says at which operation (write or flush) the power fails. Operations are counted from the call of CutAt. The power
// does not fail before operation number After. From that operation on, the power fails as soon as the cache contains at least
// Unflushed writes. At operation number Latest, the power fails in any case. If Latest is 0, the power does not fail.
type Trigger struct {
	After     uint64
	Unflushed int
	Latest    uint64
}

// write is a write to the device's cache.
type write struct {
	at   int64
	data []byte
}

// New makes a device whose bytes are all zero. Only the parts that are written take up memory.
func New(size int64) (*Disk, error) {
	if size <= 0 || size%SectorSize != 0 {
		return nil, fmt.Errorf("disk: the size %d is not a positive number of sectors", size)
	}
	d := &Disk{cut: make(chan struct{})}
	for _, image := range []*[]byte{&d.content, &d.durable} {
		var err error
		*image, err = syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
		if err != nil {
			return nil, fmt.Errorf("disk: memory for %d bytes: %w", size, err)
		}
	}
	return d, nil
}

// Free gives the device's memory back. Nothing may use the device any more.
func (d *Disk) Free() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = syscall.Munmap(d.content), syscall.Munmap(d.durable)
	d.content, d.durable, d.isOff = nil, nil, true
}

// Size returns the device's size in bytes.
func (d *Disk) Size() int64 { return int64(len(d.content)) }

// Operations returns the number of writes and flushes so far.
func (d *Disk) Operations() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.operations
}

// Generation returns the number of simulated power cuts that have ended.
func (d *Disk) Generation() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.generation
}

// readAt reads the device's content into p. It works even while the power is off, because a process that has not been killed yet
// may still read.
func (d *Disk) readAt(p []byte, at int64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at < 0 || at >= int64(len(d.content)) {
		return 0
	}
	return copy(p, d.content[at:])
}

// writeAt writes to the device's cache.
func (d *Disk) writeAt(generation int, p []byte, at int64) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isOff || generation != d.generation {
		return syscall.EIO
	}
	if at < 0 || at+int64(len(p)) > int64(len(d.content)) || at%SectorSize != 0 || len(p)%SectorSize != 0 {
		return syscall.EINVAL
	}
	// If the power fails during a write, a part of the write may be on the disk afterwards, although the write is never
	// acknowledged.
	d.unflushed = append(d.unflushed, write{at, append([]byte(nil), p...)})
	copy(d.content[at:], p)
	if d.countOperation() {
		return syscall.EIO
	}
	return 0
}

// flush makes all writes durable that were acknowledged before the flush began.
func (d *Disk) flush(generation int) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isOff || generation != d.generation || d.countOperation() {
		return syscall.EIO
	}
	end := d.dropped + uint64(len(d.unflushed))
	if d.slowest > 0 {
		timer := time.NewTimer(time.Duration(d.delays.Int64N(int64(d.slowest))))
		cut := d.cut
		d.mu.Unlock()
		select {
		case <-timer.C:
		case <-cut:
		}
		d.mu.Lock()
		if d.isOff || generation != d.generation {
			return syscall.EIO
		}
	}
	if end <= d.dropped { // another flush has made all these writes durable meanwhile
		return 0
	}
	flushed := d.unflushed[:end-d.dropped]
	for _, w := range flushed {
		copy(d.durable[w.at:], w.data)
	}
	clear(flushed)
	d.unflushed, d.dropped = d.unflushed[len(flushed):], end
	return 0
}

// countOperation counts a write or a flush, and tells whether the power fails at this operation.
func (d *Disk) countOperation() bool {
	d.operations++
	t := &d.trigger
	if t.Latest == 0 || d.operations < t.After || d.operations < t.Latest && len(d.unflushed) < t.Unflushed {
		return false
	}
	d.turnOff()
	return true
}

func (d *Disk) turnOff() {
	if !d.isOff {
		d.isOff = true
		close(d.cut)
	}
}

// CutAt lets the power fail at a later write or flush. The device does not acknowledge this write or flush. CutAt returns a
// channel that is closed when the power fails, whether by this trigger or by Cut.
func (d *Disk) CutAt(t Trigger) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.Latest > 0 {
		t.After, t.Latest = d.operations+t.After, d.operations+max(t.After, t.Latest)
	}
	d.trigger = t
	return d.cut
}

// Cut lets the power fail now.
func (d *Disk) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turnOff()
}

// SlowFlushes makes each further flush take a random time, but at most slowest. If slowest is 0, flushes take no time.
func (d *Disk) SlowFlushes(slowest time.Duration, random *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slowest, d.delays = slowest, random
}

// IsOff tells whether the power has failed.
func (d *Disk) IsOff() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.isOff
}

// HasSlowFlushes tells whether flushes take time.
func (d *Disk) HasSlowFlushes() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.slowest > 0
}
