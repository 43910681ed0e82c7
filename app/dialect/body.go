package dialect

import (
	"sync"

	"umg/app/dialect/rawjson"
	"umg/app/llm"
	"umg/app/usagereader"
)

// passthroughBody is a whole answer that is passed through with another name of the model and another usage.
type passthroughBody struct {
	raw    []byte
	format *usageFormat
	edits  rawjson.Edits
	usage  rawjson.Span
	// brace is the index of the closing brace of the answer.
	brace int
	stats StreamStats
}

func (b *passthroughBody) Stats() StreamStats { return b.stats }

func (b *passthroughBody) Append(dst []byte, charge llm.Charge) []byte {
	all, usage := b.edits, string(b.format.usageWithCost(b.usage.Of(b.raw), charge))
	if b.usage.Found() {
		all.Replace(b.usage, usage)
	} else {
		all.Insert(b.brace, `,"`+b.format.member+`":`+usage)
	}
	return all.AppendTo(dst, b.raw)
}

// close ends the scan of an answer. It returns an error unless the answer is whole, not an error, and has the member that every answer has.
func (b *passthroughBody) close(o *rawjson.Object, failed, needed rawjson.Span) error {
	switch {
	case !o.IsWhole():
		return llm.ErrBroken
	case !rawjson.IsNull(failed.Of(b.raw)):
		return failure(b.raw)
	case rawjson.IsNull(needed.Of(b.raw)):
		return llm.ErrBroken
	}
	b.brace = o.End() - 1
	return nil
}

// reports pools the memory of reports, which readers take by an interface.
var reports = sync.Pool{New: func() any { return &llm.Report{} }}

// readUsage reads the usage of a whole answer, from the member where the style has it or from another place.
func (t *StreamStats) readUsage(reader llm.UsageReader, answer, object []byte) {
	report, _ := reports.Get().(*llm.Report)
	defer reports.Put(report)
	*report = usagereader.NewReport()
	elsewhere := reader.ReadAnswer(report, answer)
	if !rawjson.IsNull(object) {
		reader.ReadUsage(report, object)
	} else if !elsewhere {
		return
	}
	t.Usage, t.Reported = report.Usage()
}

// renameModel replaces the provider's name of the model by the public id.
func renameModel(e *rawjson.Edits, doc []byte, at rawjson.Span, model string) {
	if !e.Full() && string(at.Of(doc)) != model {
		e.Replace(at, model)
	}
}
