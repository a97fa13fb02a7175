package descriptiontest

import (
	"bytes"
	"io"
	"mime"
	"net/http"
)

// Transport sends requests, and checks each request and its response against the description of the API. If the request or the
// response differs from the description, RoundTrip returns an error.
type Transport struct {
	Base    http.RoundTripper
	Checker func() *Checker // must not be nil; if it returns nil, nothing is checked
}

// RoundTrip implements http.RoundTripper. It reads the body of a response only if the body is JSON, so that the caller can
// still read a stream.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	checker := t.Checker()
	if checker == nil {
		return t.Base.RoundTrip(request)
	}
	x := &Exchange{Method: request.Method, Path: request.URL.RequestURI(), RequestHeader: request.Header.Clone()}
	if request.Body != nil && request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		x.RequestBody, _ = io.ReadAll(body)
	}
	response, err := t.Base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	x.Status, x.ResponseHeader = response.StatusCode, response.Header
	if media, _, _ := mime.ParseMediaType(response.Header.Get("content-type")); media == "application/json" && request.Method != http.MethodHead {
		content, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			return nil, err
		}
		x.ResponseBody, response.Body = content, io.NopCloser(bytes.NewReader(content))
	}
	if err := checker.Check(x); err != nil {
		return nil, err
	}
	return response, nil
}
