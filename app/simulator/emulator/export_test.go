package emulator

// EventFrame is eventFrame, for the tests of recorded frames.
var EventFrame = eventFrame
