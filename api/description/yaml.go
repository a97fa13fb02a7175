package description

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"mizan/ledger/schema"
)

// AppendYAML appends an Object, or a value that an Object can contain, as YAML 1.2 in block style. If YAML could read a text as
// another type, the text is quoted as in JSON, which is valid YAML.
func AppendYAML(dst []byte, value any) []byte { return appendYAML(dst, value, 0, false) }

// appendYAML appends a value with an indentation of depth levels. If inLine is true, the first line has already begun.
func appendYAML(dst []byte, value any, depth int, inLine bool) []byte {
	switch v := value.(type) {
	case Object:
		if len(v) == 0 {
			return append(dst, "{}\n"...)
		}
		for i, branch := range v {
			if i > 0 || !inLine {
				dst = append(dst, strings.Repeat("  ", depth)...)
			}
			dst = append(appendScalar(dst, branch.Name), ':')
			dst = appendAfterColon(dst, branch.Value, depth)
		}
		return dst
	case []string:
		return appendYAML(dst, anyOf(v), depth, inLine)
	case []any:
		if len(v) == 0 {
			return append(dst, "[]\n"...)
		}
		for i, entry := range v {
			if i > 0 || !inLine {
				dst = append(dst, strings.Repeat("  ", depth)...)
			}
			dst = appendYAML(append(dst, "- "...), entry, depth+1, true)
		}
		return dst
	case string:
		if isBlock(v) {
			return appendBlock(dst, v, depth)
		}
		return append(appendScalar(dst, v), '\n')
	}
	return append(AppendJSON(dst, value), '\n')
}

// appendAfterColon appends the value of a member. A non-empty object or list begins on the next line, and any other value is on
// the same line.
func appendAfterColon(dst []byte, value any, depth int) []byte {
	isNested := false
	switch v := value.(type) {
	case Object:
		isNested = len(v) > 0
	case []any:
		isNested = len(v) > 0
	case []string:
		isNested = len(v) > 0
	}
	if isNested {
		return appendYAML(append(dst, '\n'), value, depth+1, false)
	}
	return appendYAML(append(dst, ' '), value, depth+1, true)
}

var plain = regexp.MustCompile(`^[A-Za-z/_$][A-Za-z0-9 _./$-]*$`)

// appendScalar appends a text on one line. If YAML can read the text only as a text, it is not quoted. Otherwise it is quoted
// as in JSON.
func appendScalar(dst []byte, text string) []byte {
	words := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}
	if plain.MatchString(text) && !strings.HasSuffix(text, " ") && !slices.Contains(words, strings.ToLower(text)) {
		return append(dst, text...)
	}
	return schema.AppendText(dst, text)
}

// isBlock tells whether a text can be written as a literal block of YAML. The text must have several lines with only printable
// characters, must not begin with a space or a line feed, and must not end with a line feed.
func isBlock(text string) bool {
	return strings.Contains(text, "\n") && !strings.HasSuffix(text, "\n") && text[0] != ' ' && text[0] != '\n' &&
		!strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
}

func appendBlock(dst []byte, text string, depth int) []byte {
	dst = append(dst, "|-\n"...)
	for line := range bytes.Lines([]byte(text)) {
		if len(bytes.TrimSpace(line)) > 0 {
			dst = append(dst, strings.Repeat("  ", max(depth, 1))...)
		}
		dst = append(dst, line...)
	}
	return append(dst, '\n')
}
