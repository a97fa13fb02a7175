package directory

import (
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestTableAgreesWithAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tested table[uint8, int]
		model := make(map[uint8]int)
		for i, key := range rapid.SliceOfN(rapid.Uint8(), 0, 600).Draw(t, "keys") {
			tested.put(key, &i)
			model[key] = i
		}
		for key := range 256 {
			value, found := tested.get(uint8(key))
			want, inModel := model[uint8(key)]
			if found != inModel || (found && *value != want) {
				t.Fatalf("key %d: %v, want %v (there: %v)", key, value, want, inModel)
			}
		}
	})
}

// A reader that starts after a write sees it, also while other writes grow the table.
func TestTableReadersSeeEarlierWrites(t *testing.T) {
	const entries = 20_000
	var numbers table[[32]byte, int]
	key := func(i int) (k [32]byte) {
		k[0], k[1], k[2] = byte(i), byte(i>>8), byte(i>>16)
		return k
	}
	written := make(chan int, entries)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for i := range written {
				for _, earlier := range []int{i, i / 2, 0} {
					if value, found := numbers.get(key(earlier)); !found || *value != earlier {
						t.Errorf("%d after %d was written: %v", earlier, i, value)
					}
				}
				if _, found := numbers.get(key(entries + i)); found {
					t.Errorf("%d is there", entries+i)
				}
			}
		})
	}
	for i := range entries {
		numbers.put(key(i), &i)
		written <- i
	}
	close(written)
	readers.Wait()
}

func TestAReadOfATableAllocatesNothing(t *testing.T) {
	var numbers table[keyIndexKey, int]
	one := 1
	numbers.put(keyIndexKey{}, &one)
	if n := testing.AllocsPerRun(100, func() { numbers.get(keyIndexKey{}); numbers.get(keyIndexKey{hash: [32]byte{1}}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
