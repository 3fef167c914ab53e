package transform

// LessNumeric is for tests of the order alone.
var LessNumeric = lessNumeric
