package views

import (
	"umg/app"
	"umg/views/ui"
)

// These are addresses of the settings.
const (
	SettingsPath = "/console/settings"
)

// settingsTabs are the pages of the settings. The first is what the menu leads to.
var settingsTabs = []ui.NavItem{
	{Icon: ui.IconUser, Text: "Profile", Href: SettingsPath},
	{Icon: ui.IconShield, Text: "Security", Href: SettingsPath + "/security"},
	{Icon: ui.IconBox, Text: "Account", Href: SettingsPath + "/account"},
	{Icon: ui.IconUsers, Text: "Members", Href: SettingsPath + "/members"},
	{Icon: ui.IconBell, Text: "Notifications", Href: notifySettingsPath},
	{Icon: ui.IconGauge, Text: "Limits", Href: LimitsPath, Need: app.ReadModels},
	{Icon: ui.IconHistory, Text: "Audit log", Href: SettingsPath + "/audit", Need: app.ManageAccount},
}
