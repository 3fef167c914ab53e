package read

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"

	"github.com/prometheus/prometheus/prompb"
)

// frameWriter writes frames to a response. Small frames are gathered; what was
// written is pushed to the client after every flushBytes and at the end.
type frameWriter struct {
	out        *bufio.Writer
	sent       *countingWriter
	flush      func() error
	flushBytes int64
	flushed    int64
	table      *crc32.Table
	msg        []byte
}

func newFrameWriter(w http.ResponseWriter, flushBytes int) *frameWriter {
	sent := &countingWriter{w: w}
	return &frameWriter{
		out:        bufio.NewWriterSize(sent, 32<<10),
		sent:       sent,
		flush:      http.NewResponseController(w).Flush,
		flushBytes: int64(flushBytes),
		table:      crc32.MakeTable(crc32.Castagnoli),
	}
}

// started tells whether the client may have seen anything of the answer.
func (f *frameWriter) started() bool { return f.sent.n > 0 }

// write sends one message.
func (f *frameWriter) write(m *prompb.ChunkedReadResponse) error {
	size := m.Size()
	if cap(f.msg) < size {
		f.msg = make([]byte, size)
	}
	f.msg = f.msg[:size]
	if _, err := m.MarshalToSizedBuffer(f.msg); err != nil {
		return fmt.Errorf("marshal frame: %w", err)
	}
	var head [binary.MaxVarintLen64 + 4]byte
	n := binary.PutUvarint(head[:], uint64(size))
	binary.BigEndian.PutUint32(head[n:], crc32.Checksum(f.msg, f.table))
	if _, err := f.out.Write(head[:n+4]); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	if _, err := f.out.Write(f.msg); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	if f.sent.n-f.flushed >= f.flushBytes {
		f.flushed = f.sent.n
		_ = f.flush() // not all response writers can
	}
	return nil
}

// close sends what was gathered.
func (f *frameWriter) close() error {
	if err := f.out.Flush(); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	_ = f.flush()
	return nil
}

// countingWriter counts the bytes handed on. A failed write counts as one at
// least: it may have sent the header.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(max(n, 1))
	return n, err
}
