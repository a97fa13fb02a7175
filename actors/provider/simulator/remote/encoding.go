package remote

import (
	"bytes"
	"strconv"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/internal/msgpackcheck"
)

// buffer is an io.Writer that collects bytes in memory. It overwrites memory before it gives the memory up, because the bytes
// may contain a card.
type buffer struct{ content []byte }

const minBuffer = 1 << 10 // bytes

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.grow(len(p))
	b.content = append(b.content, p...)
	return len(p), nil
}

// WriteByte implements io.ByteWriter, so that the encoder needs no buffer of its own.
func (b *buffer) WriteByte(c byte) error {
	b.grow(1)
	b.content = append(b.content, c)
	return nil
}

func (b *buffer) grow(n int) {
	if len(b.content)+n <= cap(b.content) {
		return
	}
	larger := make([]byte, len(b.content), max(minBuffer, 2*cap(b.content), len(b.content)+n))
	copy(larger, b.content)
	clear(b.content)
	b.content = larger
}

// maxKept is the capacity in bytes above which wipe does not keep the memory for the next message.
const maxKept = 64 << 10

// wipe overwrites the content and empties the buffer.
func (b *buffer) wipe() {
	clear(b.content)
	if b.content = b.content[:0]; cap(b.content) > maxKept {
		b.content = nil
	}
}

// lengthDigits is the number of digits in which a request's header has the length of the body. The length is known only after
// the body was encoded behind the header, so it has leading zeros.
const lengthDigits = 8

// requestHead returns the first bytes of the requests to a path, up to the digits of the body's length.
func requestHead(host, path string) []byte {
	return []byte("POST " + path + " HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: " + contentType + "\r\nContent-Length: ")
}

const headEnd = "\r\n\r\n"

// writeRequest writes the head and the body of a request. It returns false if the body is too long.
func writeRequest(b *buffer, encoder *msgpack.Encoder, head []byte, message any) (ok bool) {
	_, _ = b.Write(head) // a buffer never returns an error
	digitsAt := len(b.content)
	_, _ = b.Write([]byte("00000000" + headEnd))
	bodyAt := len(b.content)
	encoder.Reset(b)
	if err := encoder.Encode(message); err != nil || len(b.content)-bodyAt > maxRequest {
		return false
	}
	digits := strconv.AppendInt(make([]byte, 0, lengthDigits), int64(len(b.content)-bodyAt), 10)
	copy(b.content[digitsAt+lengthDigits-len(digits):], digits)
	return true
}

// decode decodes a body that has one message. Nothing of the message shares the memory of the body.
func decode(decoder *msgpack.Decoder, body []byte, message any) error {
	if !msgpackcheck.WellFormed(body) {
		return errMessage
	}
	decoder.Reset(bytes.NewReader(body))
	return decoder.Decode(message)
}
