package b1

import (
	"fmt"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// appendHeaders appends the headers of a page to dst: what Rows is held to.
func appendHeaders(dst []Header, page []byte) ([]Header, error) {
	columns, n, err := checkPage(page)
	if err != nil {
		return dst, err
	}
	at := len(dst)
	dst = append(dst, make([]Header, n)...)
	out := dst[at:]
	r := codec.NewReader(columns)
	c := columnReader{r: &r}
	values := c.values[:n]
	none := new(Header)
	for _, f := range fields {
		c.read(values)
		before := none
		for i := range out {
			f.set(&out[i], before, values[i])
			before = &out[i]
		}
	}
	if r.Bad() || r.Len() > 0 {
		return dst[:at], block.Corruptf("page of headers: columns do not parse")
	}
	for i := range out {
		if err := out[i].Check(); err != nil {
			return dst[:at], fmt.Errorf("page of headers: block %d: %w", i, err)
		}
	}
	return dst, nil
}
