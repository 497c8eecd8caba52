package lab

// DefaultWorkloads are measured unless others are named: chosen so that ten
// drivers, six rounds of each, take some four minutes on two cores at the quick
// scale.
var DefaultWorkloads = []string{"simple", "real", "many", "point-read", "read-write", "analytics"}
