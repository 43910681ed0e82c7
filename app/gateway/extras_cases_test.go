package gateway_test

import "umg/app/llm"

// extraCases have a request for every row of the table, and one for each type of tool that providers run today.
var extraCases = map[llm.Style][]extraCase{
	llm.Chat: append([]extraCase{
		besideOwn("web_search_preview", functionOfChat), besideOwn("openrouter:web_search", functionOfChat), besideOwn("code_interpreter", functionOfChat),
		besideOwn("browser_search", functionOfChat), besideOwn("retrieval", functionOfChat), besideOwn("mcp", functionOfChat),
		besideOwn("some_future_tool", functionOfChat), alone("web_search"), alone("some_future_tool"),
		{row: "tools[].allowed_callers", members: `"tools":[{"type":"function","function":{"name":"own"},"allowed_callers":["programmatic"]}]`,
			dropped: "tools.allowed_callers", never: "programmatic"},
		{row: "tool_choice", members: `"tool_choice":{"type":"web_search"}`, refused: "tool_choice.type"},
		{row: "tool_choice.allowed_tools.tools[]", members: `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"mcp"},` + functionOfChat + `]}}`,
			dropped: "tool_choice.allowed_tools.tools[0] (mcp)", never: `"mcp"`},
		{row: "tool_choice.allowed_tools.tools[]", members: `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"mcp"}]}}`,
			refused: "tool_choice.allowed_tools.tools[0]"},
		{row: "store", members: `"store":true`, dropped: "store", never: `"store":true`},
		{row: "web_search_options", members: `"web_search_options":{"search_context_size":"high"}`, dropped: "web_search_options", never: "search_context_size"},
		{row: "web_search_options.search_context_size", members: `"web_search_options":{"search_context_size":"low"}`, dropped: "web_search_options", never: "low"},
		{row: "web_search_options", members: `"web_search_options":{},"tools":[]`, refused: "web_search_options"},
		{row: "usage", members: `"usage":{"include":true}`, dropped: "usage", never: `"usage"`},
		{row: "modalities[]", members: `"modalities":["text","audio"]`, refused: "modalities[1]"},
		{row: "audio", members: `"audio":{"voice":"alloy","format":"wav"}`, dropped: "audio", never: "alloy"},
		{row: "messages[].audio", members: `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","audio":{"id":"audio_1"}},{"role":"user","content":"c"}]`,
			refused: "messages[1].audio"},
		{row: "messages[].content[].file.file_id", members: `"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]`,
			refused: "messages[0].content[0].file.file_id"},
		{row: "messages[].cache_control.ttl", members: `"messages":[{"role":"user","content":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]`, dropped: "cache_control.ttl", never: `"1h"`},
		{row: "messages[].content[].cache_control.ttl", members: `"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]`,
			dropped: "cache_control.ttl", never: `"1h"`},
		{row: "tools[].cache_control.ttl", members: `"tools":[{"type":"function","function":{"name":"own"},"cache_control":{"type":"ephemeral","ttl":"1h"}}]`,
			dropped: "cache_control.ttl", never: `"1h"`},
		{row: "cache_control.ttl", members: `"cache_control":{"type":"ephemeral","ttl":"1h"}`, dropped: "cache_control.ttl", never: `"1h"`},
		{row: "search_parameters", members: `"search_parameters":{"mode":"on"}`, dropped: "search_parameters", never: "search_parameters"},
		{row: "search_settings", members: `"search_settings":{"country":"de"}`, dropped: "search_settings", never: "search_settings"},
		{row: "compound_custom", members: `"compound_custom":{"tools":{"enabled_tools":["web_search"]}}`, dropped: "compound_custom", never: "compound_custom"},
		{row: "enable_search", members: `"enable_search":true`, dropped: "enable_search", never: "enable_search"},
		{row: "enable_search", members: `"enable_search":true,"tools":null`, refused: "enable_search"},
		{row: "search_options", members: `"search_options":{"forced_search":true}`, dropped: "search_options", never: "forced_search"},
		{row: "enable_code_interpreter", members: `"enable_code_interpreter":true`, dropped: "enable_code_interpreter", never: "enable_code_interpreter"},
		{row: "cached_content", members: `"cached_content":"cachedContents/1"`, refused: "cached_content"},
		{row: "extra_body.google.cached_content", members: `"extra_body":{"google":{"cached_content":"cachedContents/1"}}`, refused: "extra_body.google.cached_content"},
		{row: "extra_body.google.tools[]", members: `"extra_body":{"google":{"tools":[{"google_search":{}}]}}`, refused: "extra_body.google.tools[0]"},
	}, casesLikeChat...),
	llm.Responses: append([]extraCase{
		besideOwn("web_search", functionOfResponses), besideOwn("web_search_2025_08_26", functionOfResponses), besideOwn("web_search_preview", functionOfResponses),
		besideOwn("web_search_preview_2025_03_11", functionOfResponses), besideOwn("file_search", functionOfResponses), besideOwn("code_interpreter", functionOfResponses),
		besideOwn("image_generation", functionOfResponses), besideOwn("mcp", functionOfResponses), besideOwn("programmatic_tool_calling", functionOfResponses),
		besideOwn("x_search", functionOfResponses), besideOwn("some_future_tool", functionOfResponses), alone("web_search"), alone("mcp"),
		{row: "tools[].tools[]", members: `"tools":[` + functionOfResponses + `,{"type":"namespace","name":"n","tools":[{"type":"mcp"}]}]`, refused: "tools[1].tools[0].type"},
		{row: "tools[].allowed_callers", members: `"tools":[{"type":"function","name":"own","allowed_callers":["programmatic"]}]`, dropped: "tools.allowed_callers", never: "programmatic"},
		{row: "tools[].environment container_*", members: `"tools":[` + functionOfResponses + `,{"type":"shell","environment":{"type":"container_reference","container_id":"cntr_1"}}]`,
			refused: "tools[1].environment"},
		{row: "tools[].container", members: `"tools":[` + functionOfResponses + `,{"type":"function","name":"more","container":"cntr_1"}]`, refused: "tools[1].container"},
		{row: "tool_choice", members: `"tool_choice":{"type":"file_search"}`, refused: "tool_choice.type"},
		{row: "tool_choice.tools[]", members: `"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"mcp","server_label":"s"},` + functionOfResponses + `]}`,
			dropped: "tool_choice.tools[0] (mcp)", never: "server_label"},
		{row: "input[].tools[]", members: `"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"web_search"},{"type":"function","name":"more"}]},{"role":"user","content":"a"}]`,
			dropped: "input[0].tools[0] (web_search)", never: "web_search"},
		{row: "input[].tools[]", members: `"input":[{"type":"tool_search_output","tools":[{"type":"mcp"}]},{"role":"user","content":"a"}]`, refused: "input[0].tools[0]"},
		{row: "input[].tools[].tools[]", members: `"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"namespace","name":"n","tools":[{"type":"mcp"},{"type":"function","name":"f"}]}]},` +
			`{"role":"user","content":"a"}]`, dropped: "input[0].tools[0].tools[0] (mcp)", never: `"mcp"`},
		{row: "input[].tools[].allowed_callers", members: `"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"f","allowed_callers":["programmatic"]}]},` +
			`{"role":"user","content":"a"}]`, dropped: "tools.allowed_callers", never: "programmatic"},
		{row: "input[].tools[].environment container_*", members: `"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"shell","environment":{"type":"container_auto"}}]},` +
			`{"role":"user","content":"a"}]`, refused: "input[0].tools[0].environment"},
		{row: "input[] code_interpreter_call", members: `"input":[{"role":"user","content":"a"},{"type":"code_interpreter_call","id":"ci_1","container_id":"cntr_1","code":"1","status":"completed"},` +
			`{"role":"user","content":"b"}]`, dropped: "input[1] (code_interpreter_call)", never: "cntr_1"},
		{row: "input[] image_generation_call", members: `"input":[{"type":"image_generation_call","id":"ig_1"},{"role":"user","content":"b"}]`,
			dropped: "input[0] (image_generation_call)", never: "ig_1"},
		{row: "input[] file_search_call", members: `"input":[{"type":"file_search_call","id":"fs_1","results":[{"file_id":"file-1"}]},{"role":"user","content":"b"}]`,
			dropped: "input[0] (file_search_call)", never: "file-1"},
		{row: "input[] mcp_approval_response", members: `"input":[{"type":"mcp_approval_response","approve":true,"approval_request_id":"mcpr_1"},` +
			`{"role":"user","content":"b"}]`, refused: "input[0]"},
		{row: "input[] mcp_*", members: `"input":[{"type":"mcp_list_tools","id":"mcpl_1","server_label":"s","tools":[]},{"role":"user","content":"b"}]`,
			dropped: "input[0] (mcp_list_tools)", never: "mcpl_1"},
		{row: "input[] item_reference", members: `"input":[{"type":"item_reference","id":"msg_1"}]`, refused: "input[0].type"},
		{row: "input[] reasoning", members: `"input":[{"role":"user","content":"a"},{"type":"reasoning","id":"rs_1","summary":[]},{"role":"user","content":"b"}]`,
			dropped: "input[1] (reasoning)", never: "rs_1"},
		{row: "input[] compaction_trigger", members: `"input":[{"role":"user","content":"a"},{"type":"compaction_trigger"}]`, refused: "input[1].type"},
		{row: "input[].environment container_*", members: `"input":[{"type":"shell_call","call_id":"c","environment":{"type":"container_reference","container_id":"cntr_1"},"action":{}}]`,
			refused: "input[0].environment"},
		{row: "input[].content[].file_id", members: `"input":[{"role":"user","content":[{"type":"input_file","file_id":"file-1"}]}]`, refused: "input[0].content[0].file_id"},
		{row: "input[].output[].file_id", members: `"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","file_id":"file-1"}]}]`,
			refused: "input[0].output[0].file_id"},
		{row: "input[].output.file_id", members: `"input":[{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","file_id":"file-1"}}]`,
			refused: "input[0].output.file_id"},
		{row: "store", members: `"store":true`, dropped: "store", never: `"store":true`},
		{row: "previous_response_id", members: `"previous_response_id":"resp_1"`, refused: "previous_response_id"},
		{row: "conversation", members: `"conversation":"conv_1"`, refused: "conversation"},
		{row: "prompt", members: `"prompt":{"id":"pmpt_1"}`, refused: "prompt"},
		{row: "background", members: `"background":true`, refused: "background"},
		{row: "context_management", members: `"context_management":[{"type":"compaction","compact_threshold":5000}]`, dropped: "context_management", never: "compact_threshold"},
		{row: "modalities[]", members: `"modalities":["image"]`, refused: "modalities[0]"},
		{row: "search_parameters", members: `"search_parameters":{"mode":"on"}`, dropped: "search_parameters", never: "search_parameters"},
	}, casesLikeChat...),
	llm.Messages: {
		besideOwn("web_search_20250305", toolOfMessages), besideOwn("web_search_20260209", toolOfMessages), besideOwn("web_search_20260318", toolOfMessages),
		besideOwn("web_fetch_20250910", toolOfMessages), besideOwn("web_fetch_20260309", toolOfMessages), besideOwn("web_fetch_20260318", toolOfMessages),
		besideOwn("code_execution_20250522", toolOfMessages), besideOwn("code_execution_20250825", toolOfMessages), besideOwn("code_execution_20260521", toolOfMessages),
		besideOwn("advisor_20260301", toolOfMessages), besideOwn("mcp_toolset", toolOfMessages), besideOwn("some_future_tool", toolOfMessages),
		alone("web_search_20250305"), alone("code_execution_20260521"),
		{row: "tools[]", members: `"tools":[` + toolOfMessages + `,{"type":"web_search_20250305","name":"web_search"}],"tool_choice":{"type":"tool","name":"web_search"}`, refused: "tool_choice"},
		{row: "tools[].allowed_callers", members: `"tools":[{"name":"own","input_schema":{"type":"object"},"allowed_callers":["code_execution_20260521"]}]`,
			dropped: "tools.allowed_callers", never: "code_execution"},
		{row: "mcp_servers", members: `"mcp_servers":[{"type":"url","url":"https://example.com","name":"m"}]`, refused: "mcp_servers"},
		{row: "container", members: `"container":{"skills":[{"type":"anthropic","skill_id":"pdf"}]}`, refused: "container"},
		{row: "container", members: `"container":"container_1"`, refused: "container"},
		{row: "context_management.edits[]", members: `"context_management":{"edits":[{"type":"compact_20260112"}]}`,
			dropped: "context_management.edits[0] (compact_20260112)", never: "compact_"},
		{row: "service_tier", members: `"service_tier":"auto"`, dropped: "service_tier", never: "service_tier"},
		{row: "inference_geo", members: `"inference_geo":"us"`, refused: "inference_geo"},
		{row: "speed", members: `"speed":"fast"`, refused: "speed"},
		{row: "fallbacks", members: `"fallbacks":"default"`, dropped: "fallbacks", never: "fallbacks"},
		{row: "user_profile_id", members: `"user_profile_id":"up_1"`, refused: "user_profile_id"},
		{row: "workspace_id", members: `"workspace_id":"ws_1"`, refused: "workspace_id"},
		{row: "diagnostics", members: `"diagnostics":{"previous_message_id":"msg_1"}`, dropped: "diagnostics", never: "msg_1"},
		{row: "anthropic_beta", members: `"anthropic_beta":["compact-2026-01-12"]`, dropped: "anthropic_beta", never: "compact-"},
		{row: "cache_control.ttl", members: `"cache_control":{"type":"ephemeral","ttl":"1h"}`, dropped: "cache_control.ttl", never: `"1h"`},
		{row: "system[].cache_control.ttl", members: `"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]`, dropped: "cache_control.ttl", never: `"1h"`},
		{row: "tools[].cache_control.ttl", members: `"tools":[{"name":"own","input_schema":{"type":"object"},"cache_control":{"ttl":"1h","type":"ephemeral"}}]`,
			dropped: "cache_control.ttl", never: `"1h"`},
		{row: "messages[].content[].cache_control.ttl", members: `"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]`,
			dropped: "cache_control.ttl", never: `"1h"`},
		{row: "messages[].content[].content[].cache_control.ttl", members: `"messages":[` + callOfOwn + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1",` +
			`"content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}]`, dropped: "cache_control.ttl", never: `"1h"`},
		{row: "messages[].content[].source.content[].cache_control.ttl", members: `"messages":[{"role":"user","content":[{"type":"document","source":{"type":"content",` +
			`"content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}}]}]`, dropped: "cache_control.ttl", never: `"1h"`},
		{row: "messages[].content[].source.file_id", members: `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":"file_1"}}]}]`,
			refused: "messages[0].content[0].source.type"},
		{row: "messages[].content[].content[].source.file_id", members: `"messages":[` + callOfOwn + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1",` +
			`"content":[{"type":"image","source":{"type":"file","file_id":"file_1"}}]}]}]`, refused: "messages[2].content[0].content[0].source.type"},
		{row: "messages[].content[].source.content[].source.file_id", members: `"messages":[{"role":"user","content":[{"type":"document","source":{"type":"content",` +
			`"content":[{"type":"image","source":{"type":"file","file_id":"file_1"}}]}}]}]`, refused: "messages[0].content[0].source.content[0].source.file_id"},
		{row: "messages[].content[] container_upload", members: `"messages":[{"role":"user","content":[{"type":"container_upload","file_id":"file_1"}]}]`,
			refused: "messages[0].content[0].type"},
		{row: "messages[].content[].content[] container_upload", members: `"messages":[` + callOfOwn + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1",` +
			`"content":[{"type":"container_upload","file_id":"file_1"}]}]}]`, refused: "messages[2].content[0].content[0]"},
		{row: "messages[].content[] tool_addition", members: `"messages":[{"role":"user","content":[{"type":"tool_addition","tool":{"type":"web_search_20260318"}}]}]`,
			refused: "messages[0].content[0].type"},
	},
	llm.Native: {
		nativeTool("googleSearch"), nativeTool("google_search"), nativeTool("googleSearchRetrieval"), nativeTool("enterpriseWebSearch"), nativeTool("googleMaps"),
		nativeTool("urlContext"), nativeTool("codeExecution"), nativeTool("fileSearch"), nativeTool("retrieval"), nativeTool("mcpServers"),
		nativeTool("exaAiSearch"), nativeTool("parallelAiSearch"), nativeTool("someFutureTool"),
		{row: "tools[].*", members: `"tools":[{"googleSearch":{}}]`, refused: "tools[0].googleSearch"},
		{row: "tools[].*", members: `"tools":[{"functionDeclarations":[{"name":"own"}],"codeExecution":{}}]`, dropped: "tools[0].codeExecution", never: "codeExecution"},
		{row: "cachedContent", members: `"cachedContent":"cachedContents/1"`, refused: "cachedContent"},
		{row: "cachedContent", members: `"cached_content":"cachedContents/1"`, refused: "cached_content"},
		{row: "serviceTier", members: `"serviceTier":"PRIORITY"`, dropped: "serviceTier", never: "PRIORITY"},
		{row: "serviceTier", members: `"service_tier":"flex"`, dropped: "service_tier", never: "flex"},
		{row: "store", members: `"store":true`, dropped: "store", never: `"store":true`},
		{row: "modelArmorConfig", members: `"modelArmorConfig":{"promptTemplateName":"t"}`, refused: "modelArmorConfig"},
		{row: "generationConfig.responseModalities[]", members: `"generationConfig":{"responseModalities":["IMAGE"]}`, refused: "generationConfig.responseModalities[0]"},
		{row: "generationConfig.speechConfig", members: `"generationConfig":{"speechConfig":{"languageCode":"de"}}`, dropped: "generationConfig.speechConfig", never: "languageCode"},
		{row: "generationConfig.imageConfig", members: `"generationConfig":{"image_config":{"aspectRatio":"1:1"}}`, dropped: "generationConfig.image_config", never: "aspectRatio"},
		{row: "generationConfig.routingConfig", members: `"generationConfig":{"temperature":1,"routingConfig":{"autoMode":{}}}`, dropped: "generationConfig.routingConfig", never: "autoMode"},
		{row: "generationConfig.modelSelectionConfig", members: `"generation_config":{"modelSelectionConfig":{"featureSelectionPreference":"BALANCED"}}`,
			dropped: "generation_config.modelSelectionConfig", never: "BALANCED"},
		{row: "contents[].parts[].fileData.fileUri", members: `"contents":[{"parts":[{"fileData":{"fileUri":"gs://bucket/object","mimeType":"image/png"}}]}]`,
			refused: "contents[0].parts[0].fileData.fileUri"},
		{row: "contents[].parts[].fileData.fileUri", members: `"contents":[{"parts":[{"file_data":{"file_uri":"files/abc"}}]}]`, refused: "contents[0].parts[0].file_data.file_uri"},
		{row: "contents[].parts[].fileData.fileUri kept", members: `"contents":[{"parts":[{"fileData":{"fileUri":"https://generativelanguage.googleapis.com/v1beta/files/abc"}}]}]`,
			refused: "contents[0].parts[0].fileData.fileUri"},
		{row: "contents[].parts[].functionResponse.parts[].fileData.fileUri", members: `"contents":[` + nativeResponse("gs://bucket/object") + `]`,
			refused: "contents[0].parts[0].functionResponse.parts[0].fileData.fileUri"},
		{row: "contents[].parts[].functionResponse.parts[].fileData.fileUri kept", members: `"contents":[` + nativeResponse("https://storage.cloud.google.com/b/o") + `]`,
			refused: "contents[0].parts[0].functionResponse.parts[0].fileData.fileUri"},
		{row: "systemInstruction.parts[].fileData", members: `"systemInstruction":{"parts":[{"text":"a","fileData":{"fileUri":"https://example.com"}}]}`,
			refused: "systemInstruction.parts[0].fileData"},
	},
}

