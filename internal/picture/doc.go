// Package picture makes an uploaded image harmless and small. It decodes the file, scales the pixels down and encodes them
// again, so only the pixels of the file survive. From the same pixels it makes smaller forms: copies of the picture for pages
// that have little space for it.
//
// Invariants:
//  1. Only the bytes decide the format; a file's name or content type does not matter. Three kinds of files are refused with
//     ErrFormat: a file that is neither a PNG nor a JPEG, a JPEG without its end marker, and a PNG with any part missing. If
//     pixel data of a JPEG is missing, a part of the result is gray.
//  2. A picture is refused before its pixels are allocated if it has more than MaxPixels or a side above 100,000, or if it
//     needs more than 92 MiB to decode. A PNG that is scaled is read row by row. Any other PNG needs up to 8 bytes per pixel,
//     or 16 if it is interlaced. A JPEG's sides are divided by header.reducedBy while the JPEG is decoded. A JPEG needs 1 byte
//     per sample of the result (1.5 bytes per pixel in 4:2:0). A progressive JPEG needs 4 more bytes per sample of the file,
//     and a JPEG in RGB or CMYK 4 more bytes per pixel.
//  3. A normalizer reads and decodes one picture at a time. With a maxSide of up to 2048 it allocates at most 110 MiB
//     for a picture, and at most 48 MiB for most pictures. After a large picture was decoded, the garbage is collected
//     before the smaller forms are made, and again before the next picture.
//  4. The work is proportional to the number of pixels and to the length of the file. A PNG is refused if its data (chunks
//     IDAT) decompresses to more bytes than its pixels need. A progressive JPEG has at most 20 scans, because even a scan of a
//     few bytes visits every pixel. A JPEG has at most 4096 segments, and a PNG has at most 4096 chunks. Segments and chunks
//     are counted before a decoder reads them.
//  5. The result depends only on the file, the bounds and the processor architecture. The result has no metadata, and its
//     transparent pixels have no hidden colors. A JPEG's EXIF orientation is applied to the pixels.
//  6. Package jpegn decodes common JPEGs. It gets only segments that this package has checked, and only these segments
//     determine what jpegn does. If jpegn panics, the file is refused.
//  7. A smaller form is never larger than the picture. Its sides have the picture's ratio, with an error of up to
//     two pixels.
//
// Callers: api/storefront.
//
// Rejected: Three other ways to decode and scale were considered. Package image/jpeg takes 0.3 to 0.5 s for a JPEG of 5 MiB.
// Package image/png needs 4 to 16 bytes per pixel of a large PNG. The scalers of x/image/draw need whole pictures and convert
// planes to RGBA. A limit only for the file's size was also considered. It was not chosen because the size says nothing about
// the number of pixels.
package picture
