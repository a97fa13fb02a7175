package tidy

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// refusedWords are words that this project once used in a private meaning. The map gives the standard word that replaces each
// of them. Words that also have a common use (page, line, share, room, quarter) are not listed, because a reviewer must judge
// each use.
var refusedWords = map[string]string{
	"cellar":    "the bottom layer",
	"clerk":     "organization actor",
	"clerks":    "organization actors",
	"courier":   "webhook sender",
	"couriers":  "webhook senders",
	"daybook":   "page buffer",
	"daybooks":  "page buffers",
	"desk":      "alerts",
	"errand":    "command",
	"errands":   "commands",
	"glance":    "interval of checks",
	"house":     "codebase, layout or test server",
	"houses":    "layouts or test servers",
	"leaver":    "session to end",
	"overseer":  "role that reads the ledger",
	"overseers": "roles that read the ledger",
	"rehearsal": "dry run",
	"rehearse":  "dry run",
	"rehearsed": "tried in a dry run",
	"rehearses": "tries in a dry run",
	"remint":    "reissue",
	"reminted":  "reissued",
	"remints":   "reissues",
	"rig":       "fixture",
	"rooms":     "packages",
	"shelf":     "rows of key and value, or slab",
	"shelves":   "rows of key and value, or slabs",
	"stranger":  "unauthorized caller or unknown key",
	"strangers": "unauthorized callers or unknown keys",
	"tellings":  "notifications",
	"town":      "world or fixture",
	"towns":     "worlds or fixtures",
	"go on":     "resume", // matches two parts of one identifier, such as goOn
	"take up":   "resume",
	"taken up":  "resumed",
}

// wordFiles are this file and its test. They are not checked, because they must contain the words.
var wordFiles = []string{"internal/tidy/words.go", "internal/tidy/words_test.go"}

// joinedWords are the refused words without spaces, as they occur in identifiers.
var joinedWords = func() (list [][]byte) {
	for word := range refusedWords {
		list = append(list, []byte(strings.ReplaceAll(word, " ", "")))
	}
	return list
}()

// mayContain is a quick test: if it returns false, the text contains no refused word.
func mayContain(text []byte) bool {
	lower := bytes.ToLower(text)
	return slices.ContainsFunc(joinedWords, func(word []byte) bool { return bytes.Contains(lower, word) })
}

// checkWords checks that a file's path and text contain no refused word, neither in identifiers nor in comments, literals and
// prose.
func (r *Report) checkWords(root, name string) error {
	if slices.Contains(wordFiles, name) || path.Base(name) == "go.sum" {
		return nil
	}
	for _, word := range findRefused(name) {
		r.addBreach("words", name, "%q in the path: say %s", word, refusedWords[word])
	}
	fullPath := filepath.Join(root, filepath.FromSlash(name))
	if stat, err := os.Stat(fullPath); err != nil || stat.Size() > maxTextBytes {
		return err
	}
	content, err := os.ReadFile(fullPath)
	if err != nil || bytes.IndexByte(content, 0) >= 0 || !mayContain(content) {
		return err
	}
	lineNumber := 0
	for line := range bytes.Lines(content) {
		lineNumber++
		if !mayContain(line) {
			continue
		}
		for _, word := range findRefused(string(line)) {
			r.addBreach("words", fmt.Sprintf("%s:%d", name, lineNumber), "%q: say %s", word, refusedWords[word])
		}
	}
	return nil
}

// findRefused lists the refused words in a text. A word that occurs twice is listed twice. An identifier such as readBody is
// divided into words at its capitals.
func findRefused(text string) (found []string) {
	for _, letters := range strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) }) {
		parts := splitCamelCase(letters)
		for i, part := range parts {
			if _, isRefused := refusedWords[part]; isRefused {
				found = append(found, part)
			}
			if i == 0 {
				continue
			}
			if pair := parts[i-1] + " " + part; refusedWords[pair] != "" {
				found = append(found, pair)
			}
		}
	}
	return found
}

// splitCamelCase splits an identifier into its words, and returns the words in lower case. For readHTTPBody it returns read,
// http and body.
func splitCamelCase(letters string) (parts []string) {
	runes := []rune(letters)
	start := 0
	for i := 1; i < len(runes); i++ {
		isStart := unicode.IsUpper(runes[i]) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if isStart {
			parts = append(parts, strings.ToLower(string(runes[start:i])))
			start = i
		}
	}
	return append(parts, strings.ToLower(string(runes[start:])))
}
