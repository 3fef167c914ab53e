package read

import (
	"context"
	"net/http"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/varvedb/varve/tsdb/chunks"
)

const streamContentType = "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse"

// stream answers with frames of chunks.
func (h *Handler) stream(ctx context.Context, w http.ResponseWriter, queries []query) {
	w.Header().Set("Content-Type", streamContentType)
	s := streamer{
		frames:   newFrameWriter(w, h.opts.MaxFrameBytes),
		enc:      chunks.NewEncoder(nil, chunks.Options{DropStartTimes: h.opts.DropStartTimes}),
		maxBytes: h.opts.MaxFrameBytes,
	}
	err := h.streamQueries(ctx, &s, queries)
	if err == nil {
		err = s.frames.close()
	}
	switch {
	case err == nil:
	case s.frames.started():
		panic(http.ErrAbortHandler) // an orderly end would pass for a whole answer
	default:
		w.Header().Del("Content-Type")
		h.opts.WriteError(w, err)
	}
}

func (h *Handler) streamQueries(ctx context.Context, s *streamer, queries []query) error {
	for i, q := range queries {
		s.queryIndex = int64(i)
		err := h.eachSeries(ctx, q, func(v View, i int) error {
			return s.series(ctx, v.Labels(i), v.Cursor(i, q.mint, q.maxt))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// streamer puts the chunks of one series after the other into frames.
type streamer struct {
	frames     *frameWriter
	enc        *chunks.Encoder
	queryIndex int64
	maxBytes   int

	labels []prompb.Label
	chunks []prompb.Chunk
}

func (s *streamer) series(ctx context.Context, lset labels.Labels, c chunks.Cursor) error {
	s.labels = prompb.FromLabels(lset, s.labels)
	room := s.maxBytes
	for i := range s.labels {
		room -= s.labels[i].Size()
	}
	room = max(room, s.maxBytes/4) // huge labels must not make a frame of each chunk

	size := 0
	s.enc.Reset(c)
	for s.enc.Next() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		chunk := toProto(s.enc.At())
		chunkSize := chunk.Size() + 4 // with tag and length
		if len(s.chunks) > 0 && size+chunkSize > room {
			if err := s.flush(); err != nil {
				return err
			}
			size = 0
		}
		s.chunks = append(s.chunks, chunk)
		size += chunkSize
	}
	if err := s.enc.Err(); err != nil {
		return err
	}
	return s.flush()
}

// flush sends the gathered chunks, if there are any, as one frame.
func (s *streamer) flush() error {
	if len(s.chunks) == 0 {
		return nil
	}
	err := s.frames.write(&prompb.ChunkedReadResponse{
		ChunkedSeries: []*prompb.ChunkedSeries{{Labels: s.labels, Chunks: s.chunks}},
		QueryIndex:    s.queryIndex,
	})
	clear(s.chunks)
	s.chunks = s.chunks[:0]
	return err
}

func toProto(c chunks.Chunk) prompb.Chunk {
	return prompb.Chunk{MinTimeMs: c.MinT, MaxTimeMs: c.MaxT, Type: encoding(c.Chunk.Encoding()), Data: c.Chunk.Bytes()}
}

// encoding: the numbers on the wire are chunkenc's own.
func encoding(e chunkenc.Encoding) prompb.Chunk_Encoding { return prompb.Chunk_Encoding(e) }
