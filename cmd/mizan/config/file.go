package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"mizan/cmd/mizan/cli"
)

// maxConfigFile bounds the configuration file.
const maxConfigFile = 1 << 20

// badKey is a wrong key of the file, with a description of the error.
type badKey struct{ key, text string }

// readConfigFile reads a flat JSON object, whose names are those of flags (with '-' or '_') and whose values are
// strings, numbers, booleans, or lists of strings. It returns each value as the text that its flag would have. For a
// file that can't be read, or is not one object, it returns only err, because the keys are unknown.
func readConfigFile(path string) (values map[string]string, badKeys []badKey, err error) {
	content, err := cli.ReadFile(path, maxConfigFile)
	if err != nil {
		return nil, nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	values = make(map[string]string)
	seen := make(map[string]bool)
	malformed := func(err error) (map[string]string, []badKey, error) {
		return nil, nil, fmt.Errorf("%s is not one JSON object: %w", path, err)
	}
	if firstToken, err := decoder.Token(); err != nil || firstToken != json.Delim('{') {
		return malformed(errors.New("it has to start with {"))
	}
	for decoder.More() {
		// The tokens are read one by one, because a map would silently take the last of two equal
		// keys.
		name, err := decoder.Token()
		if err != nil {
			return malformed(err)
		}
		var value any
		if err := decoder.Decode(&value); err != nil {
			return malformed(err)
		}
		key := strings.ReplaceAll(name.(string), "_", "-")
		text, ok := flagText(value)
		switch {
		case seen[key]:
			badKeys = append(badKeys, badKey{key, "given twice in " + path})
		case !ok:
			badKeys = append(badKeys, badKey{key, "has to be a string, a number, a boolean or a list of strings in " + path})
		default:
			values[key] = text
		}
		seen[key] = true
	}
	if _, err := decoder.Token(); err != nil {
		return malformed(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return malformed(errors.New("something follows the object"))
	}
	return values, badKeys, nil
}

// flagText converts a JSON value to the text that a flag would have.
func flagText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return fmt.Sprint(v), true
	case []any:
		texts := make([]string, len(v))
		for i, element := range v {
			text, ok := element.(string)
			if !ok {
				return "", false
			}
			texts[i] = text
		}
		return strings.Join(texts, ","), true
	}
	return "", false
}
