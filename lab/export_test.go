package lab

// VersionMod writes the go.mod of another version, as a build does.
var VersionMod = versionMod

// SetCeiling gives the ceiling for a number of clients, instead of measuring it.
func (p *Processes) SetCeiling(clients int, perSecond float64) {
	p.ceilings = map[int]float64{clients: perSecond}
	if perSecond > 0 && clients != 1 {
		p.ceilings[1] = perSecond
	}
}
