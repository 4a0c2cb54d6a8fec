"use strict";

const page = document.getElementById("page");
window.SwaggerUIBundle({
  domNode: page,
  url: page.dataset.document,
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  filter: true,
  validatorUrl: null,
});
