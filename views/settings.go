package views

import (
	"umg/app"
	"umg/views/ui"
)

const (
	settingsPath = "/console/settings"
)

// settingsTabs are the pages of the settings. The first is what the menu leads to.
var settingsTabs = []ui.NavItem{
	{Icon: ui.IconUser, Text: "Profile", Href: settingsPath},
	{Icon: ui.IconShield, Text: "Security", Href: settingsPath + "/security"},
	{Icon: ui.IconBox, Text: "Account", Href: settingsPath + "/account"},
	{Icon: ui.IconUsers, Text: "Members", Href: settingsPath + "/members"},
	{Icon: ui.IconBell, Text: "Notifications", Href: notifySettingsPath},
	{Icon: ui.IconGauge, Text: "Limits", Href: limitsPath, Need: app.ReadModels},
	{Icon: ui.IconHistory, Text: "Audit log", Href: settingsPath + "/audit", Need: app.ManageAccount},
}
