package picture

import (
	"bytes"
	"encoding/binary"
)

// Bounds of a JPEG.
const (
	maxProgressiveScans = 20   // maximum number of scans of a progressive JPEG; encoders make about ten, or 18 for four components
	maxSegments         = 4096 // maximum number of segments; cameras and editors write fewer than a hundred
)

// Markers of a JPEG.
const (
	markerSOF0  = 0xc0 // frame, baseline
	markerSOF1  = 0xc1 // frame, extended
	markerSOF2  = 0xc2 // frame, progressive
	markerDHT   = 0xc4 // Huffman tables
	markerRST0  = 0xd0
	markerRST7  = 0xd7
	markerEOI   = 0xd9
	markerSOS   = 0xda // scan
	markerDQT   = 0xdb // quantization tables
	markerDRI   = 0xdd // restart interval
	markerAPP0  = 0xe0 // JFIF
	markerAPP1  = 0xe1 // EXIF
	markerAPP14 = 0xee // Adobe
	markerAPP15 = 0xef
	markerCOM   = 0xfe // comment
)

// jpegSegments holds what the segments of a JPEG say about decoding.
type jpegSegments struct {
	width, height int
	progressive   bool
	components    []jpegComponent
	scans         int
	jfif          bool
	adobe         bool
	transform     byte     // Adobe's color transform; set if adobe is true
	exif          []byte   // content of the first EXIF segment, or nil
	rest          [][]byte // the file up to the end of the picture, in parts, because the metadata between the parts was removed
}

type jpegComponent struct {
	id                   byte
	horizontal, vertical int // sampling factors
}

// readJPEGSegments reads the segments up to the end of the picture. Like the decoders, it skips all bytes that are not
// markers, so no decoder sees a frame or a scan that this function misses. If the end or the frame is missing, if there are too
// many segments, or if a segment is neither metadata nor known to the decoders, it returns false.
func readJPEGSegments(file []byte) (jpegSegments, bool) {
	var s jpegSegments
	kept, at := 0, 2 // file[:kept] is already in s.rest, or is metadata
	for segments := 0; ; {
		found, marker, after := nextMarker(file, at)
		if after == 0 {
			return s, false
		}
		switch {
		case marker == markerEOI:
			s.rest = append(s.rest, file[kept:after])
			return s, len(s.components) > 0
		case marker == 0, markerRST0 <= marker && marker <= markerRST7:
			at = after // part of a scan
			continue
		}
		if segments++; segments > maxSegments || len(file)-after < 2 {
			return s, false
		}
		at = after + int(binary.BigEndian.Uint16(file[after:])) // the length includes its own two bytes
		if at < after+2 || at > len(file) {
			return s, false
		}
		switch content := file[after+2 : at]; {
		case markerAPP0 <= marker && marker <= markerAPP15, marker == markerCOM:
			s.addMetadata(marker, content)
			if found > kept {
				s.rest = append(s.rest, file[kept:found])
			}
			kept = at
		case !s.add(marker, content):
			return s, false
		}
	}
}

// nextMarker searches the file for a marker, from the offset at. It returns the marker's offset, the marker, and the offset
// after the marker. If there is no further marker, it returns zeros. The marker zero is not a real marker: it means a byte 0xff
// of the picture's data.
func nextMarker(file []byte, at int) (found int, marker byte, after int) {
	n := bytes.IndexByte(file[at:], 0xff)
	if n < 0 {
		return 0, 0, 0
	}
	found = at + n
	for after = found; after < len(file) && file[after] == 0xff; {
		after++
	}
	if after == len(file) {
		return 0, 0, 0
	}
	return found, file[after], after + 1
}

// add reads a segment that decoding needs. If the segment's marker is unknown, it returns false.
func (s *jpegSegments) add(marker byte, content []byte) bool {
	switch marker {
	case markerSOF0, markerSOF1, markerSOF2:
		if s.components == nil { // the decoders refuse a second frame
			s.progressive = marker == markerSOF2
			s.setFrame(content)
		}
	case markerSOS:
		s.scans++
	case markerDHT, markerDQT, markerDRI:
	default:
		return false
	}
	return true
}

func (s *jpegSegments) addMetadata(marker byte, content []byte) {
	switch marker {
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

// setFrame reads the segment that begins a frame. Later, the caller compares the width and the height with the values that
// image/jpeg reads.
func (s *jpegSegments) setFrame(content []byte) {
	if len(content) < 6 {
		return
	}
	s.height = int(binary.BigEndian.Uint16(content[1:]))
	s.width = int(binary.BigEndian.Uint16(content[3:]))
	for c := content[6:]; len(c) >= 3; c = c[3:] {
		s.components = append(s.components, jpegComponent{c[0], int(c[1] >> 4), int(c[1] & 0xf)})
	}
	if len(s.components) == 1 { // a single component is never subsampled
		s.components[0].horizontal, s.components[0].vertical = 1, 1
	}
}

// maxScans returns the maximum number of scans of the JPEG. Scans are limited because each scan visits every block. In a JPEG
// that is not progressive, each component is in only one scan.
func (s *jpegSegments) maxScans() int {
	if s.progressive {
		return maxProgressiveScans
	}
	return len(s.components)
}

// memory returns the number of bytes that decoding allocates for pixels if the sides are divided by reducedBy. It counts one
// byte per sample of the result. A progressive JPEG needs four more bytes per sample of the file, for the coefficients. A JPEG
// that is neither gray nor YCbCr needs four more bytes per pixel of the result.
func (s *jpegSegments) memory(reducedBy int) int {
	const side = 8 // side of a block in samples
	across, down := 1, 1
	for _, c := range s.components {
		across, down = max(across, c.horizontal), max(down, c.vertical)
	}
	units := (s.width + side*across - 1) / (side * across) * ((s.height + side*down - 1) / (side * down))
	samples := 0
	for _, c := range s.components {
		samples += units * c.horizontal * c.vertical * side * side
	}
	memory := samples / (reducedBy * reducedBy)
	if s.progressive {
		memory += 4 * samples
	}
	if len(s.components) == 4 || len(s.components) == 3 && s.isRGB() {
		memory += 4 * s.width * s.height / (reducedBy * reducedBy)
	}
	return memory
}

// isRGB tells whether image/jpeg interprets the three components as red, green and blue.
func (s *jpegSegments) isRGB() bool {
	if s.jfif {
		return false
	}
	return s.adobe && s.transform == 0 || s.hasNamesOfRGB()
}

func (s *jpegSegments) hasNamesOfRGB() bool {
	c := s.components
	return c[0].id == 'R' && c[1].id == 'G' && c[2].id == 'B'
}
