package storefront

import (
	"errors"
	"testing"

	"github.com/valyala/fasthttp"

	"mizan/api/auth"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/storefront"
	"mizan/posting"
)

// isRefused tells whether an upload of the organization is refused because there are too many concurrent uploads.
func isRefused(h *Handlers, org ledger.ID) bool {
	req := &web.Request{RequestCtx: new(fasthttp.RequestCtx), Principal: auth.Principal{Org: org, Partner: new(directory.Partner)}}
	var refusal *ledger.Refusal
	return errors.As(h.createImage(req), &refusal) && refusal.Code == ledger.Unavailable
}

// While the maximum number of images is being uploaded, a further request is refused before its file is read.
// api.TestHostileUploadsAreRefused uploads many images to one server and so tests that a request frees its place.
func TestImagesUploadedAtOnceAreBounded(t *testing.T) {
	h := New(Config{})
	for i := range 4 {
		if h.uploadSlots.Enter(ledger.ID{byte(i)}) != nil {
			t.Fatalf("upload %d of as many organizations is refused", i+1)
		}
	}
	if !isRefused(h, ledger.ID{9}) {
		t.Error("a fifth upload is not refused")
	}
	h.uploadSlots.Leave(ledger.ID{0})
	if h.uploadSlots.Enter(ledger.ID{9}) != nil {
		t.Error("the place of an upload that has ended is not free")
	}
}

// An image and its smaller forms are stored in one record, whose size is bounded.
func TestImageFitsIntoARecord(t *testing.T) {
	const overhead = 1 << 10 // bytes of the stored names of columns and of lengths
	largest := storefront.MaxImage + overhead
	for _, b := range storefront.SmallerSizes {
		largest += b.Bytes + overhead
	}
	if largest > posting.MaxRecord {
		t.Errorf("an image can have %d bytes, and a record %d", largest, posting.MaxRecord)
	}
}

func TestOneOrganizationLeavesPlacesForUploads(t *testing.T) {
	h, first, second := New(Config{}), ledger.ID{1}, ledger.ID{2}
	for range 2 {
		if h.uploadSlots.Enter(first) != nil {
			t.Fatal("an upload is refused")
		}
	}
	if !isRefused(h, first) {
		t.Error("a third upload of one organization is not refused")
	}
	for range 2 {
		if h.uploadSlots.Enter(second) != nil {
			t.Error("the first organization keeps the second out")
		}
	}
	for range 2 {
		h.uploadSlots.Leave(first)
		h.uploadSlots.Leave(second)
	}
	for i := range maxUploads { // all places are free again
		if h.uploadSlots.Enter(ledger.ID{byte(i)}) != nil {
			t.Error("a place was not given back")
		}
	}
}
