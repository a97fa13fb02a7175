package badgerfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/dgraph-io/badger/v4/fb"

	"mizan/posting/store/damage"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	tableTail = 64 // at most this many bytes follow a table's index
	minIndex  = 16 // an index has at least this many bytes
)

// Table describes the file of a table.
type Table struct {
	ID   uint64 // the number in the file's name
	Size int64  // size of the file in bytes
	Sum  uint32 // CRC-32C of the whole file

	maxVersion uint64 // highest version of a row in the table; only readTable sets it
}

// checkTables checks every listed table, and returns the highest version of any row in the tables. Badger's own checks are
// not used: at some damage they would end the process with a stack trace, and they would miss other damage.
func (i *Inspection) checkTables() (lastFlushed uint64, err error) {
	ids := make(chan uint64)
	var (
		mu       sync.Mutex
		wg       sync.WaitGroup
		firstErr error
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for id := range ids {
				t, err := readTable(TablePath(i.dir, id))
				mu.Lock()
				if err != nil && firstErr == nil {
					firstErr = err
				}
				if err == nil {
					lastFlushed = max(lastFlushed, t.maxVersion)
					i.Tables[id] = t
				}
				mu.Unlock()
			}
		})
	}
	for id := range i.manifest.tables {
		ids <- id
	}
	close(ids)
	wg.Wait()
	return lastFlushed, firstErr
}

// readTable checks every byte of a table. A table consists of
//
//	blocks | index | length of the index | checksum of the index | length of the checksum
//
// The blocks follow each other from the first byte to the index. A block consists of
//
//	rows | offsets of the rows | number of rows | checksum of the block | length of the checksum
//
// A table may be as large as a memtable, so readTable reads it in pieces.
func readTable(path string) (t Table, err error) {
	f, t, err := openTable(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, damage.New(path, "it is missing")
	}
	if err != nil {
		return t, err
	}
	defer f.Close()
	indexStart, index, err := readIndex(f, t.Size)
	if err != nil {
		return t, err
	}
	checksum := crc32.New(castagnoli)
	in := bufio.NewReaderSize(io.TeeReader(io.NewSectionReader(f, 0, t.Size), checksum), 1<<20)
	tableIndex := fb.GetRootAsTableIndex(index, 0)
	if err := checkBlocks(path, in, indexStart, tableIndex); err != nil {
		return t, err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return t, err
	}
	t.maxVersion, t.Sum = tableIndex.MaxVersion(), checksum.Sum32()
	return t, nil
}

// identifyTable returns the number, the size and the checksum of a table, but not the highest version of its rows. It
// reads the whole content, because two different tables may have the same index.
func identifyTable(path string) (t Table, err error) {
	f, t, err := openTable(path)
	if err != nil {
		return t, err
	}
	defer f.Close()
	checksum := crc32.New(castagnoli)
	n, err := io.Copy(checksum, f)
	if err == nil && n != t.Size {
		err = io.ErrUnexpectedEOF
	}
	t.Sum = checksum.Sum32()
	return t, err
}

// openTable opens the file of a table. It sets only the number and the size of the returned Table.
func openTable(path string) (f *os.File, t Table, err error) {
	t.ID, _ = TableID(filepath.Base(path))
	if f, err = os.Open(path); err != nil {
		return nil, t, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close() // the file was opened only for reading
		return nil, t, err
	}
	t.Size = info.Size()
	return f, t, nil
}

// readIndex returns the index of a table, and the offset at which the index begins. size is the size of the file.
func readIndex(f *os.File, size int64) (start int64, index []byte, err error) {
	tail := make([]byte, min(size, tableTail))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil {
		return 0, nil, err
	}
	upToLength, sum, ok := cutChecksum(tail)
	if !ok || len(upToLength) < 4 {
		return 0, nil, damage.New(f.Name(), "its end is not that of a table")
	}
	length := int64(binary.BigEndian.Uint32(upToLength[len(upToLength)-4:]))
	start = size - int64(len(tail)-len(upToLength)) - 4 - length
	if start <= 0 || length < minIndex { // a file of zeros would pass as an empty index with a correct checksum
		return 0, nil, damage.New(f.Name(), "its index does not fit")
	}
	index = make([]byte, length)
	if _, err := f.ReadAt(index, start); err != nil {
		return 0, nil, err
	}
	if crc32.Checksum(index, castagnoli) != sum {
		return 0, nil, damage.New(f.Name(), "its index does not match its checksum")
	}
	return start, index, nil
}

// checkBlocks checks the blocks of a table. The last block must end where the index starts.
func checkBlocks(path string, in *bufio.Reader, indexStart int64, index *fb.TableIndex) error {
	blockStart := int64(0)
	var offset fb.BlockOffset
	for i := range index.OffsetsLength() {
		if !index.Offsets(&offset, i) || int64(offset.Offset()) != blockStart {
			return damage.New(path, "block %d is not where its index says", i)
		}
		b, err := in.Peek(int(offset.Len()))
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err != nil || !isSoundBlock(b, offset.KeyBytes()) {
			return damage.New(path, "block %d does not match its checksum", i)
		}
		if _, err := in.Discard(len(b)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		blockStart += int64(len(b))
	}
	if blockStart != indexStart {
		return damage.New(path, "its blocks do not fill it")
	}
	return nil
}

// isSoundBlock tells whether a block's checksum is correct and the block's first row has the given key. The key
// reveals a block that belongs to another place or another table.
func isSoundBlock(b, firstKey []byte) bool {
	content, sum, ok := cutChecksum(b)
	if !ok || crc32.Checksum(content, castagnoli) != sum || len(content) < 4 {
		return false
	}
	rows := int64(binary.BigEndian.Uint32(content[len(content)-4:]))
	if rows == 0 || int64(len(content)) < 4+4*rows+4 {
		return false
	}
	// The first row begins with two 16-bit numbers: the overlap with the block's first key, which is 0 here, and the length
	// of the key. The key follows at byte 4.
	return len(content) >= 4+len(firstKey) && bytes.Equal(content[4:4+len(firstKey)], firstKey)
}

// cutChecksum splits b into the content and the checksum of the content. The checksum is a CRC-32C, which is field 2 of
// a protocol buffer. The last 4 bytes of b are the length of the protocol buffer.
func cutChecksum(b []byte) (content []byte, sum uint32, ok bool) {
	sizeStart := len(b) - 4
	if sizeStart < 0 {
		return nil, 0, false
	}
	size := int64(binary.BigEndian.Uint32(b[sizeStart:]))
	if size > int64(sizeStart) || size > 16 {
		return nil, 0, false
	}
	content, message := b[:sizeStart-int(size)], b[sizeStart-int(size):sizeStart]
	if len(message) == 0 {
		return content, 0, true // a protocol buffer omits a field whose value is 0
	}
	if message[0] != 2<<3 {
		return nil, 0, false
	}
	v, length := binary.Uvarint(message[1:])
	return content, uint32(v), length == len(message)-1 && v>>32 == 0
}
