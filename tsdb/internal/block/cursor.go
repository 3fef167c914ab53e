package block

// Cursor walks the spans of one series in ascending time order. Spans of one
// Cursor do not overlap in time.
//
// A Cursor is for one goroutine. After Next returned false, Err tells whether
// the end was reached or reading failed.
type Cursor interface {
	// Next moves to the next span.
	Next() bool
	// Span returns the current span, valid until the next call of Next.
	Span() *Span
	// Err returns what stopped Next, nil at the end.
	Err() error
}
