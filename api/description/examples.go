package description

import (
	_ "embed"
	"strconv"
	"sync"

	"mizan/api/description/spec"
	"mizan/internal/assert"
)

// examplesFile has the requests of the examples as they were sent, and their responses. A test of package api writes it.
//
//go:embed examples.json
var examplesFile []byte

// RecordedExample is an example as it was sent to a server, with the server's response.
type RecordedExample struct {
	As, Method, Path string // As is the caller; the path includes the query
	Request          any    // the body as values of a Tree, or a string if it is not JSON; nil: none
	Status           int
	Response         any // the body as values of a Tree; nil: none, or not JSON
}

// recordedExamples are the examples by their names.
var recordedExamples = sync.OnceValue(func() map[string]*RecordedExample {
	document, err := ParseJSON(examplesFile)
	assert.NoError(err)
	found := make(map[string]*RecordedExample)
	for _, example := range document.(Tree) {
		members := example.Value.(Tree)
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

// ExampleName is the name of an operation's example in examples.json.
func ExampleName(o *spec.Operation, e *spec.Example) string {
	if e.Name == "" {
		return o.ID
	}
	return o.ID + "/" + e.Name
}

// Recorded returns an example with its response; nil if it has not been recorded yet.
func Recorded(o *spec.Operation, e *spec.Example) *RecordedExample {
	return recordedExamples()[ExampleName(o, e)]
}
