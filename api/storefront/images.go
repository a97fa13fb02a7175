package storefront

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"

	"github.com/gofiber/fiber/v2"

	"mizan/actors"
	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/internal/picture"
	"mizan/ledger"
	"mizan/ledger/storefront"
)

// Bounds of an upload.
const (
	maxFile  = 5 << 20          // bytes of the file
	maxBody  = maxFile + 64<<10 // bytes of the whole body
	maxParts = 16               // parts of the multipart body, including the file
)

// Bounds of concurrent uploads. Only one picture is decoded at a time. Meanwhile the files of other uploads are in memory.
const (
	maxUploads      = 4
	maxUploadsOfOrg = 2 // lower than maxUploads, so that other organizations can upload, too
)

const imageField = "image"

var errTooManyUploads = ledger.Refuse("storefront.createImage", ledger.Unavailable, "too many images are being uploaded").By(ledger.LimitUploads)

// createImage is POST /images with a file in the field image (specification, "Uploaded image").
func (h *Handlers) createImage(req *web.Request) error {
	reply := records.Reply[*storefront.Image]{Status: fiber.StatusCreated, Append: records.FieldsOf(storefront.Images)}
	c, err := h.caller(req)
	if err != nil {
		return err
	}
	if h.uploadSlots.Enter(c.org) != nil {
		return errTooManyUploads
	}
	defer h.uploadSlots.Leave(c.org)
	var file []byte
	cached := h.cached()
	keyOf := cached.Key
	cached.Key = func(req *web.Request) (actors.Key, error) {
		key, err := keyOf(req)
		if err != nil || key.IsZero() {
			return key, err
		}
		file, err = readFile(req)
		return h.keys.OfContent(req, key, file), err
	}
	return reply.Run(cached, req, func(ctx context.Context) (*storefront.Image, error) {
		if file == nil { // the request has no Idempotency-Key, so the file was not read yet
			var err error
			if file, err = readFile(req); err != nil {
				return nil, err
			}
		}
		p, err := h.pictures.Normalize(ctx, file)
		switch {
		case errors.Is(err, picture.ErrTooManyPixels):
			return nil, ledger.RefuseField("storefront.createImage", imageField, "has more than %d pixels, or needs too much memory to decode", picture.MaxPixels)
		case errors.Is(err, picture.ErrFormat):
			return nil, ledger.RefuseField("storefront.createImage", imageField, "must be a PNG or JPEG image")
		case err != nil:
			return nil, errTooManyUploads
		}
		return h.cfg.Records.CreateImage(ctx, c.org, toImage(&p))
	})
}

// newNormalizer returns the normalizer that re-encodes uploaded images. It also makes copies of an image in the smaller sizes
// that storefront.SmallerSizes lists.
func newNormalizer() *picture.Normalizer {
	var sizes []picture.Bounds
	for _, b := range storefront.SmallerSizes {
		sizes = append(sizes, picture.Bounds{Width: b.Width, Height: b.Height, Bytes: b.Bytes})
	}
	return picture.NewNormalizer(storefront.MaxSide, storefront.MaxImage, sizes...)
}

// toImage converts a picture that the normalizer returned to an image record.
func toImage(p *picture.Picture) storefront.Image {
	m := storefront.Image{Format: storefront.Format(p.Format), Width: int64(p.Width), Height: int64(p.Height), Content: p.Content}
	for i, sized := range p.Smaller {
		if sized != nil {
			m.Sizes = append(m.Sizes, storefront.SizedImage{
				Purpose: storefront.SmallerSizes[i].Purpose, Format: storefront.Format(sized.Format),
				Width: int64(sized.Width), Height: int64(sized.Height), Content: sized.Content,
			})
		}
	}
	return m
}

// readFile returns the file in a body of type multipart/form-data. Fields with other names than imageField are ignored.
func readFile(req *web.Request) (file []byte, err error) {
	const op = "storefront.readFile"
	media, parameters, err := mime.ParseMediaType(string(req.Request.Header.ContentType()))
	if err != nil || media != fiber.MIMEMultipartForm || parameters["boundary"] == "" {
		return nil, ledger.Refuse(op, web.UnsupportedMediaType, "the body must be multipart/form-data")
	}
	parts := multipart.NewReader(bytes.NewReader(req.Request.Body()), parameters["boundary"])
	for range maxParts + 1 { // one more, because the last call finds the end
		part, err := parts.NextRawPart()
		switch {
		case err == io.EOF && file == nil:
			return nil, ledger.RefuseField(op, imageField, "image is required: a file")
		case err == io.EOF:
			return file, nil
		case err != nil:
			return nil, ledger.Refuse(op, web.BadRequest, "the body is malformed")
		case part.FormName() != imageField:
			continue
		case file != nil:
			return nil, ledger.RefuseField(op, imageField, "image must be sent once")
		}
		if file, err = readPart(part, len(req.Request.Body())); err != nil {
			return nil, err
		}
	}
	return nil, ledger.Refuse(op, web.BadRequest, "the body has more than %d parts", maxParts)
}

// readPart returns the content of a part of a body. If the part is empty, the content is empty but not nil. bodySize is the
// size of the whole body.
func readPart(part io.Reader, bodySize int) ([]byte, error) {
	const op = "storefront.readPart"
	file := bytes.NewBuffer(make([]byte, 0, min(bodySize, maxFile+1)+bytes.MinRead)) // large enough that the buffer never grows
	switch _, err := file.ReadFrom(io.LimitReader(part, maxFile+1)); {
	case err != nil:
		return nil, ledger.Refuse(op, web.BadRequest, "the body is malformed")
	case file.Len() > maxFile:
		return nil, ledger.Refuse(op, web.PayloadTooLarge, "the file is larger than %d bytes", maxFile)
	}
	return file.Bytes(), nil
}
