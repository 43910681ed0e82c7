package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"umg/app/simulator"
)

type simulatorCommand struct {
	Listen        string        `default:"127.0.0.1:9090" help:"Address; port 0 takes a free one." placeholder:"HOST:PORT"`
	TokenInterval time.Duration `help:"Time between two tokens of a stream."`
	RenderTime    time.Duration `default:"8s" help:"Time that a simulated video takes."`
	Key           string        `env:"UMG_SIMULATOR_KEY" secret:"local" help:"API key that callers must send; default: any." placeholder:"KEY"`
	ReadyFile     string        `help:"File to write the address to once the server listens." placeholder:"FILE"`
}

// Run serves the simulated upstream until a signal ends ctx.
func (c *simulatorCommand) Run(ctx context.Context) error {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	url := "http://" + ln.Addr().String()
	if err := writeReady(c.ReadyFile, ready{SimulatorURL: url, PID: os.Getpid()}); err != nil {
		return err
	}
	fmt.Println("simulator", url)
	sim := simulator.New(simulator.Options{Now: time.Now, Pace: c.TokenInterval, Render: c.RenderTime, Key: c.Key, Control: true})
	return sim.Serve(ctx, ln)
}
