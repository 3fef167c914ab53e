package write

// Options says how much a Handler takes. The zero value works.
type Options struct {
	// MaxEncodedBytes bounds a request's body as sent, 32 MiB if 0.
	MaxEncodedBytes int
	// MaxDecodedBytes bounds it after decompression, 32 MiB if 0.
	MaxDecodedBytes int
	// MaxInFlightBytes bounds the memory of all requests being served: bodies as
	// sent and decompressed, histograms. Past it requests are answered 503. One
	// request alone is always served. 256 MiB if 0.
	MaxInFlightBytes int64

	// MaxLabels bounds the labels of a series or exemplar, 512 if 0.
	MaxLabels int
	// MaxLabelNameBytes and MaxLabelValueBytes bound one name, 4 KiB if 0, and
	// one value or metadata text, 1 MiB if 0. Neither passes 16 MiB - 1.
	MaxLabelNameBytes, MaxLabelValueBytes int
	// MaxSymbols bounds the symbol table of a 2.0 request, 1 Mi if 0.
	MaxSymbols int
	// MaxBuckets bounds the spans, buckets and custom bounds of one native
	// histogram together, 64 Ki if 0.
	MaxBuckets int

	// SeriesCacheEntries bounds the series that are found without their labels
	// being decoded, 2 Mi if 0; each takes less than 40 bytes.
	SeriesCacheEntries int
}

// maxLabelText is the longest text that a label set can hold.
const maxLabelText = 1<<24 - 1

func (o Options) withDefaults() Options {
	setDefault(&o.MaxEncodedBytes, 32<<20)
	setDefault(&o.MaxDecodedBytes, 32<<20)
	setDefault(&o.MaxInFlightBytes, 256<<20)
	setDefault(&o.MaxLabels, 512)
	setDefault(&o.MaxLabelNameBytes, 4<<10)
	setDefault(&o.MaxLabelValueBytes, 1<<20)
	setDefault(&o.MaxSymbols, 1<<20)
	setDefault(&o.MaxBuckets, 64<<10)
	setDefault(&o.SeriesCacheEntries, 2<<20)
	o.MaxLabelNameBytes = min(o.MaxLabelNameBytes, maxLabelText)
	o.MaxLabelValueBytes = min(o.MaxLabelValueBytes, maxLabelText)
	return o
}

func setDefault[T int | int64](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}
