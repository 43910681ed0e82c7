package notices

import (
	"context"

	"umg/app"
	"umg/app/modelstatus"
	"umg/views"
)

// TroubledModels returns the models the reader may call that are paused or failing.
func (s *Service) TroubledModels(ctx context.Context, r Reader) (lines []views.StatusLine) {
	if s.o.Health == nil || !r.User.Role.Rights().Has(app.ReadModels) {
		return nil
	}
	for _, one := range s.o.Status.Troubled(ctx, s.catalogOf(r), troubledMax) {
		lines = append(lines, views.StatusLine{Model: one.Model.ID, Name: one.Model.Name, Paused: one.State == modelstatus.Paused})
	}
	return lines
}
