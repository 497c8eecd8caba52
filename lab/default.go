package lab

// DefaultWorkloads are measured unless others are named: what fits into the
// default time, six rounds of ten drivers, at the quick scale on two cores.
var DefaultWorkloads = []string{
	"simple", "real", "many", "concurrent", "point-read", "read-write", "group-by", "analytics",
}
