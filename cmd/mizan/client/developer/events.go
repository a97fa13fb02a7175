package developer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxEvent is the maximum length of a stream's line in bytes. A notification's body has at most a few hundred KiB.
const maxEvent = 8 << 20

// eventReader reads server-sent events (HTML standard, section 9.2). It supports only the part of the format that the server
// uses: an event has one line of data.
type eventReader struct{ lines *bufio.Scanner }

func newEventReader(r io.Reader) *eventReader {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxEvent)
	return &eventReader{lines}
}

// next returns the next event. It skips comments, which the server sends while nothing happens. The caller may keep the data.
func (e *eventReader) next() (name string, data []byte, err error) {
	for e.lines.Scan() {
		line := e.lines.Bytes()
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			data = bytes.Clone(value)
		case "":
			if len(line) == 0 && name != "" {
				return name, data, nil
			}
		}
	}
	if err := e.lines.Err(); err != nil {
		return "", nil, err
	}
	return "", nil, errors.New("the server has ended it")
}
