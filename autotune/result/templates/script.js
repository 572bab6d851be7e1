"use strict";
// Buttons that copy the text beside them; without this script there are none.
const showButtons = (root) => root.querySelectorAll("button.copy").forEach((each) => { each.hidden = false; });
document.addEventListener("click", async ({ target }) => {
  const button = target.closest("button.copy");
  if (!button) return;
  const text = button.parentElement.querySelector("pre");
  const words = [...button.childNodes];
  let done = true;
  try {
    await navigator.clipboard.writeText(text.textContent);
  } catch {
    // Without TLS there is no clipboard to write to, but what is selected can be copied.
    getSelection().selectAllChildren(text);
    done = document.execCommand("copy");
  }
  button.textContent = done ? "Copied" : "Press Ctrl+C";
  const news = document.getElementById("news");
  if (news) news.textContent = button.textContent;
  setTimeout(() => button.replaceChildren(...words), 2000);
});
showButtons(document);
