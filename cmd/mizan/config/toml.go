package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// readTOML reads a TOML file without tables. It uses go-toml's package unstable, because only that package provides the line
// numbers of keys. The stable functions of go-toml use the same parser.
func readTOML(content []byte) ([]fileEntry, error) {
	var parser unstable.Parser
	parser.Reset(slices.Clip(content))
	var entries []fileEntry
	for parser.NextExpression() {
		expression := parser.Expression()
		if expression.Kind != unstable.KeyValue {
			return nil, fmt.Errorf("%s begins a table", lineOf(&parser, expression.Child()))
		}
		entry := fileEntry{}
		var parts []string
		for key := expression.Key(); key.Next(); {
			parts = append(parts, string(key.Node().Data))
			entry.line = parser.Shape(key.Node().Raw).Start.Line
		}
		entry.key = flagName(strings.Join(parts, "."))
		entry.text, entry.isText = tomlText(expression.Value())
		entries = append(entries, entry)
	}
	if err := parser.Error(); err != nil {
		return nil, atLine(&parser, err)
	}
	return entries, nil
}

// lineOf returns the text "line N" for a parsed node, to be used in an error.
func lineOf(parser *unstable.Parser, node *unstable.Node) string {
	return fmt.Sprintf("line %d", parser.Shape(node.Raw).Start.Line)
}

// atLine adds the line number to an error of the parser.
func atLine(parser *unstable.Parser, err error) error {
	var bad *unstable.ParserError
	if !errors.As(err, &bad) || len(bad.Highlight) == 0 {
		return err
	}
	return fmt.Errorf("line %d: %w", parser.Shape(parser.Range(bad.Highlight)).Start.Line, err)
}

// tomlText converts a TOML value to the text that would set a flag to this value. If there is no such text, it returns false.
func tomlText(value *unstable.Node) (string, bool) {
	switch value.Kind {
	case unstable.String, unstable.Bool:
		return string(value.Data), true
	case unstable.Integer, unstable.Float:
		return strings.ReplaceAll(string(value.Data), "_", ""), true
	case unstable.Array:
		var texts []string
		for elements := value.Children(); elements.Next(); {
			if elements.Node().Kind != unstable.String {
				return "", false
			}
			texts = append(texts, string(elements.Node().Data))
		}
		return strings.Join(texts, ","), true
	}
	return "", false
}
