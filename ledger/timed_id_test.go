package ledger_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
)

func TestTimedIDsAreInTheOrderOfTheirInstants(t *testing.T) {
	at := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	var last ledger.ID
	for n := range 1000 {
		id := ledger.TimedID(at.Add(time.Duration(n)*time.Millisecond), uuid.New())
		ordered := ledger.OrderedID(id)
		if bytes.Compare(last[:], ordered[:]) >= 0 {
			t.Fatalf("the ordered form of id %d is not after that of the previous id", n)
		}
		if ledger.OrderedID(ordered) != id {
			t.Fatalf("the ordered form of id %s does not give the id again", id)
		}
		last = ordered
	}
}

func TestTimedIDHasTheFormOfARandomUUID(t *testing.T) {
	for range 100 {
		if id := ledger.TimedID(time.Now(), uuid.New()); id.Version() != 4 || id.Variant() != uuid.RFC4122 {
			t.Fatalf("%s has version %d and variant %v", id, id.Version(), id.Variant())
		}
	}
}

// Neither a bit of an id nor the difference between consecutive ids reveals the instant. In half of the ids of one
// millisecond, a free bit is set. In half of them, it differs from the same bit of the previous id. A random bit deviates
// from this by more than 7 standard deviations with a probability of about 1 in 400,000 million.
func TestBitsOfTimedIDsLookRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.NewChaCha8([32]byte{0: byte(seed), 1: byte(seed >> 8), 2: byte(seed >> 16), 3: byte(seed >> 24)})
	const count, deviation = 20_000, 7 * 71 // sqrt(20,000)/2 is 71
	at := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	var set, changed [128]int
	var last ledger.ID
	for range count {
		source, err := uuid.NewRandomFromReader(random)
		if err != nil {
			t.Fatal(err)
		}
		id := ledger.TimedID(at, source)
		for bit := range set {
			isSet := id[bit/8] >> (7 - bit%8) & 1
			set[bit] += int(isSet)
			changed[bit] += int(isSet ^ last[bit/8]>>(7-bit%8)&1)
		}
		last = id
	}
	for bit := range set {
		if bit/4 == 12 || bit/2 == 32 {
			continue // the version and the variant
		}
		if abs(set[bit]-count/2) > deviation || abs(changed[bit]-count/2) > deviation {
			t.Errorf("bit %d is set %d times and changes %d times in %d ids", bit, set[bit], changed[bit], count)
		}
	}
}

func abs(n int) int { return max(n, -n) }

// Ids that TimedID did not make also have different ordered forms, because OrderedID does not change the bits from which it
// computes the mask.
func TestFormsOfIDsAreDifferent(t *testing.T) {
	seen := make(map[ledger.ID]bool)
	for range 10_000 {
		form := ledger.OrderedID(uuid.New())
		if seen[form] {
			t.Fatal("two ids have the same ordered form")
		}
		seen[form] = true
	}
	if form := ledger.OrderedID(ledger.ID{}); ledger.OrderedID(form) != (ledger.ID{}) {
		t.Errorf("the zero id has the form %s", form)
	}
}
