package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/host"
)

// hostAgentCommand is what --hosts starts on other machines. It is not for users.
func hostAgentCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     host.AgentCommand,
		Short:   "Measure here what a sqlite3perf on another machine asks for",
		Long:    "Host-agent is what run --hosts starts on other machines. It answers requests on standard\ninput until there are no more.",
		Example: "  sqlite3perf " + host.AgentCommand,
		Hidden:  true,
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			env.outliveReaders() // a connection that is cut must not end it before it has removed what it made
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			interrupts := env.catch()
			go func() {
				select {
				case <-interrupts:
					cancel()
				case <-ctx.Done():
				}
			}()
			agent := &host.Agent{Version: version(), DirectoryPrefix: runDirectory}
			return agent.Serve(ctx, os.Stdin, env.rawOut)
		},
	}
}