var casesLikeChat = []extraCase{
	{row: "service_tier", members: `"service_tier":"auto"`, dropped: "service_tier", never: "service_tier"},
	{row: "service_tier", members: `"service_tier":"priority"`, dropped: "service_tier", never: "priority"},
	{row: "service_tier", members: `"service_tier":"flex"`, dropped: "service_tier", never: "flex"},
	{row: "prompt_cache_options.ttl", members: `"prompt_cache_options":{"ttl":"24h"}`, dropped: "prompt_cache_options.ttl", never: "24h"},
	{row: "inference_geo", members: `"inference_geo":"us"`, refused: "inference_geo"},
	{row: "deferred", members: `"deferred":true`, refused: "deferred"},
	{row: "plugins", members: `"plugins":[{"id":"web"}]`, refused: "plugins"},
	{row: "preset", members: `"preset":"mine"`, refused: "preset"},
	{row: "models", members: `"models":["a/dear"]`, dropped: "models", never: "a/dear"},
	{row: "route", members: `"route":"fallback"`, dropped: "route", never: "fallback"},
	{row: "provider", members: `"provider":{"order":["dear"]}`, dropped: "provider", never: "dear"},
}

// callOfOwn is a history with a call of the client's tool.
const callOfOwn = `{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"own","input":{}}]},`

// besideOwn is a tool of the provider before one of the client.
func besideOwn(kind, own string) extraCase {
	return extraCase{row: "tools[]", members: `"tools":[{"type":"` + kind + `","name":"theirs"},` + own + `]`, dropped: "tools[0] (" + kind + ")", never: "theirs"}
}

// alone is a tool of the provider and no other.
func alone(kind string) extraCase {
	return extraCase{row: "tools[]", members: `"tools":[{"type":"` + kind + `","name":"theirs"}]`, refused: "tools[0]"}
}

func nativeTool(name string) extraCase {
	return extraCase{row: "tools[].*", members: `"tools":[` + functionsOfNative + `,{"` + name + `":{}}]`, dropped: "tools[1]." + name, never: `"` + name + `"`}
}

func nativeResponse(uri string) string {
	return `{"role":"user","parts":[{"functionResponse":{"name":"own","response":{},"parts":[{"fileData":{"fileUri":"` + uri + `","mimeType":"image/png"}}]}}]}`
}
