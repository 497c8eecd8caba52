// Package distinct makes lists without repetitions.
package distinct

import "slices"

// Append appends each of values to list, unless list contains it already.
func Append[T comparable](list []T, values ...T) []T {
	for _, v := range values {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}
