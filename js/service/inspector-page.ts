/**
 * The page around `<redrive-inspector>`. Its Content-Security-Policy allows no script and no style in the page itself, so each is a file.
 * All addresses are relative: a proxy may have put a prefix in front.
 */

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Retry service: redrive</title>
<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="page.css">
<script type="module" src="ui.js"></script>
</head>
<body>
<main>
<h1>Retry service</h1>
<redrive-inspector src=".."></redrive-inspector>
</main>
<noscript>The inspector needs JavaScript. Without it, the command <code>redrive task list</code> shows the same tasks.</noscript>
</body>
</html>
`

const CSS = `:root {
  color-scheme: light dark;
  font: 14px / 1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  color: light-dark(#1d2733, #e6ebf0);
  background: light-dark(#f5f7fa, #12181e);
}
body {
  margin: 0;
}
main {
  max-width: 1440px;
  margin: 0 auto;
  padding: 16px clamp(12px, 2vw, 28px) 40px;
}
h1 {
  margin: 0 0 12px;
  padding-inline-start: 26px;
  font-size: 16px;
  line-height: 20px;
  background: url(icon.svg) 0 / 18px no-repeat;
}
redrive-inspector:not(:defined)::before {
  content: "Loading the inspector\\2026";
}
redrive-inspector:not(:defined)::after {
  content: " This takes long: the console of the browser has the reason.";
  visibility: hidden;
  animation: late 0s 5s forwards;
}
@keyframes late {
  to {
    visibility: visible;
  }
}
noscript {
  display: block;
  padding: 16px;
}
`

/** Two requests that got through at once, and one that did at its second attempt. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#d08a1d" d="M6 9h4v5H6z"/><path fill="#2c9a63" d="M1 9h4v5H1zm10 0h4v5h-4zM6 3h4v5H6z"/></svg>
`

/** By name; the page itself is ''. */
export const PAGE_FILES: ReadonlyMap<string, { readonly text: string; readonly contentType: string }> = new Map([
  ['', { text: HTML, contentType: 'text/html; charset=utf-8' }],
  ['page.css', { text: CSS, contentType: 'text/css; charset=utf-8' }],
  ['icon.svg', { text: ICON, contentType: 'image/svg+xml' }],
])
