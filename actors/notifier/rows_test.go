package notifier

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/posting"
)

func wantCode(t testing.TB, err error, want ledger.Code) {
	t.Helper()
	var refusal *ledger.Refusal
	if !errors.As(err, &refusal) || refusal.Code != want {
		t.Errorf("error %v, want code %s", err, want)
	}
}

var channels = []posting.Channel{posting.Webhook, posting.Stream, posting.OperatorAlert, posting.PayerReceipt, posting.OperatorBulletin}

func drawID(t *rapid.T) ledger.ID {
	return ledger.ID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
}

func drawDeliveryID(t *rapid.T) ID {
	return ID{ledger.Micros(rapid.Int64Range(0, microsecondMask).Draw(t, "booked")), rapid.SampledFrom(channels).Draw(t, "channel")}
}

func TestEventIDFindsItsDeliveryInItsOrganizationOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		org, other, id := drawID(t), drawID(t), drawDeliveryID(t)
		event := EventID(org, id)
		if got, ok := DeliveryOfEvent(org, event); !ok || got != id {
			t.Fatalf("%v leads to %v (%v), want %v", event, got, ok, id)
		}
		if event.Version() != 4 || event.Variant() != uuid.RFC4122 {
			t.Fatalf("%v has version %d and variant %v", event, event.Version(), event.Variant())
		}
		if _, ok := DeliveryOfEvent(other, event); ok && other != org {
			t.Fatalf("%v is %v's too", event, other)
		}
	})
}

func TestTheChannelsOfOneEventHaveDifferentIDs(t *testing.T) {
	channelOf := make(map[ledger.ID]posting.Channel)
	for _, c := range channels {
		event := EventID(firstOrg, ID{1, c})
		if before, ok := channelOf[event]; ok {
			t.Errorf("channels %v and %v have one id", before, c)
		}
		channelOf[event] = c
	}
}

func TestForeignIDsFindNoDelivery(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		org, id := drawID(t), drawDeliveryID(t)
		event := EventID(org, id)
		bit := rapid.IntRange(0, 127).Draw(t, "bit")
		event[bit/8] ^= 1 << (bit % 8)
		if got, ok := DeliveryOfEvent(org, event); ok {
			t.Fatalf("with bit %d flipped it leads to %v", bit, got)
		}
	})
	if _, ok := DeliveryOfEvent(firstOrg, ledger.ID{}); ok {
		t.Error("the nil UUID is an event's")
	}
}

func TestMarksRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pageStart := ledger.Micros(rapid.Int64Range(1, 1<<50).Draw(t, "page"))
		var want []acknowledgement
		var row []byte
		marksUpTo := map[int]int{1: 0} // number of complete acknowledgements, by the length of the row
		for range rapid.IntRange(1, 20).Draw(t, "marks") {
			m := acknowledgement{
				ID:        ID{pageStart + ledger.Micros(rapid.Int64Range(0, 1<<40).Draw(t, "after")), rapid.SampledFrom(channels).Draw(t, "channel")},
				pageStart: pageStart, at: ledger.Micros(rapid.Int64Range(1, 1<<51).Draw(t, "at")),
				status: rapid.IntRange(0, 999).Draw(t, "status"), took: rapid.Int64Range(0, 15_000).Draw(t, "took"),
			}
			want = append(want, m)
			row = appendAcknowledgement(row, &m)
			marksUpTo[len(row)] = len(want)
		}
		for n := range len(row) + 1 {
			var got []acknowledgement
			err := eachAcknowledgement(pageStart, row[:n], func(m acknowledgement) { got = append(got, m) })
			wantCount, ok := marksUpTo[n]
			if ok != (err == nil) || ok && !slices.Equal(got, want[:wantCount]) {
				t.Fatalf("%d of %d bytes: %+v (%v), want %+v", n, len(row), got, err, want[:wantCount])
			}
		}
	})
}

func TestKeptDeliveryRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &Delivery{
			ID: drawDeliveryID(t), Source: ledger.Source{Kind: ledger.Transaction, ID: drawID(t)}, To: drawID(t),
			State: State(rapid.IntRange(1, 3).Draw(t, "state")), Next: ledger.Micros(rapid.Int64Range(0, 1<<51).Draw(t, "next")),
			pageStart: ledger.Micros(rapid.Int64Range(0, 1<<51).Draw(t, "page")), attemptsBeforeReplay: rapid.IntRange(0, 48).Draw(t, "round"),
		}
		if n := rapid.IntRange(0, 40).Draw(t, "body"); n > 0 {
			want.body, want.reachedOperators = make([]byte, n), []byte("told")
		}
		for range rapid.IntRange(0, 7).Draw(t, "attempts") {
			want.Attempts = append(want.Attempts, Attempt{
				At: ledger.Micros(rapid.Int64Range(1, 1<<51).Draw(t, "at")), Status: rapid.IntRange(0, 599).Draw(t, "status"),
				Failure: rapid.StringN(0, 20, -1).Draw(t, "failure"), Took: rapid.Int64Range(0, 15_000).Draw(t, "took"),
			})
		}
		row, err := encodeDelivery(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeDelivery(want.ID, row)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v (%v), want %+v", got, err, want)
		}
		for n := range len(row) {
			if _, err := decodeDelivery(want.ID, row[:n]); err == nil {
				t.Fatalf("%d of %d bytes are read", n, len(row))
			}
		}
	})
}

func TestKeyOfAWaitingDeliveryIsParsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, id := destinationKey{drawID(t), rapid.SampledFrom(receiverClasses[:]).Draw(t, "class"), drawID(t)}, drawDeliveryID(t)
		next := ledger.Micros(rapid.Int64Range(0, 1<<51).Draw(t, "next"))
		row := keyRetry(want, next, id)
		k, at, got, ok := parseRetry(want.org, row)
		if !ok || k != want || at != next || got != id {
			t.Fatalf("%v %v %v (%v), want %v %v %v", k, at, got, ok, want, next, id)
		}
		behind := afterWaiting(row)
		if bytes.Compare(behind, row) <= 0 || bytes.HasPrefix(behind, row[:waitingPrefixLen]) {
			t.Fatalf("%x is not behind %x", behind, row)
		}
		later := keyRetry(want, next+1, ID{0, 1})
		if bytes.Compare(row, later) >= 0 {
			t.Fatal("a delivery that is due later does not sort behind")
		}
	})
	if _, _, _, ok := parseRetry(firstOrg, keyParked(destinationKey{firstOrg, merchantClass, secondOrg}, ID{1, 1})); ok {
		t.Error("a parked delivery's key is taken for one that waits")
	}
}

// FuzzRows checks that parsing arbitrary rows does not panic and returns only valid deliveries.
func FuzzRows(f *testing.F) {
	m := acknowledgement{ID: ID{5, 1}, pageStart: 4, at: 6, status: 200, took: 3}
	f.Add(appendAcknowledgement(nil, &m))
	kept, err := encodeDelivery(&Delivery{ID: ID{1, 1}, State: Pending, Attempts: []Attempt{{At: 1, Failure: "status 500"}}, body: []byte("b")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(kept)
	f.Add([]byte{1})
	f.Add(bytes.Repeat([]byte{0xff}, 40))
	f.Fuzz(func(t *testing.T, row []byte) {
		var again []byte
		if err := eachAcknowledgement(4, row, func(m acknowledgement) { again = appendAcknowledgement(again, &m) }); err == nil && len(again) > len(row) {
			t.Errorf("marks of %d bytes are %d when they are written again", len(row), len(again))
		}
		d, err := decodeDelivery(ID{1, 1}, row)
		if err == nil && (d.State < Pending || d.State > Parked) {
			t.Errorf("a delivery in state %d is read", d.State)
		}
		parseRetry(firstOrg, row)
	})
}
