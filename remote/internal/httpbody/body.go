// Package httpbody reads request bodies into pooled buffers, under limits.
package httpbody

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/varvedb/varve/remote/internal/wire"
)

// firstRoom is the room made for a body before any of it came; what the sender
// claims its length to be is believed up to here.
const firstRoom = 64 << 10

// Read reads the whole body of r as it was sent. The caller owns the buffer and
// releases it.
//
// A body over maxBytes is a *wire.LimitError: before anything is read when its
// declared length says so, else as soon as more came. A body that ends before
// its declared length, or breaks off, wraps wire.ErrMalformed; other errors are
// the connection's.
//
// charge, unless nil, is called with the size of each piece of memory before it
// is made; its error ends the read and is returned as it is.
func Read(r *http.Request, maxBytes int, charge func(n int) error) (*wire.Buffer, error) {
	if r.ContentLength > int64(maxBytes) {
		return nil, &wire.LimitError{Limit: wire.LimitEncoded, Max: maxBytes, Claimed: r.ContentLength}
	}
	if charge == nil {
		charge = func(int) error { return nil }
	}
	room := firstRoom
	if r.ContentLength >= 0 && r.ContentLength < firstRoom {
		room = int(r.ContentLength) + 1 // the last byte lets Read see the end
	}
	if err := charge(room); err != nil {
		return nil, err
	}
	b := wire.NewBuffer(room)
	if err := readAll(b, r, maxBytes, charge); err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

func readAll(b *wire.Buffer, r *http.Request, maxBytes int, charge func(n int) error) error {
	for {
		if len(b.B) == cap(b.B) {
			room := max(cap(b.B), firstRoom)
			if err := charge(room); err != nil {
				return err
			}
			b.Grow(room)
		}
		n, err := r.Body.Read(b.B[len(b.B):cap(b.B)])
		b.B = b.B[:len(b.B)+n]
		if len(b.B) > maxBytes {
			return &wire.LimitError{Limit: wire.LimitEncoded, Max: maxBytes}
		}
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("%w: request body ended after %d bytes%s", wire.ErrMalformed, len(b.B), ofLength(r))
		case err != nil:
			return fmt.Errorf("read request body after %d bytes: %w", len(b.B), err)
		}
	}
}

func ofLength(r *http.Request) string {
	if r.ContentLength < 0 {
		return ", before its end"
	}
	return fmt.Sprintf(" of %d", r.ContentLength)
}

// Decode undoes an encoding into a pooled buffer, which the caller releases. A
// body that does not say how large its content is is charged with 8 times its
// size first, and with what it came to afterwards.
func Decode(encoding string, body []byte, maxDecoded int, charge func(n int) error) (*wire.Buffer, error) {
	size, known, err := wire.DecodedSize(encoding, body, maxDecoded)
	if err != nil {
		return nil, err
	}
	if !known {
		size = min(8*len(body), maxDecoded)
	}
	if charge != nil {
		if err := charge(size); err != nil {
			return nil, err
		}
	}
	b := wire.NewBuffer(size)
	b.B, err = wire.Decode(encoding, b.B, body, maxDecoded)
	if err == nil && charge != nil && len(b.B) > size {
		err = charge(len(b.B) - size)
	}
	if err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}
