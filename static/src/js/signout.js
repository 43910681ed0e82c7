// Signing out deletes the runs of the playground that this browser keeps.
document.addEventListener("submit", (event) => {
  if (event.target.matches?.('form[action="/console/sign-out"]')) {
    indexedDB.deleteDatabase("umg-playground");
  }
}, true);
