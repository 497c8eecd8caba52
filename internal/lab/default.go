package lab

// DefaultWorkloads are run unless the user names others. Six rounds of them with ten drivers
// fit into the default time, at the quick scale on two cores.
var DefaultWorkloads = []string{
	"simple", "real", "many", "concurrent", "point-read", "read-write", "group-by", "analytics",
}

// Floor is the driver with which all others are compared.
const Floor = "native"
