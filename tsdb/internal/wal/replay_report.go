package wal

import (
	"fmt"
	"strings"
)

// maxCorruptions bounds the list of a report; the others are counted.
const maxCorruptions = 1000

// Corruption is a stretch of a segment that holds no sound frame.
type Corruption struct {
	Segment uint64
	Offset  int64
	Bytes   int64
	Cause   error
	// The frames with these sequence numbers, ends included, are missing; both
	// are 0 when none is missing or it cannot be told which.
	SeqFrom, SeqTo uint64
}

// Error says where the damage is and what of.
func (c Corruption) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "segment %012d at offset %d: %d bytes: %v", c.Segment, c.Offset, c.Bytes, c.Cause)
	if c.SeqTo > 0 {
		fmt.Fprintf(&b, " (frames %d to %d missing)", c.SeqFrom, c.SeqTo)
	}
	return b.String()
}

// Unwrap returns the cause.
func (c Corruption) Unwrap() error { return c.Cause }

// SegmentInfo describes one segment as it was found.
type SegmentInfo struct {
	Number  uint64
	Bytes   int64
	BaseSeq uint64 // of the first frame, as the header says; 0 when the header is damaged
	// Skipped says that the segment was not read, since the next one's header
	// tells that every frame in it is skipped.
	Skipped           bool
	Frames            uint64 // sound ones
	FirstSeq, LastSeq uint64 // of the sound frames; 0 when there are none
	Damaged           bool   // Corruptions has an entry for it
	Quarantined       string // file of its copy in the quarantine, if one was made
}

// ReplayReport says what a walk over a log found.
type ReplayReport struct {
	Segments []SegmentInfo
	Frames   uint64 // sound ones above the number to start after
	Skipped  uint64 // sound ones up to it
	LastSeq  uint64 // the highest sequence number met

	// Torn is the tail of the newest segment after its last sound frame, if
	// any: what a crash leaves of a frame that was being written.
	Torn *Corruption
	// Corruptions are the damages elsewhere, the first 1000 of them.
	Corruptions []Corruption
	// CorruptionCount counts them all.
	CorruptionCount int
	// QuarantineErr says why a damaged segment could not be copied; Release
	// tries again and does not delete it before.
	QuarantineErr error
}

func (r *ReplayReport) add(c Corruption) {
	r.CorruptionCount++
	if len(r.Corruptions) < maxCorruptions {
		r.Corruptions = append(r.Corruptions, c)
	}
}
