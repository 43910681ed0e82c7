package payments

import (
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"
)

// pageStyle draws all pages. Nothing is fetched from anywhere.
const pageStyle = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0;display:grid;min-height:100vh;` +
	`place-items:center;background:Canvas;color:CanvasText}main{width:min(26rem,100% - 2rem);padding:1.5rem 0}h1{font-size:1.25rem}` +
	`.amount{font-size:2rem;font-weight:600;margin:.25rem 0}form{display:grid;gap:.5rem;margin:1rem 0}` +
	`button,a.button{font:inherit;padding:.65rem 1rem;border:1px solid GrayText;border-radius:.5rem;background:ButtonFace;` +
	`color:ButtonText;text-align:center;text-decoration:none;cursor:pointer}button.first{background:#0b5fff;border-color:#0b5fff;color:#fff}` +
	`:focus-visible{outline:3px solid #7aa7ff;outline-offset:2px}.note{opacity:.75;font-size:.875rem}.bad{border-left:4px solid #d33;` +
	`padding:.25rem .75rem}dl{display:grid;grid-template-columns:auto 1fr;gap:.25rem 1rem}dd{margin:0;overflow-wrap:anywhere}`

var pageTemplate = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{{.Title}}</title><style>{{.Style}}</style></head><body><main>
<h1>{{.Title}}</h1>
{{with .Amount}}<p class="amount">{{.}}</p>{{end}}
{{range .Lines}}<p>{{.}}</p>{{end}}
{{with .Trouble}}<p class="bad" role="alert">{{.}}</p>{{end}}
{{if .Facts}}<dl>{{range .Facts}}<dt>{{.Name}}</dt><dd>{{.Text}}</dd>{{end}}</dl>{{end}}
{{with .Action}}<form method="post" action="{{.}}">{{range $i, $b := $.Buttons}}
<button name="{{$b.Name}}" value="{{$b.Value}}"{{if eq $i 0}} class="first"{{end}}>{{$b.Label}}</button>{{end}}
</form>{{end}}
{{with .Back}}<p><a class="button" href="{{.}}">{{$.BackLabel}}</a></p>{{end}}
<p class="note">Simulated payments. No card is asked for and no money moves.</p>
</main></body></html>
`))

// sheet is what a page shows.
type sheet struct {
	Title, Amount string
	Lines         []string
	Trouble       string
	Facts         []fact
	Action        string
	Buttons       []button
	Back          string
	BackLabel     string
}

// Style is the stylesheet of every page.
func (sheet) Style() template.CSS { return pageStyle }

type fact struct{ Name, Text string }

type button struct{ Name, Value, Label string }

func (p sheet) write(w http.ResponseWriter, status int) {
	var text strings.Builder
	if err := pageTemplate.Execute(&text, p); err != nil {
		http.Error(w, "The page could not be drawn.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text.String()))
}

func notFoundSheet(w http.ResponseWriter, text string) {
	sheet{Title: "Nothing here", Lines: []string{text}}.write(w, http.StatusNotFound)
}

// showCheckout draws the page of a checkout in its state.
func (s *Simulator) showCheckout(w http.ResponseWriter, id, trouble string, status int) {
	o, ok := find[*session](s, id)
	if !ok {
		notFoundSheet(w, "There is no such checkout.")
		return
	}
	page := sheet{Title: "Checkout", Amount: dollars(o.AmountTotal, o.Currency), Trouble: trouble}
	page.Back, page.BackLabel = wordOf(o.CancelURL), "Cancel"
	for _, one := range o.items {
		if line, ok := one.(item); ok {
			page.Lines = append(page.Lines, line.Description)
		}
	}
	switch o.Status {
	case complete:
		page.Lines = append(page.Lines, "This checkout is complete.")
		page.Back, page.BackLabel = o.returnAddress(), "Back to the shop"
	case expired:
		page.Lines = append(page.Lines, "This checkout has expired. Nothing was paid.")
		page.BackLabel = "Back to the shop"
	default:
		page.Action = "/pay/" + o.ID
		page.Buttons = []button{{"with", withCard, "Pay with test card"}, {"with", withDeclined, "Pay with a card that is declined"}}
		if slices.ContainsFunc(o.PaymentMethodTypes, func(kind string) bool { return kind != "card" }) {
			page.Buttons = append(page.Buttons, button{"with", withAsync, "Pay later (async)"})
		}
	}
	page.write(w, status)
}

// checkoutPay is a person pressing a button.
func (s *Simulator) checkoutPay(w http.ResponseWriter, r *http.Request) {
	o, ok := find[*session](s, r.PathValue("id"))
	if !ok {
		notFoundSheet(w, "There is no such checkout.")
		return
	}
	if failed := s.pay(o, r.PostFormValue("with")); failed != nil {
		s.showCheckout(w, o.ID, failed.Message, failed.status)
		return
	}
	http.Redirect(w, r, o.returnAddress(), http.StatusSeeOther)
}

func (s *Simulator) portalPage(w http.ResponseWriter, r *http.Request) {
	o, ok := find[*portal](s, r.PathValue("id"))
	if !ok {
		notFoundSheet(w, "There is no such page.")
		return
	}
	page := sheet{Title: "Saved cards", Action: "/portal/" + o.ID + "/remove", Back: wordOf(o.ReturnURL), BackLabel: "Back"}
	for m := range latest[*paymentMethod](s, "pm") {
		if wordOf(m.Customer) != o.Customer || len(page.Facts) == listedMax {
			continue
		}
		page.Facts = append(page.Facts, fact{"Card", m.label()})
		page.Buttons = append(page.Buttons, button{"card", m.ID, "Remove " + m.label()})
	}
	if page.Buttons == nil {
		page.Action, page.Lines = "", []string{"No card is saved. One is saved with the next payment."}
	}
	page.write(w, http.StatusOK)
}

func (s *Simulator) portalRemove(w http.ResponseWriter, r *http.Request) {
	o, ok := find[*portal](s, r.PathValue("id"))
	m, known := find[*paymentMethod](s, r.PostFormValue("card"))
	if !ok || !known || wordOf(m.Customer) != o.Customer {
		notFoundSheet(w, "There is no such card.")
		return
	}
	s.detach(m)
	http.Redirect(w, r, "/portal/"+o.ID, http.StatusSeeOther)
}

func (s *Simulator) receiptPage(w http.ResponseWriter, r *http.Request) {
	ch, ok := find[*charge](s, r.PathValue("id"))
	if !ok || !ch.Paid {
		notFoundSheet(w, "There is no such receipt.")
		return
	}
	page := sheet{Title: "Receipt", Amount: dollars(ch.Amount, ch.Currency), Facts: []fact{
		{"Paid on", time.Unix(ch.Created, 0).UTC().Format("2 January 2006, 15:04 UTC")}, {"Receipt", ch.ID}, {"For", wordOf(ch.Description)}}}
	if m, ok := find[*paymentMethod](s, wordOf(ch.PaymentMethod)); ok {
		page.Facts = append(page.Facts, fact{"Paid with", m.label()})
	}
	if ch.AmountRefunded > 0 {
		page.Facts = append(page.Facts, fact{"Refunded", dollars(ch.AmountRefunded, ch.Currency)})
	}
	page.write(w, http.StatusOK)
}
