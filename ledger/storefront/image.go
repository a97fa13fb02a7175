package storefront

import (
	"encoding/hex"
	"slices"
	"strings"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// Image is an uploaded image. The service has encoded it again, without the metadata in the upload.
type Image struct {
	ID        ledger.ID
	Org       ledger.ID
	Format    Format
	Width     int64 // pixels
	Height    int64
	Content   []byte
	Sizes     []SizedImage // smaller copies of the image, for payers' pages
	CreatedAt ledger.Micros

	Base string // scheme and host of the public addresses; set when the image is shown
}

// Format is the file format of an image. The image's name ends with it.
type Format string

// The formats.
const (
	PNG  Format = "png"
	JPEG Format = "jpg"
)

// Bounds of an image. They are chosen so that one record can store the image together with its smaller copies.
const (
	MaxImage = 720 << 10 // bytes of the content
	MaxSide  = 2048      // pixels
)

// Purpose tells where a page shows a smaller copy of an image. The name of the copy ends with its purpose.
type Purpose string

// The purposes.
const (
	ForPage      Purpose = "page"      // the picture on a page, up to 480 CSS pixels wide
	ForLogo      Purpose = "logo"      // the logo at the top of a page, 48 CSS pixels high
	ForThumbnail Purpose = "thumbnail" // the thumbnail of a product, a square of 64 CSS pixels
)

// SizeBounds limits the dimensions and the content of the smaller copy for one purpose.
type SizeBounds struct {
	Purpose       Purpose
	Width, Height int // pixels of the copy: at least two for each CSS pixel of the Purpose
	Bytes         int // bytes of the content
}

// SmallerSizes lists the bounds of the smaller copies, the largest first. A copy that would have at least as many bytes as the
// image itself is not made, provided that the image's content is within SizeBounds.Bytes. Pages then show the image itself.
var SmallerSizes = []SizeBounds{
	{ForPage, 960, 960, 240 << 10},
	{ForLogo, 960, 96, 48 << 10},
	{ForThumbnail, 192, 192, 32 << 10},
}

// SizedImage is a smaller copy of an image.
type SizedImage struct {
	Purpose       Purpose
	Format        Format
	Width, Height int64
	Content       []byte
}

// Images are the columns of uploaded images (specification, "Uploaded image").
var Images = schema.NewType[Image]("image",
	publicColumn("url", "address of the image", func(m *Image) string { return m.Base + ImagePath + m.Name() }),
	schema.Field(schema.DerivedInteger(1, "width", schema.RequiredInStore, schema.ReadOnlyFixed, schema.Help("width in pixels")), func(m *Image) *int64 { return &m.Width }),
	schema.Field(schema.DerivedInteger(2, "height", schema.RequiredInStore, schema.ReadOnlyFixed, schema.Help("height in pixels")), func(m *Image) *int64 { return &m.Height }),
	schema.TextField(schema.Word(3, "format", []string{string(PNG), string(JPEG)}, schema.NotShown, schema.RequiredInStore), func(m *Image) *Format { return &m.Format }),
	schema.Field(schema.NewTypedColumn[[]byte](4, "content", schema.KindObject, []schema.Option{schema.NotShown, schema.RequiredInStore}), func(m *Image) *[]byte { return &m.Content }),
	schema.Field(schema.Entries(5, "forms", sizedImages, schema.NotShown), func(m *Image) *[]SizedImage { return &m.Sizes }),
).Invariant(func(m *Image) string {
	if m.Width < 1 || m.Height < 1 || m.Width > MaxSide || m.Height > MaxSide || len(m.Content) > MaxImage {
		return "is out of bounds"
	}
	for i := range m.Sizes {
		if !m.isValidCopy(&m.Sizes[i]) || slices.ContainsFunc(m.Sizes[:i], func(f SizedImage) bool { return f.Purpose == m.Sizes[i].Purpose }) {
			return "has a form out of bounds"
		}
	}
	return ""
}).WithRowMetadata(func(m *Image, metadata schema.RowMetadata) {
	m.Org, m.ID, m.CreatedAt = metadata.Org, metadata.ID, metadata.CreatedAt
})

var sizedImages = schema.NewType[SizedImage]("form",
	schema.TextField(schema.Word(1, "purpose", []string{string(ForPage), string(ForLogo), string(ForThumbnail)}, schema.NotShown, schema.RequiredInStore), func(f *SizedImage) *Purpose { return &f.Purpose }),
	schema.TextField(schema.Word(2, "format", []string{string(PNG), string(JPEG)}, schema.NotShown, schema.RequiredInStore), func(f *SizedImage) *Format { return &f.Format }),
	schema.Field(schema.DerivedInteger(3, "width", schema.NotShown, schema.RequiredInStore), func(f *SizedImage) *int64 { return &f.Width }),
	schema.Field(schema.DerivedInteger(4, "height", schema.NotShown, schema.RequiredInStore), func(f *SizedImage) *int64 { return &f.Height }),
	schema.Field(schema.NewTypedColumn[[]byte](5, "content", schema.KindObject, []schema.Option{schema.NotShown, schema.RequiredInStore}), func(f *SizedImage) *[]byte { return &f.Content }),
)

// isValidCopy tells whether f is a valid smaller copy of the image. The copy must be within the bounds of its purpose, and
// neither wider nor higher than the image. Its content must be shorter than the image's content, unless the image's content
// exceeds SizeBounds.Bytes.
func (i *Image) isValidCopy(f *SizedImage) bool {
	for _, b := range SmallerSizes {
		if b.Purpose == f.Purpose {
			return f.Width >= 1 && f.Height >= 1 && f.Width <= min(int64(b.Width), i.Width) && f.Height <= min(int64(b.Height), i.Height) &&
				len(f.Content) <= b.Bytes && (len(f.Content) < len(i.Content) || len(i.Content) > b.Bytes)
		}
	}
	return false
}

// SizedFor returns the smaller copy of the image for a purpose, or the image itself if there is no such copy.
func (i *Image) SizedFor(purpose Purpose) SizedImage {
	for _, f := range i.Sizes {
		if f.Purpose == purpose {
			return f
		}
	}
	return SizedImage{purpose, i.Format, i.Width, i.Height, i.Content}
}

// Name returns the last part of the image's address.
func (i *Image) Name() string { return hex.EncodeToString(i.ID[:]) + "." + string(i.Format) }

// SizedImageName returns the name of the image's smaller copy for a purpose, which is the last part of the copy's address. The
// argument name is the image's own name. The result does not contain the copy's format, which is known only from the record.
func SizedImageName(name string, purpose Purpose) string {
	digits, _, _ := strings.Cut(name, ".")
	return digits + "-" + string(purpose)
}

// ParseSizedImageName parses a name that SizedImageName made. It returns the id of the image and the purpose of the copy.
func ParseSizedImageName(name string) (id ledger.ID, purpose Purpose, ok bool) {
	digits, suffix, _ := strings.Cut(name, "-")
	purpose = Purpose(suffix)
	if !slices.ContainsFunc(SmallerSizes, func(b SizeBounds) bool { return b.Purpose == purpose }) {
		return id, purpose, false
	}
	id, ok = parseDigits(digits)
	return id, purpose, ok
}

// ParseName parses a name that Image.Name made. It returns the id and the format of the image.
func ParseName(name string) (id ledger.ID, format Format, ok bool) {
	digits, suffix, _ := strings.Cut(name, ".")
	format = Format(suffix)
	if format != PNG && format != JPEG {
		return id, format, false
	}
	id, ok = parseDigits(digits)
	return id, format, ok
}

func parseDigits(digits string) (id ledger.ID, ok bool) {
	if len(digits) != 2*len(id) || strings.ToLower(digits) != digits {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(digits))
	return id, err == nil
}

// NewImage returns a new image and the event that creates it.
func NewImage(draft Image) (*Image, ledger.Event) {
	return &draft, directory.CreatedEvent(ledger.Image, draft.ID, true)
}
