package gateway

import (
	"strings"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
)

// Codes of calls that no provider of their model can take now.
const (
	codeModelPaused = "model_temporarily_unavailable"
	codeNoProvider  = "no_available_provider"
)

const (
	pausedRetryAfter = 30 * time.Second
	distanceMax      = 3 // So many edits still count as a typing mistake.
	lettersPerSlip   = 4 // A name may have one mistake in so many letters, since short names resemble many others.
)

// selectModel finds the model of a call and checks the call against its contract. The hints are those that the model does not
// take; of a strict call they are faults.
func (g *Gateway) selectModel(call *Call, head *dialect.Head, now time.Time) (*catalog.Model, []catalog.Hint, error) {
	m, contract, err := g.findModel(call, head, now)
	if err != nil {
		return nil, nil, err
	}
	if err := allowExtras(call, head, m); err != nil {
		return nil, nil, err
	}
	var hints []catalog.Hint
	if call.Strict {
		err = contract.Check(call.Body)
	} else {
		hints, err = contract.Admit(call.Body, head.CorrectStrings(call.Body))
	}
	if refused := g.refusedExtra(call, head); refused != nil && (err == nil || head.Refuses(app.AsError(err).Param)) {
		return nil, nil, refused // It names the models that offer the extra.
	}
	if err != nil {
		return nil, nil, err
	}
	return m, hints, head.Err()
}

// refusedExtra is the error for an extra that the model of the call does not offer, when others do that the key may use.
func (g *Gateway) refusedExtra(call *Call, head *dialect.Head) error {
	rows := head.Refused()
	if rows.IsEmpty() {
		return nil
	}
	models := g.o.Snapshot().For(call.Principal.AccountID).Offering(call.Style, rows, modelsNamedMax, call.Principal.MayUse)
	if len(models) == 0 {
		return nil
	}
	return head.ErrOffering(models)
}

// findModel finds the model of a call, if the caller may use it now, and its contract. The head then has the id of the model.
func (g *Gateway) findModel(call *Call, head *dialect.Head, now time.Time) (*catalog.Model, *catalog.Contract, error) {
	s := g.o.Snapshot().For(call.Principal.AccountID)
	m, known := s.Model(head.Model)
	if !known {
		return nil, nil, errUnknownModel(s, call.Principal, head.Model)
	}
	head.Model = m.ID // The request may name an alias, and records have the id.
	if !m.IsAllowed(call.Principal.MayUse) {
		return nil, nil, errModelNotAllowed(m.ID)
	}
	if err := m.Ended(now); err != nil {
		return nil, nil, err
	}
	if !m.Available {
		return nil, nil, errModelNotFound("The model %s is not available yet. GET /v1/models lists those that are.", m.ID)
	}
	if m.Kind == catalog.KindVideo {
		return nil, nil, errModelNotFound("The model %s makes videos, which POST /v1/videos takes.", m.ID)
	}
	contract, ok := m.Contract(call.Style)
	if !ok || !m.Serves(call.Style) && len(m.Routes) > 0 { // A model without any route is served, but not now.
		styles := make([]string, 0, len(m.Served()))
		for _, s := range m.Served() {
			styles = append(styles, string(s))
		}
		return nil, nil, errModelNotFound("The model %s is not served on this route. It answers in these styles: %s.", m.ID,
			strings.Join(styles, ", "))
	}
	if m.Paused {
		return nil, nil, ErrModelPaused(m.ID, m.Notice)
	}
	if pause, paused := g.o.Health.ModelPaused(m.ID); paused {
		return nil, nil, ErrModelPaused(m.ID, pause.Reason)
	}
	return m, contract, nil
}

// Permit reports whether the caller may use the model that a call names, as the call itself would.
func (g *Gateway) Permit(call *Call) error {
	style, ok := dialect.Of(call.Style)
	if !ok {
		return nil
	}
	head, err := style.Peek(call.Body)
	if err != nil {
		return err
	}
	m, known := g.o.Snapshot().For(call.Principal.AccountID).Model(head.Model)
	if known && !m.IsAllowed(call.Principal.MayUse) {
		return errModelNotAllowed(m.ID)
	}
	return nil
}

func errModelNotAllowed(id string) *app.Error {
	return app.Errorf(app.Forbidden, "model_not_allowed", "This key may not use the model %s. GET /v1/models lists those it may use.", id).
		At("model").Final()
}

// ErrModelPaused is the client's error for a model that takes no new calls for now.
func ErrModelPaused(id, reason string) *app.Error {
	notice := "The model " + id + " is temporarily unavailable because of platform traffic control. "
	if reason != "" {
		notice += strings.TrimSuffix(reason, ".") + ". "
	}
	notice += "Try again later or choose another model."
	return app.Errorf(app.Unavailable, codeModelPaused, "%s", notice).At("model").After(pausedRetryAfter)
}

// errUnknownModel is the error for a model that does not exist. It names one that the caller may have meant.
func errUnknownModel(s *catalog.Snapshot, p app.Principal, id string) error {
	if variants := s.Variants(id); len(variants) > 0 {
		return errNoModelNamed(id, " Of that name there are: "+strings.Join(variants, ", ")+".")
	}
	hint, best := "", min(distanceMax, len(id)/lettersPerSlip)+1
	for _, m := range s.Models() {
		if !m.Available || !m.IsAllowed(p.MayUse) {
			continue
		}
		_, short, _ := strings.Cut(m.ID, "/")
		for _, name := range []string{m.ID, short} {
			if d := distance(id, name, best); d < best {
				hint, best = " Did you mean "+m.ID+"?", d
			}
		}
	}
	return errNoModelNamed(id, hint+" GET /v1/models lists all models.")
}

func errNoModelNamed(id, advice string) *app.Error {
	id = app.TruncateBytes(id, shownBytesMax)
	e := errModelNotFound("The model %q does not exist.%s", id, advice)
	e.Value = id
	return e
}

func errModelNotFound(format string, args ...any) *app.Error {
	return app.Errorf(app.NotFound, "model_not_found", format, args...).At("model")
}

const shownBytesMax = 128

// distance counts the letters that must be added, removed or replaced to turn a into b, as far as it is below most.
func distance(a, b string, most int) int {
	if len(a) > len(b)+most || len(b) > len(a)+most || len(a) > shownBytesMax {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// allowExtras reads the head of a call again, with the extras that a model offers, when the call asks for any.
func allowExtras(call *Call, head *dialect.Head, m *catalog.Model) error {
	offered := m.Extras(call.Style)
	if !head.HasExtras() || head.Allows(offered) {
		return nil
	}
	style, _ := dialect.Of(call.Style) // The caller has found it.
	again, err := style.PeekAllowing(call.Body, offered)
	if err != nil {
		return err
	}
	again.Model, *head = head.Model, again
	return nil
}
