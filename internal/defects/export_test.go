package defects

import "slices"

// All lists all defects, in the order of defects.json.
func All() []Defect { return slices.Clone(read()) }
