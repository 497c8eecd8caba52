// Package distinct makes lists without repetitions.
package distinct

import "slices"

// Append appends each value to the list, unless the list already contains the value.
func Append[T comparable](list []T, values ...T) []T {
	for _, v := range values {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// Find returns a pointer to the first element of the list for which the function "wanted" returns true. If
// there is no such element, Find appends the value "added", and returns a pointer to the new element.
func Find[T any](list *[]T, added T, wanted func(T) bool) *T {
	i := slices.IndexFunc(*list, wanted)
	if i < 0 {
		i = len(*list)
		*list = append(*list, added)
	}
	return &(*list)[i]
}

// Index numbers keys from 0, in the order in which they first occur.
type Index[K comparable] struct {
	Keys []K
	at   map[K]int
}

// Of returns the number of a key. A key that is new gets the next number.
func (x *Index[K]) Of(key K) int {
	i, known := x.at[key]
	if !known {
		if x.at == nil {
			x.at = map[K]int{}
		}
		i = len(x.Keys)
		x.at[key], x.Keys = i, append(x.Keys, key)
	}
	return i
}
