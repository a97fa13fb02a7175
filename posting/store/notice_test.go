package store

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/posting/store/badgerfile"
)

var noticeOrg = uuid.MustParse("0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a03")

// noticesOf returns the notices of a page up to the first fault, and the error for the fault.
func noticesOf(first ledger.Micros, row []byte) (notices []Notice, err error) {
	err = EachNotice(first, row, func(n *Notice) (bool, error) {
		copied := *n
		copied.Body = slices.Clone(n.Body)
		notices = append(notices, copied)
		return true, nil
	})
	return notices, err
}

func sameNotice(a, b Notice) bool {
	return a.Booked == b.Booked && a.Source == b.Source && a.Channel == b.Channel && a.To == b.To && bytes.Equal(a.Body, b.Body)
}

// randomNotices returns n notices in the order of booking. Some have the destination of the previous notice.
func randomNotices(r *rand.Rand, n int) []Notice {
	notices := make([]Notice, n)
	booked, to, channel := ledger.Micros(1+r.Int64N(1<<50)), uuid.New(), byte(1)
	for i := range notices {
		if r.IntN(3) == 0 {
			to, channel = uuid.New(), byte(1+r.IntN(4))
		}
		body := make([]byte, r.IntN(1<<r.IntN(10)))
		for k := range body {
			body[k] = byte(r.Uint32())
		}
		notices[i] = Notice{Booked: booked, Source: ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}, Channel: channel, To: to, Body: body}
		booked += ledger.Micros(r.Int64N(1 << r.IntN(40)))
	}
	return notices
}

// pageOf returns a page with the notices.
func pageOf(notices []Notice) *NoticePage {
	p := new(NoticePage)
	for i := range notices {
		p.Add(&notices[i])
	}
	return p
}

func TestNoticePageRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(t), 0))
	p := new(NoticePage)
	for range 200 {
		want := randomNotices(r, 1+r.IntN(20))
		for i := range want {
			before := p.Bytes()
			p.Add(&want[i])
			if grown := p.Bytes() - before; grown > 10+17+17+3+1+len(want[i].Body) {
				t.Errorf("a notice of %d bytes takes %d", len(want[i].Body), grown)
			}
		}
		if p.First != want[0].Booked {
			t.Fatalf("the page begins at %d, want %d", p.First, want[0].Booked)
		}
		got, err := noticesOf(p.First, p.Row())
		if err != nil || !slices.EqualFunc(got, want, sameNotice) {
			t.Fatalf("%+v, want %+v (%v)", got, want, err)
		}
		p.Reset() // the page's memory is used again
	}
}

func TestNoticePageIsFullBeforeItsBound(t *testing.T) {
	n := Notice{Booked: 1, Source: ledger.Source{Kind: ledger.Transaction}, Channel: 1, Body: make([]byte, MaxNotice)}
	p := new(NoticePage)
	if p.Full(MaxNotice) {
		t.Error("an empty page is full")
	}
	for !p.Full(len(n.Body)) {
		n.To = uuid.New() // a new destination takes the most room
		n.Booked += 1 << 60
		p.Add(&n)
		if p.Bytes() > MaxNoticePage {
			t.Fatalf("a page of %d bytes", p.Bytes())
		}
	}
	if p.Bytes() < 2*MaxNotice {
		t.Errorf("a page of %d bytes is full", p.Bytes())
	}
	p.Reset()
	n.Body = nil
	for !p.Full(0) {
		n.To = uuid.New()
		n.Booked++
		p.Add(&n)
	}
	if p.Bytes() > MaxNoticePage || p.Bytes() < MaxNoticePage-64 {
		t.Errorf("a page of %d bytes is full, the bound is %d", p.Bytes(), MaxNoticePage)
	}
}

// A truncated page is detected, except when it is cut between two notices.
func TestTruncatedNoticePageIsRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(t), 0))
	want := randomNotices(r, 12)
	noticesUpTo := map[int]int{1: 0} // maps a length to the number of whole notices in a page that is cut to this length
	for n := range want {
		noticesUpTo[pageOf(want[:n+1]).Bytes()] = n + 1
	}
	p := pageOf(want)
	for n := range p.Bytes() + 1 {
		got, err := noticesOf(p.First, p.Row()[:n])
		notices, isBetween := noticesUpTo[n]
		if isBetween != (err == nil) || isBetween && !slices.EqualFunc(got, want[:notices], sameNotice) {
			t.Fatalf("%d of %d bytes: %d notices, %v", n, p.Bytes(), len(got), err)
		}
	}
}

