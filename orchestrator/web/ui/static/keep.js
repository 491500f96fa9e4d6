// Keeps a reader's place when a part of the page is drawn anew: how far a list was scrolled, and where the keyboard stands.
// Parts are known by their data-testid.
const scrolled = new Map();
let focused = null;
const find = (id) => document.querySelector(`[data-testid="${CSS.escape(id)}"]`);

document.addEventListener("scroll", (e) => e.target.dataset?.testid && scrolled.set(e.target.dataset.testid, e.target.scrollTop), true);
document.addEventListener("pointerdown", () => (focused = null), true);
document.addEventListener("focusin", (e) => (focused = e.target.dataset?.testid || null));
new MutationObserver(() => {
  for (const [id, top] of scrolled) {
    const part = top > 0 && find(id);
    if (part && part.scrollTop === 0) part.scrollTop = top;
  }
  if (focused && document.activeElement === document.body) find(focused)?.focus({ preventScroll: true });
}).observe(document.documentElement, { childList: true, subtree: true });

// The framework keeps the name of every part that it ever drew, as a null among its references: a day of watching would be
// megabytes of names.
setInterval(() => {
  const refs = document.getElementById("app")?._vnode?.component?.refs ?? {};
  for (const name in refs) if (refs[name] === null) delete refs[name];
}, 5000);
