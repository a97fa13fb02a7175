package tidy

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestRefusedWordIsFound(t *testing.T) {
	for _, c := range []struct{ name, path, content, want string }{
		{"a type", "cmd/mizan/x.go", "package main\n\ntype testHouse struct{}\n", `cmd/mizan/x.go:3: words: "house": say codebase, layout or test server`},
		{"a local variable", "cmd/mizan/x.go", "package main\n\nfunc f() {\n\terrand := 0\n\t_ = errand\n}\n", `cmd/mizan/x.go:5: words: "errand": say command`},
		{"a method of two words", "cmd/mizan/x.go", "package main\n\nfunc goOn() {}\n", `"go on": say resume`},
		{"a comment", "cmd/mizan/x.go", "package main\n\n// The courier is late.\n", `"courier": say webhook sender`},
		{"a capital at the start", "cmd/mizan/x.go", "package main\n\n// Strangers wait.\n", `"strangers": say`},
		{"a log line", "cmd/mizan/x.go", "package main\n\nvar text = \"the daybook is full\"\n", `"daybook": say page buffer`},
		{"a file's name", "cmd/mizan/shelf_test.go", "package main\n", `cmd/mizan/shelf_test.go: words: "shelf" in the path`},
		{"a folder's name", "internal/assert/desk/doc.go", "// Package desk asserts.\npackage desk\n", `"desk" in the path`},
		{"prose", "README.md", "Ask the clerk.\n", `README.md:1: words: "clerk": say organization actor`},
		{"a script", ".ci/run", "# The rooms.\n", `.ci/run:1: words: "rooms"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := maps.Clone(soundModule)
			files[c.path] = c.content
			report := checkModule(t, files)
			if !slices.ContainsFunc(report.Breaches, func(b Breach) bool { return strings.Contains(b.String(), c.want) }) {
				t.Errorf("breaches %v, want one with %q", report.Breaches, c.want)
			}
		})
	}
}

func TestOtherWordsAreNotRefused(t *testing.T) {
	for _, text := range []string{"warehouse", "Warehouse", "in-house", "townsend", "rigid", "there is room for more", "a quarter", "go on reading", "to take up", "shelfish"} {
		want := 0
		if text == "in-house" {
			want = 1 // the hyphen ends a word, so one refused word is found
		}
		if found := findRefused(text); len(found) != want {
			t.Errorf("%q: found %v, want %d", text, found, want)
		}
	}
}

func TestIdentifiersAreSplitAtTheirCapitals(t *testing.T) {
	for text, want := range map[string]string{
		"readHTTPBody": "read http body", "HTTP": "http", "camelCase": "camel case", "X": "x", "ID": "id", "plain": "plain",
	} {
		if got := strings.Join(splitCamelCase(text), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
