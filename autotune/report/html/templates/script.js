"use strict";
for (const button of document.querySelectorAll("button.copy")) {
  const text = button.parentElement.querySelector("pre");
  const word = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = word; }, 2000);
  });
}
