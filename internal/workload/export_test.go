package workload

import "slices"

// Words lists all keys and generators of the workload language.
func Words() []string {
	list := generatorKinds()
	for _, k := range keys {
		list = append(list, k...)
	}
	for _, d := range generatorDefs {
		list = append(list, d.options...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Keys returns the keys of each kind of mapping. The definitions in the JSON Schema must have
// the same keys.
func Keys() map[string][]string {
	m := map[string][]string{}
	for name, k := range keys {
		m[name] = k
	}
	for _, d := range generatorDefs {
		m["generator "+d.kind] = append([]string{d.kind}, options(d.kind)...)
	}
	return m
}

// Visited returns how many nodes of a file are visited.
func Visited(data []byte) (int, error) {
	r := &reader{file: "x.yaml"}
	_, err := r.parse(data, nil, nil)
	return r.visited, err
}
