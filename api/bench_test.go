package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"umg/app/apikey"
)

// BenchmarkDoorToRoute is what a request costs around the route itself: id, key, headers, log line and metrics.
func BenchmarkDoorToRoute(b *testing.B) {
	h, s := build(b)
	handler := s.Handler()
	_, secret := h.key(apikey.Spec{})
	r := httptest.NewRequest(http.MethodGet, "/v1/models/test/plain", nil)
	r.Header.Set("Authorization", "Bearer "+secret)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		b.Fatal(w.Code, w.Body)
	}
	b.ReportAllocs()
	for b.Loop() {
		w.Body.Reset()
		handler.ServeHTTP(w, r)
	}
}
