// Package picture makes an uploaded image harmless and small: it decodes the file, scales the
// pixels down and encodes them again, so nothing of the file but its pixels survives. From the same pixels
// it makes smaller forms, for pages that show the picture in little room.
//
// Invariants:
//  1. The bytes alone decide the format. Anything but a PNG or JPEG with its end is ErrFormat, and so
//     is a PNG of which anything is missing. Missing data of a JPEG leaves a part of it grey.
//  2. A picture is refused before its pixels are allocated if it has more than MaxPixels, a side
//     above 100,000, or needs more than 92 MiB to decode. A PNG that is scaled is read row by row. Of
//     another one, a pixel needs up to 8 bytes, or 16 if it is interlaced. A JPEG needs 1 byte per
//     sample after its sides were divided by reducedBy, so 1.5 per pixel in 4:2:0; if it is
//     progressive, 4 more per sample of the file; in RGB or CMYK, 4 more per pixel.
//  3. A normalizer reads and decodes one picture at a time. With a maxSide of up to 2048 it allocates at most
//     110 MiB for it, and 48 MiB for most. The garbage of large ones is collected before their smaller
//     forms are made, and before the next.
//  4. Work grows with the pixels and the file: an IDAT that inflates to more than the pixels is
//     an error, and a progressive JPEG has at most 20 scans, since a scan of a few bytes visits every
//     pixel. A JPEG has at most 4096 segments and a PNG 4096 chunks, which are counted before a decoder
//     reads them.
//  5. The result depends only on the file, the bounds and the kind of processor. It has no metadata
//     and no colour that is not visible; a JPEG's EXIF orientation is applied first.
//  6. jpegn gets only segments that have been judged here, and decides nothing that they don't say. Its
//     panics refuse the file.
//  7. A smaller form is never larger than the picture, and its sides have the picture's ratio, up to two
//     pixels.
//
// Callers: api/storefront.
//
// Rejected: image/jpeg for all JPEGs, which takes 0.3 to 0.5 s for 5 MiB; image/png for large PNGs, which
// needs 4 to 16 bytes per pixel; the kernels of x/image/draw, which take whole pictures and convert planes to
// RGBA; a limit of the file's size, which says nothing about its pixels.
package picture
