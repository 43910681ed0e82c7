// A key that leads to a field: the field names it in data-shortcut. It is left alone while somebody types.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, dialog[open]")) {
    return;
  }
  const field = document.querySelector(`[data-shortcut="${CSS.escape(event.key)}"]`);
  if (field) {
    event.preventDefault();
    field.focus();
    field.select?.();
  }
});
