// Package redrive sends an HTTP request again when it failed for a passing reason: at the right time, within the caller's context, and
// under one idempotency key.
//
// Every decision is made by redrive's core, the WebAssembly module that the npm package and the service run, too: what is retried and when,
// Retry-After and rate limits, circuit breakers, retry budgets, and which headers may be stored. This package sends, waits and reports.
//
// [Transport] is an [net/http.RoundTripper], [Queue] has what requests share, and [Outbox] puts a request into the caller's own database
// transaction.
package redrive
