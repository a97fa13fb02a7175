package storefront

import (
	"encoding/hex"
	"strings"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// Image is an uploaded image, encoded again without its metadata.
type Image struct {
	ID      ledger.ID
	Org     ledger.ID
	Format  Format
	Width   int64 // pixels
	Height  int64
	Content []byte
	Created ledger.Micros

	Base string // scheme and host of the public addresses; set when the image is shown
}

// Format is the format of an image: the end of its name.
type Format string

// The formats.
const (
	PNG  Format = "png"
	JPEG Format = "jpg"
)

// Bounds of an image.
const (
	MaxImage = 1 << 20 // bytes of the content
	MaxSide  = 2048    // pixels
)

// Images are the columns of uploaded images (specification, "Uploaded image").
var Images = schema.NewType[Image]("image",
	publicColumn("url", "its address", func(m *Image) string { return m.Base + ImagePath + m.Name() }),
	schema.Field(schema.DerivedInteger(1, "width", schema.Needed, schema.Constant, schema.Help("pixels")), func(m *Image) *int64 { return &m.Width }),
	schema.Field(schema.DerivedInteger(2, "height", schema.Needed, schema.Constant, schema.Help("pixels")), func(m *Image) *int64 { return &m.Height }),
	schema.TextField(schema.Word(3, "format", []string{string(PNG), string(JPEG)}, schema.NotShown, schema.Needed), func(m *Image) *Format { return &m.Format }),
	schema.Field(schema.NewCell[[]byte](4, "content", schema.KindObject, []schema.Option{schema.NotShown, schema.Needed}), func(m *Image) *[]byte { return &m.Content }),
).Invariant(func(m *Image) string {
	if m.Width < 1 || m.Height < 1 || m.Width > MaxSide || m.Height > MaxSide || len(m.Content) > MaxImage {
		return "is out of bounds"
	}
	return ""
}).WithEnvelope(func(m *Image, envelope schema.Envelope) {
	m.Org, m.ID, m.Created = envelope.Org, envelope.ID, envelope.Created
})

// Name is the last part of the image's address.
func (m *Image) Name() string { return hex.EncodeToString(m.ID[:]) + "." + string(m.Format) }

// ParseName returns the id and the format in an image's name.
func ParseName(name string) (id ledger.ID, format Format, ok bool) {
	digits, suffix, _ := strings.Cut(name, ".")
	format = Format(suffix)
	if len(digits) != 2*len(id) || strings.ToLower(digits) != digits || format != PNG && format != JPEG {
		return id, format, false
	}
	_, err := hex.Decode(id[:], []byte(digits))
	return id, format, err == nil
}

// NewImage decides the creation of an image.
func NewImage(draft Image) (*Image, ledger.Event) {
	return &draft, directory.CreatedEvent(ledger.Image, draft.ID, true)
}
