package build

import (
	"fmt"
	"maps"
	"strings"
)

// Obtain returns advice on how to get a feature that the driver lacks. It returns "" if there is no
// advice.
func (r Ref) Obtain(key string) string {
	if r.Known == nil {
		return ""
	}
	if with := r.having([]string{key}); with.Name != r.Name {
		return fmt.Sprintf("measure %s instead", with.Name)
	}
	return r.Known.Obtain[key]
}

// For returns the driver with which to measure a workload. The workload needs the features with these keys.
// The result is r, or a variant of r that has more features. For also returns the keys of the features for
// which the variant is needed. If the user named the driver with options, For returns r.
func (r Ref) For(needs []string) (Ref, []string) {
	if r.Known == nil || len(r.Options) > 0 {
		return r, nil
	}
	var by []string
	for _, key := range needs {
		if r.Known.Variants[key] != "" {
			by = append(by, key)
		}
	}
	return r.having(by), by
}

// having returns the driver's variant that adds these features. It ignores features for
// which driver.json has no variant.
func (r Ref) having(features []string) Ref {
	base := strings.TrimSuffix(r.Name, r.optionText())
	all := maps.Clone(r.Options)
	for _, key := range features {
		more, _ := parseOptions(r.Known.Variants[key], r.Known) // cannot fail: checked when driver.json was read
		for name, value := range more {
			if all == nil {
				all = map[string]string{}
			}
			o, _ := lookupOption(name)
			all[name], _ = o.canonical(all[name] + " " + value)
		}
	}
	r.Options = all
	r.Name = base + r.optionText()
	return r
}
