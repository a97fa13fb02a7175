package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"mizan/cmd/mizan/cli"
)

// maxConfigFile is the maximum size of the configuration file in bytes.
const maxConfigFile = 1 << 20

// fileEntry is one key of the configuration file and its value.
type fileEntry struct {
	key    string // written like the flag's name, with '-' between the words
	text   string // the value, written as on the command line
	isText bool   // false: the value has a type that no flag accepts, such as an object
	line   int    // line number in the file, from 1
}

// readConfigFile reads the keys and values of a configuration file. A file whose name ends in .toml is a TOML file without
// tables; any other file is one JSON object without inner objects. Keys are named like flags, with '-' or '_' between the
// words. The values are strings, numbers, booleans, or lists of strings. If any part of the file can't be parsed,
// readConfigFile returns only an error.
func readConfigFile(path string) ([]fileEntry, error) {
	content, err := cli.ReadFile(path, maxConfigFile)
	if err != nil {
		return nil, err
	}
	form, read := "one JSON object", readJSON
	if filepath.Ext(path) == ".toml" {
		form, read = "flat TOML", readTOML
	}
	entries, err := read(content)
	if err != nil {
		return nil, fmt.Errorf("%s is not %s: %w", path, form, err)
	}
	return entries, nil
}

// flagName returns the name of the flag that corresponds to a key of the configuration file.
func flagName(key string) string { return strings.ReplaceAll(key, "_", "-") }

// readJSON reads a JSON object that contains no other objects.
func readJSON(content []byte) ([]fileEntry, error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	if firstToken, err := decoder.Token(); err != nil || firstToken != json.Delim('{') {
		return nil, errors.New("it has to start with {")
	}
	var entries []fileEntry
	for decoder.More() {
		// The tokens are read one by one, because decoding into a map would silently keep only the last of two equal keys.
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		line := 1 + bytes.Count(content[:decoder.InputOffset()], []byte("\n"))
		var value any
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		text, ok := jsonText(value)
		entries = append(entries, fileEntry{key: flagName(name.(string)), text: text, isText: ok, line: line})
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return entries, nil
}

// jsonText converts a JSON value to the text that would set a flag to this value. If there is no such text, it returns false.
func jsonText(value any) (string, bool) {
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
