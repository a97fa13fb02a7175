package page

import (
	"fmt"
	"strings"
	"testing"

	"rsc.io/qr"
)

// The picture draws each dark module of the QR code once, no other, and leaves a margin of four modules.
func TestQRCodeImageHasExactlyItsModules(t *testing.T) {
	for _, text := range []string{"", "x", "https://pay.example/simulator/challenge?reference=1&token=" + strings.Repeat("aB3-", 40), "ключ", strings.Repeat("x", 2300)} {
		want, err := qr.Encode(text, qr.M)
		if err != nil {
			t.Fatal(err)
		}
		got, err := NewCode(text)
		if err != nil || got.Side != want.Size+8 {
			t.Fatalf("side %d of %d, %v", got.Side, want.Size, err)
		}
		darkModules := make(map[[2]int]int)
		for run := range strings.SplitSeq(strings.TrimPrefix(got.Path, "M"), "M") {
			var x, y, width, widthBack int
			if _, err := fmt.Sscanf(run, "%d %dh%dv1h-%dz", &x, &y, &width, &widthBack); err != nil || width != widthBack || width < 1 {
				t.Fatalf("%q: %v", run, err)
			}
			for i := range width {
				darkModules[[2]int{x + i - 4, y - 4}]++
			}
		}
		for y := -4; y < want.Size+4; y++ {
			for x := -4; x < want.Size+4; x++ {
				if timesDrawn := darkModules[[2]int{x, y}]; timesDrawn > 1 || (timesDrawn == 1) != want.Black(x, y) {
					t.Errorf("%.20q: module %d %d is dark %d times", text, x, y, timesDrawn)
				}
			}
		}
	}
}

func TestTooLongTextHasNoQRCode(t *testing.T) {
	if c, err := NewCode(strings.Repeat("x", 4000)); err == nil || c != (Code{}) {
		t.Errorf("%+v, %v", c, err)
	}
}
