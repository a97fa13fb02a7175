package api_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/api"
)

func TestRequestWithoutTLSIsToldToUseTLS(t *testing.T) {
	t.Parallel()
	reader := bufio.NewReader(bytes.NewReader(api.PlainHTTPResponse(api.Config{})))
	response, err := http.ReadResponse(reader, nil)
	must(t, err)
	body, err := io.ReadAll(response.Body)
	must(t, err)
	if response.StatusCode != 400 || !response.Close || !strings.HasPrefix(string(body), `{"error":"bad_request","message":"this port serves HTTPS only: `) {
		t.Errorf("%d, close %v, %s", response.StatusCode, response.Close, body)
	}
	if _, err := uuid.Parse(response.Header.Get("x-request-id")); err != nil {
		t.Errorf("x-request-id: %v", err)
	}
	if response.Header.Get("strict-transport-security") != "" || response.Header.Get("server") != "" {
		t.Errorf("headers: %v", response.Header)
	}
	if reader.Buffered() > 0 {
		t.Error("something follows the response")
	}
}
