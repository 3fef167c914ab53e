package series

import "fmt"

// Scalar returns the values by step of argument i, from 0, of a call: it has to be one
// series. They stay the series'.
func Scalar(arg []*Series, i int) ([]float64, error) {
	if len(arg) != 1 {
		return nil, fmt.Errorf("arg #%d must be a scalar", i+1)
	}
	return arg[0].Values, nil
}

// Text returns the string that argument i, from 0, of a call is: one series without
// values, whose name it is.
func Text(arg []*Series, i int) (string, error) {
	if len(arg) != 1 || !arg[0].Empty() {
		return "", fmt.Errorf("arg #%d must be a string", i+1)
	}
	return arg[0].Name.Group, nil
}
