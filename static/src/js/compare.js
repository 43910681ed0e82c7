// Counts the models that are ticked for a comparison, and takes no fifth.
const most = 4;

document.addEventListener("change", ({ target }) => {
  const form = target.form;
  if (form?.id !== "compare") {
    return;
  }
  const ticks = [...form.querySelectorAll('input[name="m"]')];
  const ticked = ticks.filter((tick) => tick.checked).length;
  form.querySelector("[data-ticked]").textContent = `${ticked} of ${most}`;
  for (const tick of ticks) {
    tick.disabled = ticked >= most && !tick.checked;
  }
});
