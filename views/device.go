package views

import (
	"strings"

	"umg/views/ui"
)

// word is what a program or a system is called, and the mark in a User-Agent that tells of it. Marks that others copy come
// last.
type word struct{ mark, name string }

var browsers = [...]word{
	{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Vivaldi/", "Vivaldi"}, {"SamsungBrowser/", "Samsung Internet"}, {"Firefox/", "Firefox"},
	{"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"}, {"Chromium/", "Chromium"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
	{"curl/", "curl"}, {"Go-http-client/", "a Go program"}, {"python-requests/", "a Python program"},
}

var systems = [...]word{
	{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Windows", "Windows"},
	{"Macintosh", "macOS"}, {"Linux", "Linux"}, {"X11", "Unix"},
}

// pocket systems run on devices that are carried about.
var pocket = map[string]bool{"iPhone": true, "iPad": true, "Android": true}

func find(words []word, agent string) string {
	for _, w := range words {
		if strings.Contains(agent, w.mark) {
			return w.name
		}
	}
	return ""
}

// Device puts a User-Agent into words.
func Device(agent string) string {
	browser, system := find(browsers[:], agent), find(systems[:], agent)
	switch {
	case browser != "" && system != "":
		return browser + " on " + system
	case browser != "":
		return strings.ToUpper(browser[:1]) + browser[1:]
	case system != "":
		return "A browser on " + system
	default:
		return "Unknown device"
	}
}

// DeviceIcon is a phone for systems of phones and tablets, and a screen for all others.
func DeviceIcon(agent string) ui.IconName {
	if pocket[find(systems[:], agent)] {
		return ui.IconPhone
	}
	return ui.IconMonitor
}
