// Keeps what the browser has to say against the elements; loaded before them.
globalThis.kept = { violations: [], errors: [] }
addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) =>
  kept.violations.push(`${violatedDirective} ${blockedURI} ${sourceFile}`),
)
addEventListener('error', ({ message }) => kept.errors.push(message))
addEventListener('unhandledrejection', ({ reason }) => kept.errors.push(String(reason)))
