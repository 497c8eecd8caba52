package lab

// DefaultWorkloads are measured unless others are named. Six rounds of them with ten
// drivers, at the quick scale on two cores, fit into the default time.
var DefaultWorkloads = []string{
	"simple", "real", "many", "concurrent", "point-read", "read-write", "group-by", "analytics",
}
