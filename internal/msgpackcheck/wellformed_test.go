package msgpackcheck

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

func TestWellFormedAcceptsWhatTheLibraryWritesAndNothingElse(t *testing.T) {
	var encoded bytes.Buffer
	longText := strings.Repeat("x", 70000)
	values := []any{
		nil, true, false, 1, -1, -33, 200, -200, 70000, -70000, 1 << 40, -1 << 40, uint64(1 << 63), float32(1), 2.5,
		"", "short", longText[:40], longText[:300], longText, []byte(longText[:40]), []byte(longText[:300]), []byte(longText),
		make([]int, 3), make([]int, 20), make([]bool, 70000), map[string]any{"a": []any{map[string]int{"b": 1}}}, manyKeys(20), manyKeys(70000), time.Unix(1, 1),
	}
	encoder := msgpack.NewEncoder(&encoded)
	for i, value := range values {
		encoded.Reset()
		if err := encoder.Encode(map[string]any{"x": value}); err != nil {
			t.Fatal(err)
		}
		b := encoded.Bytes()
		if !WellFormed(b) {
			t.Errorf("value %d (%T) is refused", i, value)
		}
		if WellFormed(b[:len(b)-1]) || WellFormed(append(b[:len(b):len(b)], 0)) {
			t.Errorf("value %d (%T): it is accepted with a byte less or more", i, value)
		}
	}
	for name, b := range map[string]string{
		"nothing":            "",
		"no map":             "\x93\x01\x02\x03",
		"a list of billions": "\x81\xa1x\xdd\xff\xff\xff\xff",
		"a map of billions":  "\xdf\xff\xff\xff\xff",
		"text of billions":   "\x81\xa1x\xdb\xff\xff\xff\xff",
		"the unused code":    "\x81\xa1x\xc1",
		"a cut length":       "\x81\xa1x\xdd\xff",
	} {
		if WellFormed([]byte(b)) {
			t.Errorf("%s is taken", name)
		}
	}
}

func manyKeys(n int) map[string]int {
	keys := make(map[string]int, n)
	for i := range n {
		keys[fmt.Sprint(i)] = i
	}
	return keys
}
