package admin

import (
	"strings"
	"testing"

	"mizan/internal/testseed"
)

func TestFoldedTextsAreComparedAsInLowerCase(t *testing.T) {
	random := testseed.Random(t)
	alphabet := []rune("aAbBzZ-@[`{Ééßẞ" + "İıK")
	text := func(maxLength int) string {
		var runes []rune
		for range random.IntN(maxLength + 1) {
			runes = append(runes, alphabet[random.IntN(len(alphabet))])
		}
		return string(runes)
	}
	for range 20_000 {
		name, sought := text(6), strings.ToLower(text(2))
		if sought == "" {
			continue
		}
		lower := strings.ToLower(name)
		if got := equalsFolded(name, sought); got != (lower == sought) {
			t.Fatalf("%q equals %q: %v", name, sought, got)
		}
		if got := containsFolded(name, sought); got != strings.Contains(lower, sought) {
			t.Fatalf("%q contains %q: %v", name, sought, got)
		}
	}
}
