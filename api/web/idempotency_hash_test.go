package web

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/valyala/fasthttp"
)

func requestOf(method, path, body string) *Request {
	ctx := new(fasthttp.RequestCtx)
	ctx.Request.Header.SetMethod(method)
	ctx.Request.SetRequestURI(path)
	ctx.Request.SetBodyString(body)
	return &Request{RequestCtx: ctx}
}

func TestRequestHashDependsOnMethodPathAndBody(t *testing.T) {
	k := IdempotencyKeys{Fingerprint: func(b []byte) string { return fmt.Sprintf("%x", b) }}
	seen := map[[sha256.Size]byte]string{}
	for _, r := range [][3]string{
		{"POST", "/a", "body"}, {"PUT", "/a", "body"}, {"POST", "/b", "body"}, {"POST", "/a", "body "}, {"POST", "/ab", "ody"}, {"POST", "/a", ""}, {"POST", "/abody", ""},
	} {
		h := k.hash(requestOf(r[0], r[1], r[2]))
		if other, there := seen[h]; there {
			t.Errorf("%v and %s have one hash", r, other)
		}
		seen[h] = fmt.Sprint(r)
		if again := k.hash(requestOf(r[0], r[1], r[2])); again != h {
			t.Errorf("%v has two hashes", r)
		}
	}
}

// A reader of the store must not be able to find a card's digits by trying all values.
func TestRequestHashIsKeyed(t *testing.T) {
	r := requestOf("POST", "/a", `{"cvv":"123"}`)
	keys := IdempotencyKeys{Fingerprint: func(b []byte) string { return fmt.Sprintf("1%x", b) }}
	otherKeys := IdempotencyKeys{Fingerprint: func(b []byte) string { return fmt.Sprintf("2%x", b) }}
	if keys.hash(r) == otherKeys.hash(r) {
		t.Error("the hash is the same under another key")
	}
}
