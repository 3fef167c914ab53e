package importer

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// appendJSONValue prints a value so that parsing it gives the same bits, except
// NaN, which is null.
func appendJSONValue(dst []byte, v float64) []byte {
	switch {
	case v != v:
		return append(dst, "null"...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	return appendNumber(dst, v)
}

func appendTextValue(dst []byte, v float64) []byte {
	switch {
	case v != v:
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "+Inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-Inf"...)
	}
	return appendNumber(dst, v)
}

// appendNumber prints the fewest digits that read back as v, without exponent
// unless that would take dozens of zeros.
func appendNumber(dst []byte, v float64) []byte {
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-12 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, 64)
}

func appendJSONLabels(dst []byte, lset labels.Labels) []byte {
	dst = append(dst, '{')
	first := true
	lset.Range(func(l labels.Label) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendJSONString(dst, l.Name)
		dst = append(dst, ':')
		dst = appendJSONString(dst, l.Value)
	})
	return append(dst, '}')
}

// appendJSONString quotes s. Bytes that are not UTF-8 become U+FFFD.
func appendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c < 0x20 || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		i++
	}
	return append(dst, '"')
}

// appendTextLabels prints name{label="value"}; names that need it are quoted.
func appendTextLabels(dst []byte, lset labels.Labels) []byte {
	name := lset.Get(labels.MetricName)
	quotedName := !model.LegacyValidation.IsValidMetricName(name)
	if !quotedName {
		dst = append(dst, name...)
	}
	separator := byte('{')
	if quotedName {
		dst = appendTextString(append(dst, separator), name)
		separator = ','
	}
	lset.Range(func(l labels.Label) {
		if l.Name == labels.MetricName {
			return
		}
		dst = append(dst, separator)
		separator = ','
		if model.LegacyValidation.IsValidLabelName(l.Name) {
			dst = append(dst, l.Name...)
		} else {
			dst = appendTextString(dst, l.Name)
		}
		dst = appendTextString(append(dst, '='), l.Value)
	})
	if separator == ',' {
		dst = append(dst, '}')
	}
	return dst
}

func appendTextString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for {
		i := strings.IndexAny(s, "\"\\\n")
		if i < 0 {
			return append(append(dst, s...), '"')
		}
		dst = append(append(dst, s[:i]...), '\\', s[i])
		if s[i] == '\n' {
			dst[len(dst)-1] = 'n'
		}
		s = s[i+1:]
	}
}
