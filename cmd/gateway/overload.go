package main

import (
	"fmt"
	"runtime"
	"time"

	"umg/app/admission"
	"umg/app/server"
)

// overloadFlags limit the load of one replica. Zero means a value that suits the machine.
type overloadFlags struct {
	InFlightMax int64         `default:"0" env:"UMG_IN_FLIGHT_MAX" help:"API calls at once; 0: what memory and open files allow."`
	MemoryMax   int64         `default:"0" env:"UMG_MEMORY_MAX" help:"MiB, a quarter for bodies; 0: GOMEMLIMIT, or 90 % of a container."`
	LateMax     time.Duration `default:"25ms" env:"UMG_LATE_MAX" help:"How late the process may run before calls are refused."`
}

func (f *overloadFlags) checkGate() error {
	if f.InFlightMax < 0 || f.MemoryMax < 0 || f.LateMax < 0 {
		return fmt.Errorf("--in-flight-max, --memory-max and --late-max must not be negative")
	}
	return nil
}

func (f *overloadFlags) gate() *admission.Controller {
	return admission.New(admission.Options{
		InFlightMax: f.InFlightMax, MemoryMax: admission.LimitMemory(f.MemoryMax << 20), LateMax: f.LateMax, Cores: runtime.GOMAXPROCS(0),
	})
}

// gateFigures are the metrics of admission control.
func (h *gatewayServer) gateFigures() []server.Metric {
	late := func() int64 { return h.gate.Late().Microseconds() }
	var list []server.Metric
	for _, f := range []struct {
		name, help string
		gauge      bool
		value      func() int64
	}{
		{"umg_overload_places", "API calls that may be in flight.", true, h.gate.InFlightMax},
		{"umg_overload_held_bytes", "Memory that the last collection of garbage could not free.", true, h.gate.Held},
		{"umg_overload_late_microseconds", "How late nine of ten goroutines got to run.", true, late},
		{"umg_refused_full_total", "Calls refused for want of a place.", false, h.gate.RefusedFull},
		{"umg_refused_memory_total", "Calls refused for want of memory.", false, h.gate.RefusedMemory},
		{"umg_refused_late_total", "Calls refused as this process was late.", false, h.gate.RefusedLate},
		{"umg_refused_crowd_total", "Calls refused as their account had its share of places.", false, h.gate.RefusedCrowd},
		{"umg_overload_body_bytes", "Memory that the bodies of calls hold.", true, h.gate.BodyBytes},
		{"umg_refused_bodies_total", "Calls refused as all bodies held what they may.", false, h.gate.RefusedBodies},
		{"umg_refused_account_bodies_total", "Calls refused as the bodies of their account held what they may.", false,
			h.gate.RefusedAccountBodies},
		{"umg_refused_trial_total", "Of all calls refused at the door, those with trial credit only.", false, h.gate.RefusedTrial},
	} {
		list = append(list, server.Metric{Name: f.name, Help: f.help, Gauge: f.gauge, Value: f.value})
	}
	return list
}
