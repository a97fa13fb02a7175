package postman

import (
	"bytes"
	"encoding/json"

	"mizan/api/description"
	"mizan/internal/assert"
)

// indented returns the JSON of a value over several lines, for people.
func indented(value any, indent string) string {
	var b bytes.Buffer
	assert.NoError(json.Indent(&b, description.AppendJSON(nil, value), "", indent))
	return b.String()
}
