package storefront

import (
	"errors"
	"testing"

	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/ledger"
)

// Nothing of a request is read while as many images are being uploaded as may be. That the places become free again is
// tested by api.TestHostileUploadsAreRefused, which uploads many images to one server.
func TestImagesUploadedAtOnceAreBounded(t *testing.T) {
	h := New(Config{})
	for range maxUploads {
		h.uploads <- struct{}{}
	}
	req := &web.Request{RequestCtx: new(fasthttp.RequestCtx)}
	var refusal *ledger.Refusal
	if err := h.createImage(req); !errors.As(err, &refusal) || refusal.Code != ledger.Unavailable {
		t.Errorf("one more upload: %v", err)
	}
	if len(h.uploads) != maxUploads {
		t.Errorf("%d uploads after one that was refused", len(h.uploads))
	}
}
