// Package v1 reads version 1 of the index of the series of one part, which
// parts were written with before version 2 and are readable for ever. It hands
// out the label sets; whoever wants to ask more writes them anew.
//
// A Segment is opened from bytes, checked once as a whole, and then only read.
// Series have dense ordinals from 0 in label order; the values of a label have
// ordinals from 1 in string order, 0 meaning that a series lacks the label.
//
// A segment is a file of sections (see package section):
//
//	1 names     table, one row per label name in order: end of the name in
//	            section 2, end of its values in section 3, number of series that
//	            have it, end of their postings in section 6
//	2 strings   names, then nothing
//	3 values    table, one row per (name, value) in order: end of the value in
//	            section 4, number of series, end of their postings in section 5
//	4 strings   values
//	5 postings  of the values, see postings.go
//	6 postings  of the names: presence
//	7 shapes    count uvarint; each: number of names uvarint, ascending name
//	            numbers uvarint
//	8 series    table, one row per series: shape, end of its record in section 9
//	9 records   per series the value ordinals of the names of its shape, each in
//	            as many bytes as the number of values of that name needs
//
// Invariants, checked when a segment is opened:
//
//	I1  names, and the values of a name, ascend strictly; no value is empty
//	I2  postings ascend strictly, are below the number of series and as many as
//	    their table row says
//	I3  every record has the length its shape asks for and ordinals that exist
//	I4  series ascend strictly in the order of labels.Compare
package v1
