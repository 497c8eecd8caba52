package lab

// DefaultWorkloads are the workloads that run if the user names none. Six rounds of them with ten drivers fit
// into the default time, at the scale "quick" on two cores.
var DefaultWorkloads = []string{
	"simple", "real", "many", "concurrent", "point-read", "read-write", "group-by", "analytics",
}

// Floor is the name of the driver that calls SQLite from plain C. All other drivers are compared with it.
const Floor = "native"
