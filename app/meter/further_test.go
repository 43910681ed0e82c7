package meter_test

import (
	"encoding/json"
	"testing"

	"umg/app/meter"
)

func TestFurtherMetersHaveNamesAndUnits(t *testing.T) {
	t.Parallel()
	c := meter.Counts{meter.InputTokens: 5, meter.Requests: 1}
	if c.Further() != nil || c.FurtherText() != "" {
		t.Errorf("counts with columns of their own are listed: %v, %q", c.Further(), c.FurtherText())
	}
	c[meter.CacheWriteHourTokens], c[meter.ContainerSeconds], c[meter.Megapixels] = 12, 61_050, 2_000
	text, err := json.Marshal(c.Further())
	if want := `{"cache_write_1h_tokens":12,"container_seconds":61.05,"megapixels":2}`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	if got, want := c.FurtherText(), "cache_write_1h_tokens=12 container_seconds=61.05 megapixels=2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
