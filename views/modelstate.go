package views

import (
	"net/url"
	"time"

	"umg/views/format"
	"umg/views/ui"
)

// Badge is the badge of the model at a moment.
func (m Model) Badge(now time.Time) Badge {
	if badge, known := stateBadges[m.State]; known {
		return badge
	}
	if m.Deprecated != nil && !m.Deprecated.After(now) {
		return Badge{ui.Warning, "Deprecated"}
	}
	return Badge{ui.Success, "Available"}
}

// stateBadges are the badges of all states but ModelAvailable, on all pages.
var stateBadges = map[ModelState]Badge{
	ModelComing: {ui.Brand, "Coming soon"}, ModelEnded: {ui.Danger, "Shut down"}, ModelPaused: {ui.Warning, "Paused"},
	ModelUnserved: {ui.Danger, "No provider"}, ModelFailing: {ui.Danger, "Failing"}, ModelDegraded: {ui.Warning, "Degraded"},
}

// Callable says whether calls of the model are let in.
func (m Model) Callable() bool {
	isOpen := m.State == ModelAvailable || m.State == ModelDegraded || m.State == ModelFailing
	return isOpen && (len(m.Styles) > 0 || m.Kind == VideoKind)
}

// NeedsOther says whether readers should call another model.
func (m Model) NeedsOther() bool {
	return m.State == ModelPaused || m.State == ModelUnserved || m.State == ModelFailing || m.State == ModelEnded
}

// StateSentence says in a few words that the model cannot be relied on. It is for a model that NeedsOther.
func (m Model) StateSentence() string {
	switch m.State {
	case ModelPaused:
		return m.Name + " is paused."
	case ModelFailing:
		return m.Name + " is failing."
	case ModelEnded:
		return m.Name + " was shut down."
	}
	return m.Name + " has no provider."
}

// Warns says whether readers should know of the model's state before they choose it.
func (m Model) Warns() bool {
	return m.State == ModelPaused || m.State == ModelUnserved || m.State == ModelFailing || m.State == ModelDegraded
}

// PlaygroundPath is where the model can be tried.
func (m Model) PlaygroundPath() string {
	if m.Kind == VideoKind {
		return VideoPlayPath + "?" + url.Values{"model": {m.ID}}.Encode()
	}
	return ModelPlaygroundPath(m.ID)
}

// Lifecycle is what is to be known of the model's state in addition to its badge: a title, a sentence and their tone. There is
// none for a model that simply works.
func (m Model) Lifecycle(now time.Time) (title, text string, tone ui.Tone) {
	badge := m.Badge(now)
	title, text, tone = badge.Text, m.Notice, badge.Tone
	usual := ""
	switch {
	case m.State == ModelComing:
		usual, tone = "It is announced and cannot be called yet.", ui.Info
	case m.State == ModelPaused:
		usual = "It takes no new calls for now. Calls get 503."
	case m.State == ModelUnserved:
		usual = "None of its providers can be used from this server."
	case m.State == ModelFailing && m.Now.NoRoute:
		text, usual = "", "All of its providers failed and are set aside for a moment. Calls may fail or take longer."
	case m.State == ModelFailing:
		text, usual = "", "A tenth of its calls or more fail: "+m.Now.HealthText()+"."
	case m.State == ModelEnded:
		usual = "Move to another model."
	case m.Shutdown != nil:
		title, usual, tone = "Shuts down on "+format.Day(*m.Shutdown), "Move to another model before then.", ui.Warning
	case m.Deprecated != nil && m.Deprecated.After(now):
		title, usual, tone = "Deprecated from "+format.Day(*m.Deprecated), "It goes on working; newer models are the better choice.", ui.Info
	case m.Deprecated != nil:
		title, usual, tone = "Deprecated", "It goes on working; newer models are the better choice.", ui.Warning
	default:
		title, tone = "Good to know", ui.Info
	}
	if text == "" {
		text = usual
	}
	return title, text, tone
}
