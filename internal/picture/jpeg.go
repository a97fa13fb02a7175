package picture

import (
	"bytes"
	"encoding/binary"
)

// maxScans is how many scans a JPEG may have. Encoders make about ten.
const maxScans = 64

// Markers of a JPEG.
const (
	markerSOF0  = 0xc0 // frame, baseline
	markerSOF1  = 0xc1 // frame, extended
	markerSOF2  = 0xc2 // frame, progressive
	markerRST0  = 0xd0
	markerRST7  = 0xd7
	markerEOI   = 0xd9
	markerSOS   = 0xda // scan
	markerAPP0  = 0xe0 // JFIF
	markerAPP1  = 0xe1 // EXIF
	markerAPP14 = 0xee // Adobe
)

// jpegSegments is what the segments of a JPEG say.
type jpegSegments struct {
	width, height int
	progressive   bool
	components    []jpegComponent
	scans         int
	jfif          bool
	adobe         bool
	transform     byte   // Adobe's colour transform, if adobe
	exif          []byte // content of the first EXIF segment, or nil
}

type jpegComponent struct {
	id                   byte
	horizontal, vertical int // sampling factors
}

// readJPEGSegments reads the segments up to the end of the picture. It finds them as image/jpeg
// does, which skips everything that is no marker, so that neither sees a frame or scan that the
// other doesn't. It returns false if the end or the frame is missing.
func readJPEGSegments(file []byte) (jpegSegments, bool) {
	var s jpegSegments
	rest := file[2:]
	for {
		var marker byte
		if marker, rest = nextMarker(rest); rest == nil {
			return s, false
		}
		switch {
		case marker == markerEOI:
			return s, len(s.components) > 0
		case marker == 0, markerRST0 <= marker && marker <= markerRST7:
			continue // part of a scan
		}
		if len(rest) < 2 {
			return s, false
		}
		length := int(binary.BigEndian.Uint16(rest)) // includes its own two bytes
		if length < 2 || length > len(rest) {
			return s, false
		}
		s.add(marker, rest[2:length])
		rest = rest[length:]
	}
}

// nextMarker returns the next marker and what follows it, or nil if there is none. A 0xff
// that is data has the marker zero.
func nextMarker(data []byte) (marker byte, rest []byte) {
	at := bytes.IndexByte(data, 0xff)
	if at < 0 {
		return 0, nil
	}
	for at < len(data) && data[at] == 0xff {
		at++
	}
	if at == len(data) {
		return 0, nil
	}
	return data[at], data[at+1:]
}

func (s *jpegSegments) add(marker byte, content []byte) {
	switch marker {
	case markerSOF0, markerSOF1, markerSOF2:
		if s.components == nil { // image/jpeg refuses a second frame
			s.progressive = marker == markerSOF2
			s.setFrame(content)
		}
	case markerSOS:
		s.scans++
	case markerAPP0:
		if len(content) >= 5 {
			s.jfif = bytes.HasPrefix(content, []byte("JFIF\x00"))
		}
	case markerAPP1:
		if exif, ok := bytes.CutPrefix(content, []byte("Exif\x00\x00")); ok && s.exif == nil {
			s.exif = exif
		}
	case markerAPP14:
		if len(content) >= 12 && bytes.HasPrefix(content, []byte("Adobe")) {
			s.adobe, s.transform = true, content[11]
		}
	}
}

// setFrame reads a frame, which image/jpeg has already checked.
func (s *jpegSegments) setFrame(content []byte) {
	if len(content) < 6 {
		return
	}
	s.height = int(binary.BigEndian.Uint16(content[1:]))
	s.width = int(binary.BigEndian.Uint16(content[3:]))
	for c := content[6:]; len(c) >= 3; c = c[3:] {
		s.components = append(s.components, jpegComponent{c[0], int(c[1] >> 4), int(c[1] & 0xf)})
	}
	if len(s.components) == 1 { // its sampling is without effect
		s.components[0].horizontal, s.components[0].vertical = 1, 1
	}
}

// memory returns the bytes that image/jpeg allocates: a byte per sample, four more for a
// coefficient if the JPEG is progressive, and four channels for what is neither grey nor YCbCr.
func (s *jpegSegments) memory() int {
	const side = 8 // of a block
	unitWidth, unitHeight := side*s.components[0].horizontal, side*s.components[0].vertical
	units := (s.width + unitWidth - 1) / unitWidth * ((s.height + unitHeight - 1) / unitHeight)
	samples := 0
	for _, c := range s.components {
		samples += units * c.horizontal * c.vertical * side * side
	}
	memory := samples
	if s.progressive {
		memory += 4 * samples
	}
	if len(s.components) == 4 || len(s.components) == 3 && s.isRGB() {
		memory += 4 * s.width * s.height
	}
	return memory
}

// isRGB tells whether image/jpeg takes three components for RGB.
func (s *jpegSegments) isRGB() bool {
	if s.jfif {
		return false
	}
	c := s.components
	return s.adobe && s.transform == 0 || c[0].id == 'R' && c[1].id == 'G' && c[2].id == 'B'
}
