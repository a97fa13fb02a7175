package description

import (
	_ "embed"
	"strconv"
	"sync"

	"mizan/api/description/spec"
	"mizan/internal/assert"
)

// examplesFile has the examples' requests as they were sent, and the responses. A test of package api writes the file.
//
//go:embed examples.json
var examplesFile []byte

// RecordedExample is an example's request as it was sent to a server, and the server's response.
type RecordedExample struct {
	As, Method, Path string // As is the caller; the path includes the query
	Request          any    // the body: JSON as a value of an Object, anything else as a string; nil if there is no body
	Status           int
	Response         any // the body as a value of an Object; nil if there is none, or if it is not JSON
}

// recordedExamples returns the recorded examples by name; see ExampleName.
var recordedExamples = sync.OnceValue(func() map[string]*RecordedExample {
	document, err := ParseJSON(examplesFile)
	assert.NoError(err)
	found := make(map[string]*RecordedExample)
	for _, example := range document.(Object) {
		members := example.Value.(Object)
		text := func(name string) string {
			value, _ := members.Get(name).(string)
			return value
		}
		status, _ := members.Get("status").(Number)
		code, err := strconv.Atoi(string(status))
		assert.NoError(err)
		found[example.Name] = &RecordedExample{
			As: text("as"), Method: text("method"), Path: text("path"), Request: members.Get("request"), Status: code, Response: members.Get("response"),
		}
	}
	return found
})

// ExampleName returns the name that an operation's example has in examples.json.
func ExampleName(o *spec.Operation, e *spec.Example) string {
	if e.Name == "" {
		return o.ID
	}
	return o.ID + "/" + e.Name
}

// Recorded returns the recorded request and response of an example, or nil if the example has not been recorded yet.
func Recorded(o *spec.Operation, e *spec.Example) *RecordedExample {
	return recordedExamples()[ExampleName(o, e)]
}
