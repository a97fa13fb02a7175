package postman

import (
	"bytes"
	"encoding/json"

	"mizan/api/description"
	"mizan/internal/assert"
)

// indented returns a value as indented JSON, which people can read.
func indented(value any, indent string) string {
	var b bytes.Buffer
	assert.NoError(json.Indent(&b, description.AppendJSON(nil, value), "", indent))
	return b.String()
}
