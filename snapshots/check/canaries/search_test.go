package canaries

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func TestSearchFindsTheSameAsBytesIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		canaries := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,9}`), 1, 6).Draw(t, "canaries")
		text := rapid.StringMatching(`[ab]{0,60}`).Draw(t, "text") // few letters, so that there are many matches
		var want []string
		for i, canary := range canaries {
			for at := 0; ; at++ {
				n := bytes.Index([]byte(text[at:]), []byte(canary))
				if n < 0 {
					break
				}
				at += n
				want = append(want, fmt.Sprint(i+1, at))
			}
		}
		var got []string
		reader := iotest.HalfReader(strings.NewReader(text))
		s := newSearch(canaries)
		s.chunkBytes = rapid.IntRange(1, 20).Draw(t, "chunk")
		if err := s.searchReader(t.Context(), reader, func(line int, at int64) { got = append(got, fmt.Sprint(line, at)) }); err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("found %v, want %v", got, want)
		}
	})
}
