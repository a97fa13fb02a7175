// Package picture makes an uploaded image harmless and small: it decodes the file, scales the
// pixels down and encodes them again, so nothing of the file but its pixels survives.
//
// Invariants:
//  1. The bytes alone decide the format. Anything but a complete PNG or JPEG is ErrFormat.
//  2. A picture is refused before its pixels are allocated if it has more than MaxPixels, a side
//     above 100,000, or needs more than 92 MiB to decode. A pixel of a PNG needs 1 byte with a
//     palette, 8 with 16-bit channels, else 4, and twice that if interlaced. A JPEG needs 1 byte
//     per sample, so 1.5 per pixel in 4:2:0, or 5 per sample if it is progressive; and 4 more per
//     pixel in RGB or CMYK.
//  3. A normalizer decodes one picture at a time, and with a maxSide of up to 1024 holds at most
//     100 MiB for it.
//  4. Work grows with the pixels and the file: an IDAT that inflates to more than the pixels is
//     an error, and a JPEG has at most 64 scans, since a scan of a few bytes visits every pixel.
//  5. The result depends only on the file and the bounds. It has no metadata and no colour
//     that is not visible; a JPEG's EXIF orientation is applied first.
//
// Callers: api/storefront.
//
// Rejected: the kernels of x/image/draw, which keep 32 bytes per pixel of an intermediate picture;
// ApproxBiLinear alone, which skips pixels when it scales to less than half; a limit of the
// file's size, which says nothing about its pixels.
package picture
