// `/login#token=...`: a link that signs in. The fragment never reaches the server or its logs but in the form's body.
(() => {
  const form = document.querySelector("[data-login]");
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!form || !token) return;
  history.replaceState(null, "", location.pathname + location.search);
  form.elements.token.value = token;
  form.requestSubmit();
})();
