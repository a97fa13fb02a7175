package body

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/ledger"
)

// deadlineRecorder is a connection that records its read deadlines.
type deadlineRecorder struct {
	net.Conn
	deadlines []time.Time
}

// SetReadDeadline implements net.Conn.
func (d *deadlineRecorder) SetReadDeadline(t time.Time) error {
	d.deadlines = append(d.deadlines, t)
	return nil
}

// stallingBody is a body that arrives in pieces of the given sizes and then stalls.
type stallingBody []int

// Read implements io.Reader.
func (p *stallingBody) Read(buffer []byte) (int, error) {
	if len(*p) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n := min((*p)[0], len(buffer))
	if (*p)[0] -= n; (*p)[0] == 0 {
		*p = (*p)[1:]
	}
	return n, nil
}

func newBuffer(total int) *buffer {
	return &buffer{budget: newBudget(total), owner: owner{org: ledger.ID{1}}}
}

func TestSlowBodyTimesOut(t *testing.T) {
	conn, b := new(deadlineRecorder), newBuffer(maxBody)
	began := time.Now()
	err := b.fill(&stallingBody{4, 1000, 8 << 10}, maxBody, maxBody, conn, new(arrivals))
	if !timedOut(err) {
		t.Fatal(err)
	}
	first, last := conn.deadlines[0], conn.deadlines[len(conn.deadlines)-1]
	// The deadline is Grace after the beginning, plus a second for each 8 KiB that have arrived.
	if allowed := first.Sub(began); allowed < Grace || allowed > Grace+time.Minute {
		t.Errorf("after 4 bytes the next may come for %v", allowed)
	}
	if extension := last.Sub(first); extension < time.Second || extension > 1130*time.Millisecond {
		t.Errorf("9192 bytes more allow %v", extension)
	}
	if !slices.IsSortedFunc(conn.deadlines, time.Time.Compare) {
		t.Errorf("deadlines %v", conn.deadlines)
	}
}

// Memory is allocated for the bytes that have arrived, and not for the length in the header.
func TestAnnouncedLengthIsNotAllocated(t *testing.T) {
	for arrived, charged := range map[int]int{
		4:                 0,
		FirstBuffer:       2 * FirstBuffer, // the first buffer is full, so the next byte needs a larger one
		3 * FirstBuffer:   4 * FirstBuffer,
		maxBody/2 - 1:     maxBody / 2,
		maxBody - 1:       maxBody,
		FirstBuffer/2 + 1: 0,
	} {
		b := newBuffer(2 * Shares * maxBody)
		if err := b.fill(&stallingBody{arrived}, maxBody, maxBody, new(deadlineRecorder), new(arrivals)); !timedOut(err) {
			t.Fatal(err)
		}
		if b.reserved != charged || b.budget.heldBytes() != charged || len(b.buf) != arrived || (charged > 0 && cap(b.buf) > charged+charged/8) {
			t.Errorf("%d bytes of %d: %d are charged, the buffer has %d of %d", arrived, maxBody, b.reserved, len(b.buf), cap(b.buf))
		}
		budget := b.budget
		b.release()
		if budget.heldBytes() != 0 || len(budget.byOwner) != 0 {
			t.Errorf("afterwards %d bytes are charged", budget.heldBytes())
		}
	}
}

func TestBodyAtTheBoundIsAcceptedAboveItRefused(t *testing.T) {
	const bound = 3*FirstBuffer + 5
	for _, chunked := range []bool{false, true} {
		for _, size := range []int{0, 1, FirstBuffer - 1, FirstBuffer, FirstBuffer + 1, bound - 1, bound, bound + 1, 2 * bound} {
			b, sent, length := newBuffer(Shares*maxBody), bytes.Repeat([]byte{'x'}, size), size
			if chunked {
				length = chunkedLength
			} else if size > bound {
				continue // such a body is refused before anything of it is read
			}
			err := b.fill(bytes.NewReader(sent), length, bound, new(deadlineRecorder), new(arrivals))
			if size > bound {
				if !ledger.IsRefusal(err, web.PayloadTooLarge) {
					t.Errorf("%d of %d bytes: %v", size, bound, err)
				}
			} else if err != nil || !bytes.Equal(b.buf, sent) {
				t.Errorf("%d of %d bytes: %v, read %d", size, bound, err, len(b.buf))
			}
		}
	}
}

func TestIncompleteBodyIsAnError(t *testing.T) {
	b := newBuffer(maxBody)
	if err := b.fill(strings.NewReader("{}"), 3, maxBody, new(deadlineRecorder), new(arrivals)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

func TestOneBodyCannotUseTheWholeBudget(t *testing.T) {
	b := newBudget(100)
	orgOwner, addressOwner := owner{org: ledger.ID{1}}, owner{source: netip.MustParsePrefix("192.0.2.1/32")}
	for _, step := range []struct {
		owner owner
		n     int
		fits  bool
	}{{orgOwner, 20, true}, {orgOwner, 6, false}, {orgOwner, 5, true}, {orgOwner, 1, false}, {addressOwner, 25, true}, {owner{}, 25, true}, {owner{org: ledger.ID{2}}, 20, true}, {owner{org: ledger.ID{3}}, 6, false}, {owner{org: ledger.ID{3}}, 5, true}} {
		if got := b.reserve(step.owner, step.n); got != step.fits {
			t.Errorf("%d for %v: %v", step.n, step.owner, got)
		}
	}
	b.release(orgOwner, 25)
	if b.heldBytes() != 75 || !b.reserve(owner{org: ledger.ID{3}}, 20) {
		t.Errorf("%d are held", b.heldBytes())
	}
}

// One client may have all addresses of an IPv6 network, so the addresses share one part of the budget.
func TestANetworkOfIPv6IsChargedAsOne(t *testing.T) {
	bodies := New(nil, maxBody, Shares*maxBody)
	isCharged := func(address string) bool {
		req := &web.Request{RequestCtx: new(fasthttp.RequestCtx), Route: &web.Route{Access: web.Access{Callers: web.Anyone}}}
		req.SetRemoteAddr(net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(address), 1)))
		budget, owner := bodies.budgetOf(req)
		return budget == bodies.anonymous && budget.reserve(owner, maxBody)
	}
	for _, c := range []struct {
		address string
		want    bool
	}{{"2001:db8::1", true}, {"2001:db8::2", false}, {"2001:db8:0:1::1", true}, {"192.0.2.1", true}, {"192.0.2.1", false}, {"192.0.2.2", true}} {
		if got := isCharged(c.address); got != c.want {
			t.Errorf("%s: charged %v, want %v", c.address, got, c.want)
		}
	}
}
