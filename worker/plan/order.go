package plan

// Order chooses n operations of a mix at random, by weight. Their numbers are first, first+stride,
// …. For each of them, Order appends its index in the list "ops" to dst. For operation number k,
// Order draws a random number below the sum of the weights, from row k of the random sequence named
// after the phase. Each operation of the list is chosen by as many of these numbers as its weight,
// in the order of the list. If the weights are 3 and 1, the numbers 0, 1 and 2 choose the first
// operation, and 3 the second.
func (g *Gen) Order(dst []uint8, phase string, ops []Operation, first, stride int64, n int) []uint8 {
	total := uint64(0)
	for i := range ops {
		total += uint64(ops[i].Weight)
	}
	s := newStream(g.seed, phase)
	for k := range n {
		u := below(s.draw(first+int64(k)*stride, 0), total)
		i := 0
		for u >= uint64(ops[i].Weight) {
			u -= uint64(ops[i].Weight)
			i++
		}
		dst = append(dst, uint8(i))
	}
	return dst
}

// DataSet returns the data set of the plan with this name, or nil if there is none.
func (p *Plan) DataSet(name string) *DataSet {
	for i := range p.DataSets {
		if p.DataSets[i].Name == name {
			return &p.DataSets[i]
		}
	}
	return nil
}
