// Package picture makes an uploaded image harmless and small: it decodes the file, scales the
// pixels down and encodes them again, so nothing of the file but its pixels survives. From the same pixels
// it makes smaller forms, for pages that show the picture in little room.
//
// Invariants:
//  1. The bytes alone decide the format. Anything but a PNG or a JPEG that has its end is refused with ErrFormat, and
//     so is a PNG of which anything is missing. If data of a JPEG is missing, a part of the result is grey.
//  2. A picture is refused before its pixels are allocated if it has more than MaxPixels, a side above 100,000, or
//     needs more than 92 MiB to decode. A PNG that is scaled is read row by row. Any other PNG needs up to 8 bytes per
//     pixel, or 16 if it is interlaced. A JPEG needs 1 byte per sample after its sides were divided by
//     header.reducedBy, so 1.5 per pixel in 4:2:0. A progressive JPEG needs 4 more per sample of the file, and a JPEG
//     in RGB or CMYK 4 more per pixel.
//  3. A normalizer reads and decodes one picture at a time. With a maxSide of up to 2048 it allocates at most 110 MiB
//     for a picture, and 48 MiB for most. The garbage of a large picture is collected before its smaller forms are
//     made, and before the next picture.
//  4. Work grows with the pixels and the file: an IDAT that inflates to more than the pixels is
//     an error, and a progressive JPEG has at most 20 scans, since a scan of a few bytes visits every
//     pixel. A JPEG has at most 4096 segments and a PNG 4096 chunks, which are counted before a decoder
//     reads them.
//  5. The result depends only on the file, the bounds and the kind of processor. It has no metadata
//     and no colour that is not visible; a JPEG's EXIF orientation is applied first.
//  6. jpegn, the decoder of common JPEGs, gets only segments that this package has checked, and its choices depend on
//     them alone. If jpegn panics, the file is refused.
//  7. A smaller form is never larger than the picture, and its sides have the picture's ratio, up to two
//     pixels.
//
// Callers: api/storefront.
//
// Rejected: image/jpeg for all JPEGs, which takes 0.3 to 0.5 s for 5 MiB; image/png for large PNGs, which
// needs 4 to 16 bytes per pixel; the kernels of x/image/draw, which take whole pictures and convert planes to
// RGBA; a limit of the file's size, which says nothing about its pixels.
package picture