func TestMalformedNoticePageIsRefused(t *testing.T) {
	p := pageOf(randomNotices(rand.New(rand.NewPCG(1, 1)), 3))
	for form := range 256 {
		row := slices.Clone(p.Row())
		row[0] = byte(form)
		if _, err := noticesOf(p.First, row); (err == nil) != (form == 1) {
			t.Errorf("form %d: %v", form, err)
		}
	}
	endless := append(slices.Clone(p.Row()[:1+1+17+1+16]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)
	if _, err := noticesOf(p.First, endless); err == nil {
		t.Error("a body longer than everything is read")
	}
}

func TestEachNoticeReturnsTheCallbacksError(t *testing.T) {
	p := pageOf(randomNotices(rand.New(rand.NewPCG(1, 1)), 3))
	calls, failure := 0, errors.New("no more")
	err := EachNotice(p.First, p.Row(), func(*Notice) (bool, error) {
		calls++
		return true, failure
	})
	if !errors.Is(err, failure) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
	err = EachNotice(p.First, p.Row(), func(*Notice) (bool, error) {
		calls++
		return false, nil
	})
	if err != nil || calls != 2 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestParseNoticePageRefusesOtherKeys(t *testing.T) {
	key := KeyNoticePage(nil, noticeOrg, 1<<40+5)
	if first, ok := ParseNoticePage(key); !ok || first != 1<<40+5 {
		t.Errorf("its own key: %d %v", first, ok)
	}
	if !bytes.HasPrefix(key, KeyNotices(nil, noticeOrg)) || IsActorKV(KVKey(key)) {
		t.Error("a page's key is not among the notices")
	}
	for name, other := range map[string][]byte{
		"shorter":     key[:len(key)-1],
		"longer":      append(slices.Clone(key), 0),
		"of an actor": KeyKV(nil, noticeOrg, []byte("d12345678")),
		"of a record": append([]byte{prefixRecord}, key[1:]...),
		"empty":       nil,
		"an org only": key[:17],
	} {
		if _, ok := ParseNoticePage(other); ok {
			t.Errorf("%s: it is taken for a page's", name)
		}
	}
	if !IsActorKV([]byte("d")) || !IsActorKV([]byte("m1")) {
		t.Error("the keys of an actor's KVs are refused")
	}
	if got := KVKey(KeyKV(nil, noticeOrg, []byte("abc"))); string(got) != "abc" {
		t.Errorf("a row's own key comes back as %q", got)
	}
}

// If a byte of a stored page is changed, Open reports the damage.
func TestDamagedNoticePageIsDetected(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(t), 0))
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	p := pageOf(randomNotices(r, 20))
	set(t, s, string(KeyNoticePage(nil, noticeOrg, p.First)), string(p.Row()))
	closeStore(t, s)
	path := badgerfile.TablePath(s.path, highestTable(t, s))
	content := readFile(t, path)
	at := bytes.Index(content, p.Row())
	if at < 0 {
		t.Fatal("the page is not in the table as it was written")
	}
	for range 20 {
		b := slices.Clone(content)
		b[at+r.IntN(p.Bytes())] ^= byte(1 + r.IntN(255))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		var damage *DamageError
		s, err := Open(Options{Dir: dir, MemTable: minMemTable, Log: discardLog})
		if err == nil {
			_ = s.Close()
		}
		if !errors.As(err, &damage) {
			t.Fatalf("Open = %v, want a *DamageError", err)
		}
	}
}

// FuzzNoticePage checks that an invalid page causes no panic. If a page is valid and its notices are written and read again,
// they must be the same.
func FuzzNoticePage(f *testing.F) {
	p := pageOf(randomNotices(rand.New(rand.NewPCG(1, 1)), 4))
	f.Add(uint64(p.First), p.Row())
	f.Add(uint64(1), []byte{1})
	f.Add(uint64(1), bytes.Repeat([]byte{0xff}, 60))
	f.Fuzz(func(t *testing.T, first uint64, row []byte) {
		notices, err := noticesOf(ledger.Micros(first), row)
		if err != nil || len(notices) == 0 || notices[0].Booked == 0 || slices.ContainsFunc(notices, func(n Notice) bool { return n.Channel == 0 }) {
			return
		}
		p := pageOf(notices)
		reread, err := noticesOf(p.First, p.Row())
		if err != nil || !slices.EqualFunc(notices, reread, sameNotice) {
			t.Errorf("%+v is read again as %+v (%v)", notices, reread, err)
		}
	})
}
