package main

import (
	"runtime"

	"umg/app/admission"
	"umg/app/server"
)

func (f *admissionFlags) gate() *admission.Controller {
	return admission.New(admission.Options{
		InFlightMax: f.MaxInFlight, MemoryMax: admission.LimitMemory(f.MaxMemory << 20), LateMax: f.MaxSchedulingDelay,
		Cores: runtime.GOMAXPROCS(0),
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
