package record

// A Columns payload is a byte that says which sections it has, their lengths,
// and the sections, each of which may be missing:
//
//	definitions | refs | times | start times | values | histograms | exemplars | metadata
//
// The four columns in the middle have one entry for each sample, in the order
// the samples came in. Histograms are marked in the column of values and follow
// in a section of their own.
const (
	sectionDefinitions = iota
	sectionRefs
	sectionTimes
	sectionStarts
	sectionValues
	sectionHistograms
	sectionExemplars
	sectionMetadata
	sectionCount
)

// The code bytes of the column of values. A small integer is its own code. The
// base of a sample is the decimal before it among the samples of the same series
// that stand in a row, zero if there is none.
const (
	codeInline   = 0   // of a series' first sample in a row: the integer; of others: zigzag distance to the base
	codeAbsolute = 160 // + scale*6 + length-1: mantissa of 1 to 6 bytes
	codeDelta    = 220 // + length-1: distance to the base, 1 to 7 bytes, of the same scale
	codeWide     = 227 // mantissa of 7 bytes, scale 0
	codeRaw      = 228 // + length: the upper 0 to 8 bytes of the float's bits
	codeSame     = 237 // the float before it in the row
	codeStale    = 238 // the staleness marker
	codeHist     = 239 // an integer histogram, in its section
	codeFloatHst = 240 // a float histogram, in its section
	codeNear     = 241 // + k, then a byte b: what codeInline would say with codeAbsolute + 256 k + b

	nearEnd         = codeAbsolute + (256-codeNear)<<8
	absoluteLengths = 6
	deltaLengths    = 7
	maxScale        = (codeDelta-codeAbsolute)/absoluteLengths - 1
)

// pow10 holds exact doubles, so that a division by one is rounded once.
var pow10 = [maxScale + 1]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// base is what a value is coded against.
type base struct {
	mantissa int64
	scale    uint8
	bits     uint64 // of the last float in the row
}

func decimal(m int64, scale uint8) float64 { return float64(m) / pow10[scale] }

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
