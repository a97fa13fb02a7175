package mizan

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
)

// maxResponse is the maximum length of a response in bytes. A page of 100 transactions with the largest merchant_meta is
// shorter.
const maxResponse = 32 << 20

// maxKey is the maximum length of an Idempotency-Key.
const maxKey = 255

// errLongResponse is the error if a response is longer than maxResponse. The request is not repeated, because the next response
// would be as long.
var errLongResponse = fmt.Errorf("the response has more than %d bytes", maxResponse)

// call describes a call of an operation of the API.
type call struct {
	method   string
	path     string   // the path, with names of parameters in braces
	segments []string // values of the path's parameters, in the order of the path
	query    url.Values
	body     any    // nil: none
	envelope string // name of the body's only member, which contains the value; empty: the value is the whole body

	fileField string // if not empty, the body is a form with a file in this field
	file      []byte

	isKeyed bool // the request gets an Idempotency-Key
	inData  bool // the result is the response's member "data"
}

// prepared is a request that is sent unchanged in every attempt.
type prepared struct {
	method, path, address string
	header                http.Header
	body                  []byte
	isSafeToRepeat        bool
}

// single makes a call whose result is a single value, and returns the result.
func single[T any](ctx context.Context, c *Client, o *call, options []Option) (*T, error) {
	content, info, err := c.do(ctx, o, options)
	if err != nil {
		return nil, err
	}
	result := new(T)
	var into any = result
	if o.inData {
		into = &struct {
			Data *T `json:"data"`
		}{result}
	}
	if err := json.Unmarshal(content, into); err != nil {
		// A proxy may have sent this response instead of the service.
		err = fmt.Errorf("the response with status %d cannot be read: %w", info.Status, err)
		return nil, &NoResponseError{Method: o.method, Path: o.path, IdempotencyKey: info.IdempotencyKey, Attempts: info.Attempts, Err: err}
	}
	return result, nil
}

// several makes a call whose result is a list, and returns the list.
func several[T any](ctx context.Context, c *Client, o *call, options []Option) ([]T, error) {
	list, err := single[[]T](ctx, c, o, options)
	if err != nil {
		return nil, err
	}
	return *list, nil
}

// nothing makes a call that has no result.
func nothing(ctx context.Context, c *Client, o *call, options []Option) error {
	_, _, err := c.do(ctx, o, options)
	return err
}

// do makes a call. It returns the response's body, and what the response's headers say.
func (c *Client) do(ctx context.Context, o *call, options []Option) ([]byte, *ResponseInfo, error) {
	var settings callOptions
	for _, option := range options {
		option(&settings)
	}
	p, err := c.prepare(o, settings.key)
	if err != nil {
		return nil, nil, fmt.Errorf("mizan: %s %s: %w", o.method, o.path, err)
	}
	if settings.info == nil {
		settings.info = new(ResponseInfo)
	}
	content, err := c.send(ctx, p, settings.info)
	return content, settings.info, err
}

// prepare encodes a request once for all attempts, because the service refuses a repetition that has other bytes.
func (c *Client) prepare(o *call, key string) (*prepared, error) {
	path, err := filledPath(o.path, o.segments)
	if err != nil {
		return nil, err
	}
	p := &prepared{method: o.method, path: path, address: c.base + path, isSafeToRepeat: o.method == http.MethodGet || o.isKeyed}
	if len(o.query) > 0 {
		p.address += "?" + encoded(o.query)
	}
	p.header = http.Header{
		"X-Api-Key": {c.key}, "X-Organization-Id": {c.organizationID}, "Accept": {"application/json"}, "User-Agent": {"mizan-go"},
	}
	if o.isKeyed {
		if key == "" {
			key = rand.Text()
		}
		if len(key) > maxKey || !isPrintable(key) {
			return nil, fmt.Errorf("an Idempotency-Key has 1 to %d printable ASCII characters", maxKey)
		}
		p.header.Set("Idempotency-Key", key)
	}
	switch {
	case o.fileField != "":
		var form bytes.Buffer
		writer := multipart.NewWriter(&form)
		part, _ := writer.CreateFormFile(o.fileField, o.fileField) // writing to a buffer never fails
		_, _ = part.Write(o.file)
		_ = writer.Close()
		p.body = form.Bytes()
		p.header.Set("Content-Type", writer.FormDataContentType())
	case o.body != nil:
		body := o.body
		if o.envelope != "" {
			body = map[string]any{o.envelope: o.body}
		}
		if p.body, err = json.Marshal(body); err != nil {
			return nil, err
		}
		p.header.Set("Content-Type", "application/json")
	}
	return p, nil
}

// filledPath replaces the parameters of a path by their values. It refuses an empty value, because the result would be the path
// of another operation.
func filledPath(path string, segments []string) (string, error) {
	for _, segment := range segments {
		before, rest, _ := strings.Cut(path, "{")
		name, after, _ := strings.Cut(rest, "}")
		if segment == "" || segment == "." || segment == ".." {
			return "", fmt.Errorf("%s is %q", name, segment)
		}
		path = before + url.PathEscape(segment) + after
	}
	return path, nil
}

// isPrintable tells whether a value may be sent in a header. If it may not, net/http returns an error, which would look as if
// no response had arrived, so callers check values first.
func isPrintable(value string) bool {
	return strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// encoded encodes a query. A space is written as %20, because the service does not decode a plus sign as a space.
func encoded(query url.Values) string { return strings.ReplaceAll(query.Encode(), "+", "%20") }

// attempt sends a request once. If no complete response arrives, it returns an error that says why.
func (c *Client) attempt(ctx context.Context, p *prepared) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, p.method, p.address, bytes.NewReader(p.body))
	if err != nil {
		return nil, nil, err
	}
	request.Header = p.header.Clone()
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err == nil && len(content) > maxResponse {
		err = errLongResponse
	}
	return response, content, err
}
