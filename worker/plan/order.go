package plan

// Order chooses, by weight, the operations numbered first, first+stride, … of a
// mix, n of them: indexes of ops, appended to dst. The choice of operation k
// is the value below the sum of weights that the stream named phase draws for
// row k; it falls to the operation in whose share, in the order of ops, it lies.
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

// DataSet finds a data set of the plan by its name; nil where there is none.
func (p *Plan) DataSet(name string) *DataSet {
	for i := range p.DataSets {
		if p.DataSets[i].Name == name {
			return &p.DataSets[i]
		}
	}
	return nil
}
