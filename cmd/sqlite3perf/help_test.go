package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHelp checks that every command shows its own help, for all ways to request help.
func TestHelp(t *testing.T) {
	root := rootCommand(processEnvironment())
	root.InitDefaultCompletionCmd()
	eachCommand(root, func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		for _, args := range [][]string{append(path[:len(path):len(path)], "--help"), append([]string{"help"}, path...)} {
			out, code := run1(t, 0, args...)
			about, _, _ := strings.Cut(c.Long, "\n")
			if about == "" {
				about = c.Short
			}
			if code != exitOK || !strings.HasPrefix(out, about) || !strings.Contains(out, "\nUsage:\n  "+c.CommandPath()) {
				t.Errorf("%s: exit status %d:\n%s", strings.Join(args, " "), code, out)
			}
		}
	})
	for _, args := range [][]string{{"versions", "--help"}, {"--help", "versions"}, {"help", "versions"}, {"versions", "-h"}} {
		if out, code := run1(t, 0, args...); code != exitUsage || out != "" {
			t.Errorf("%s: exit status %d:\n%s", strings.Join(args, " "), code, out)
		}
	}
}
