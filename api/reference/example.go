package reference

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"mizan/api/description"
	"mizan/api/description/spec"
	"mizan/internal/assert"
)

// exampleView is an example request on a page: a command that sends the request, and the response.
type exampleView struct {
	Title, Command, Status, Response string
}

func newExampleView(o *description.DescribedOperation, e *spec.Example, recorded *description.RecordedExample) exampleView {
	v := exampleView{Title: e.Text, Command: command(o, recorded), Status: strconv.Itoa(recorded.Status) + " " + http.StatusText(recorded.Status)}
	if recorded.Response != nil {
		v.Response = indented(recorded.Response)
	}
	return v
}

// command returns the example request as a curl command, with shell variables in place of keys and
// tokens.
func command(o *description.DescribedOperation, e *description.RecordedExample) string {
	lines := []string{"curl -sS"}
	if e.Method != http.MethodGet {
		lines[0] += " -X " + e.Method
	}
	lines[0] += " " + quoted(`$BASE_URL`+e.Path)
	for _, header := range credentials(o, e.As) {
		lines = append(lines, "  -H "+header)
	}
	if e.Request != nil {
		body := string(description.AppendJSON(nil, e.Request))
		if len(body) > maxLine {
			body = indented(e.Request)
		}
		lines = append(lines, "  -H 'content-type: application/json'", "  -d '"+strings.ReplaceAll(body, "'", `'\''`)+"'")
	}
	return strings.Join(lines, " \\\n")
}

// maxLine is a length in bytes. If the body of a request is longer, it is written as several lines.
const maxLine = 60

// quoted returns the text in double quotes, between which the shell replaces variables.
func quoted(text string) string { return `"` + text + `"` }

// credentials returns the headers with the credentials of an example's caller.
func credentials(o *description.DescribedOperation, as string) []string {
	organization := quoted("x-organization-id: $ORGANIZATION_ID")
	switch {
	case len(o.Callers) == 0 && as == "":
		return nil
	case as == "partner":
		return []string{quoted("x-api-key: $API_KEY"), organization}
	case as == "admin":
		return []string{quoted("authorization: Bearer $ADMIN_TOKEN"), organization}
	case as == "organization":
		return []string{organization}
	}
	return []string{quoted("authorization: Bearer $SESSION_TOKEN"), organization}
}

// indented returns a value as indented JSON.
func indented(value any) string {
	var out bytes.Buffer
	assert.NoError(json.Indent(&out, description.AppendJSON(nil, value), "", "  "))
	return out.String()
}
