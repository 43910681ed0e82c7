package catalog

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"umg/app/postgres/pgtest"
)

// modelsMany is how many models the largest catalogs have that people use.
const modelsMany = 557

// manyModels is the default catalog with copies of its first text model up to modelsMany models.
func manyModels(t testing.TB) File {
	t.Helper()
	f := parse(t, string(Default()))
	pattern := f.Models[0]
	for i := len(f.Models); i < modelsMany; i++ {
		m := pattern
		m.ID = fmt.Sprintf("meridian/copy-%d", i)
		f.Models = append(f.Models, m)
	}
	return f
}

// BenchmarkManyModels measures the parts of an apply that grow with the number of models.
func BenchmarkManyModels(b *testing.B) {
	f := manyModels(b)
	printed, err := f.Bytes()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseFile(printed); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if all := Check(f); len(all) > 0 {
				b.Fatal(all)
			}
		}
	})
	b.Run("diff", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Diff(f, f); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("diff of all prices", func(b *testing.B) {
		b.ReportAllocs()
		next := repriced(f, "0.99 per 1M")
		for b.Loop() {
			if lines, err := Diff(f, next); err != nil || len(lines) < modelsMany/2 {
				b.Fatal(len(lines), err)
			}
		}
	})
	b.Run("print", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := f.Bytes(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("snapshot", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			snapshotFrom(b, f)
		}
	})
}

// repriced is a file in which the input of text models has another price.
func repriced(f File, price string) File {
	f.Models = slices.Clone(f.Models)
	for i := range f.Models {
		if m := &f.Models[i]; m.Rates["input_tokens"] != (Price{}) {
			m.Rates = maps.Clone(m.Rates)
			m.Rates["input_tokens"], _ = ParsePrice(price)
		}
	}
	return f
}

// BenchmarkApplyManyModels puts catalogs in force in which each model has another price than before, without a server.
func BenchmarkApplyManyModels(b *testing.B) {
	db := pgtest.New(b)
	f := manyModels(b)
	files := []File{repriced(f, "0.25 per 1M"), repriced(f, "0.35 per 1M")}
	for i := 0; b.Loop(); i++ {
		if err := Apply(b.Context(), db, files[i%2]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstCheck measures what the first call in a style adds to its latency: the form of its contract is compiled.
func BenchmarkFirstCheck(b *testing.B) {
	for _, style := range contractStyles() {
		b.Run(string(style), func(b *testing.B) {
			c := contractFor(b, style, everything(b))
			for b.Loop() {
				c.form.schema.Store(nil)
				if _, err := c.form.compiled(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
